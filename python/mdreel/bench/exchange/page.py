"""The page of a scenario of exchange: findings, tables and figures."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from mdreel.amounts import digits
from mdreel.bench.exchange import figures, tables
from mdreel.bench.exchange.measures import Cell, Record, cells_of
from mdreel.bench.exchange.scenario import Exchange
from mdreel.bench.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FINDINGS: Mapping[int, str] = MappingProxyType(
    {
        1: "Adaptive synchronisation lets workflows scale on one node, even if production takes a little longer.",
        2: "On few nodes, going through the network has little effect where it goes directly from node to node.",
        3: "At scale, it takes a solution that makes both the movement and the synchronisation cheap.",
        4: "Local resources and efficient protocols scale better as frames grow.",
        5: "Minimal synchronisation matters most when frames come rarely.",
    }
)
"""What was found, in short; Lumsden et al. (2024)."""


def tables_of(scenario: Exchange, records: Sequence[Record]) -> list[Table]:
    """Return the tables of a page."""
    cells = cells_of(records, scenario.over)
    made: list[Callable[[Exchange, Sequence[Cell]], Table]] = [tables.times, tables.tree]
    if scenario.claim:
        made.insert(1, tables.factors)
    return [make(scenario, cells) for make in made] if cells else []


def figures_of(scenario: Exchange, records: Sequence[Record]) -> "dict[str, Figure]":
    """Return the figures of a page by name."""
    cells = cells_of(records, scenario.over)
    return {"times": figures.times(scenario, cells)} if cells else {}


def facts_of(done: Sequence[Record]) -> dict[str, str]:
    """Say on what it was measured, besides what all pages say."""
    periods = sorted({kept.point.period for kept in done})
    systems = sorted({f"{kept.point.series.split(',')[0]}: {kept.facts['file_system']}" for kept in done})
    frames = sorted({kept.point.n_frames for kept in done})
    return {
        "Frames of a pair": ", ".join(map(str, frames)),
        "A frame each": ", ".join(f"{digits(1e3 * period)} ms" for period in periods),
        "Files": "; ".join(systems),
    }


def findings(scenario: Exchange, records: Sequence[Record]) -> list[str]:
    """Say what was found with these claims, and what the factors are here."""
    factors = tables.factors(scenario, cells_of(records, scenario.over))
    lines = []
    for number in sorted({claim.finding for claim in scenario.claim}):
        lines += [f"**Finding {number}**, as published: {FINDINGS.get(number, '')}", ""]
        for row in factors.rows:
            if row[0] == number:
                _, text, source, low, high, compared, side, least, most = row
                there, here = _range(low, high), _range(least, most)
                lines.append(f"* {text} ({source}): {there}. Here, {compared}, {side}: {here}.")
        lines.append("")
    return lines


def _range(low: object, high: object) -> str:
    assert isinstance(low, int | float)
    assert isinstance(high, int | float)
    if low != low:  # noqa: PLR0124 - nothing was measured
        return "not measured"
    return f"{digits(low)}x" if low == high else f"{digits(low)}x to {digits(high)}x"
