"""Tables of exchange: times of a frame, factors beside published ones, and call trees."""

import math
from collections.abc import Sequence

import numpy as np

from mdreel_lab.bench.exchange.measures import N_FIRST, Cell
from mdreel_lab.bench.exchange.regions import CONSUME, IDLE, MOVEMENT, PRODUCE
from mdreel_lab.bench.exchange.scenario import BOTH, Claim, Exchange
from mdreel_lab.bench.table import Table, Value

AXIS = {"pairs": "Pairs", "model": "Model", "stride": "Stride"}


def times(scenario: Exchange, cells: Sequence[Cell]) -> Table:
    """Time of a frame on either side, by part."""
    columns = [(side, kind) for side in ("production", "consumption") for kind in (MOVEMENT, IDLE)]
    headings = [f"{side}, {kind} (ms){sign}" for side, kind in columns for sign in ("", " ±")]
    rows: list[tuple[Value, ...]] = []
    for cell in cells:
        spreads = [cell.spread(side, kind) for side, kind in columns] + [cell.spread("hand-over")]
        numbers = [1e3 * number for spread in spreads for number in (spread.mean, spread.deviation)]
        rows.append((cell.series, cell.at, len(cell.repeats), *numbers, 1e3 * cell.first("consumption").mean))
    title = "Time per frame: means over pairs, repeats and all frames except the first"
    last = ("hand-over (ms)", "hand-over (ms) ±", "consumption of the first frame (ms)")
    return Table("times", title, ("Series", AXIS[scenario.over], "Repeats", *headings, *last), rows)


def medians(scenario: Exchange, cells: Sequence[Cell]) -> Table:
    """Medians of the time of a frame on either side, by part; a single slow frame does not affect them."""
    columns = [(side, kind) for side in ("production", "consumption") for kind in (MOVEMENT, IDLE, None)]
    headings = [f"{side}, {kind or 'both'} (ms)" for side, kind in columns]
    rows: list[tuple[Value, ...]] = [
        (cell.series, cell.at, *(1e3 * cell.median(side, kind) for side, kind in columns)) for cell in cells
    ]
    title = "Time per frame: medians over pairs, repeats and all frames except the first"
    return Table("medians", title, ("Series", AXIS[scenario.over], *headings), rows)


def factors(scenario: Exchange, cells: Sequence[Cell]) -> Table:
    """Ratios of the times of two series, here and as published, with a line for each pair of measured series.

    A consumer waits for its first frame until the simulation has computed it. The paper does not state whether its
    means contain this wait, so the table has both ratios: of means without the first frames, and of means with them.
    """
    rows: list[tuple[Value, ...]] = []
    for claim in scenario.claim:
        there = (min(claim.published), max(claim.published)) if claim.published else (math.nan, math.nan)
        side = claim.side if claim.part == BOTH else f"{claim.side}, {claim.part}"
        pairs = [(series, other) for series in claim.slower for other in claim.faster or (series,)]
        found = [(pair, ratios) for pair in pairs if (ratios := _ratios(claim, *pair, cells, N_FIRST))]
        for pair, ratios in found or [(pairs[0], [math.nan])]:
            with_first = _ratios(claim, *pair, cells, 0) or [math.nan]
            here = (min(ratios), max(ratios), min(with_first), max(with_first))
            rows.append((claim.finding, claim.text, claim.source, *there, _compared(claim, *pair), side, *here))
    ends = ("published, least", "published, most", "Compared here", "Side", "here, least", "here, most")
    head = ("Finding", "Claim", "Source", *ends, "here with first frames, least", "here with first frames, most")
    return Table("factors", "Published and measured factors", head, rows)


def tree(scenario: Exchange, cells: Sequence[Cell]) -> Table:
    """Call trees: time of each region for a frame, with a column for each place."""
    places = list(dict.fromkeys(cell.at for cell in cells))
    found: dict[tuple[str, str], dict[int | str, float]] = {}
    for cell in cells:
        pairs = [pair for kept in cell.repeats for pair in kept.facts["pairs"]]
        for role in (PRODUCE, CONSUME):
            for name in sorted({name for pair in pairs for name in pair[role]["regions"]}):
                several = [pair[role]["regions"].get(name, [])[N_FIRST:] for pair in pairs]
                mean = float(np.concatenate(several).mean()) if any(several) else math.nan
                found.setdefault((cell.series, name), {})[cell.at] = 1e3 * mean
    rows: list[tuple[Value, ...]] = [
        (series, "· " * name.count("/") + name.rpartition("/")[2], *(of.get(place, math.nan) for place in places))
        for (series, name), of in found.items()
    ]
    columns = [f"{AXIS[scenario.over].lower()} {place} (ms)" for place in places]
    return Table("tree", "Call trees: time per frame of each region", ("Series", "Region", *columns), rows)


def _compared(claim: Claim, series: str, other: str) -> str:
    there = claim.faster_at or claim.slower_at
    sides = ((series, claim.slower_at), (other if claim.faster else "the same", there))
    return " / ".join(f"{name}, {at}" if at else name for name, at in sides)


def _ratios(claim: Claim, series: str, other: str, cells: Sequence[Cell], n_left_out: int) -> list[float]:
    """Return the factor at each place of the axis where both were measured, and neither is nothing."""
    part = None if claim.part == BOTH else claim.part
    of = {(cell.series, str(cell.at)): cell.spread(claim.side, part, n_left_out).mean for cell in cells}
    places = [claim.slower_at] if claim.slower_at else [at for name, at in of if name == series]
    both = [(of.get((series, at)), of.get((other, claim.faster_at or at))) for at in places]
    return [slow / fast for slow, fast in both if slow and fast and slow > 0 and fast > 0]
