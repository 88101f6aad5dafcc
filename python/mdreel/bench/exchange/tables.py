"""Tables of exchange: what a frame takes, factors beside published ones, and call trees."""

import math
from collections.abc import Sequence

import numpy as np

from mdreel.bench.exchange.measures import N_FIRST, Cell
from mdreel.bench.exchange.regions import CONSUME, IDLE, MOVEMENT, PRODUCE
from mdreel.bench.exchange.scenario import Claim, Exchange
from mdreel.bench.tables import Table, Value

AXIS = {"pairs": "Pairs", "model": "Model", "stride": "Stride"}


def times(scenario: Exchange, cells: Sequence[Cell]) -> Table:
    """What a frame takes either side, by part."""
    columns = [(side, kind) for side in ("production", "consumption") for kind in (MOVEMENT, IDLE)]
    headings = [f"{side}, {kind} (ms){sign}" for side, kind in columns for sign in ("", " ±")]
    rows: list[tuple[Value, ...]] = []
    for cell in cells:
        spreads = [cell.spread(side, kind) for side, kind in columns] + [cell.spread("hand-over")]
        numbers = [1e3 * number for spread in spreads for number in (spread.mean, spread.deviation)]
        rows.append((cell.series, cell.at, len(cell.repeats), *numbers, 1e3 * cell.first("consumption").mean))
    title = "What a frame takes: means over frames but the first, pairs and repeats"
    last = ("hand-over (ms)", "hand-over (ms) ±", "consumption of the first frame (ms)")
    return Table("times", title, ("Series", AXIS[scenario.over], "Repeats", *headings, *last), rows)


def factors(scenario: Exchange, cells: Sequence[Cell]) -> Table:
    """How many times longer one takes than another, here and as published."""
    rows: list[tuple[Value, ...]] = []
    for claim in scenario.claim:
        ratios = _ratios(claim, cells)
        least, most = (min(ratios), max(ratios)) if ratios else (math.nan, math.nan)
        there = (min(claim.published), max(claim.published))
        compared = f"{claim.slower} / {claim.faster}"
        rows.append((claim.finding, claim.text, claim.source, *there, compared, claim.side, least, most))
    ends = ("published, least", "published, most", "Compared here", "Side", "here, least", "here, most")
    head = ("Finding", "Claim", "Source", *ends)
    return Table("factors", "Factors as published, and here", head, rows)


def tree(scenario: Exchange, cells: Sequence[Cell]) -> Table:
    """Call trees: what each region takes a frame."""
    rows: list[tuple[Value, ...]] = []
    for cell in cells:
        pairs = [pair for kept in cell.repeats for pair in kept.facts["pairs"]]
        for role in (PRODUCE, CONSUME):
            regions = sorted({name for pair in pairs for name in pair[role]["regions"]})
            for name in regions:
                several = [pair[role]["regions"].get(name, [])[N_FIRST:] for pair in pairs]
                mean = float(np.concatenate(several).mean()) if any(several) else math.nan
                depth = name.count("/")
                rows.append((cell.series, cell.at, "· " * depth + name.rpartition("/")[2], 1e3 * mean))
    return Table("tree", "Call trees", ("Series", AXIS[scenario.over], "Region", "a frame (ms)"), rows)


def _ratios(claim: Claim, cells: Sequence[Cell]) -> list[float]:
    """Return the factor at each place of the axis where both were measured."""
    of = {(cell.series, cell.at): cell.spread(claim.side).mean for cell in cells}
    places = [at for series, at in of if series == claim.slower and (claim.faster, at) in of]
    return [of[claim.slower, at] / of[claim.faster, at] for at in places]
