"""The page of a scenario of exchange: findings, tables and figures."""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from mdreel.foundation.formatting import digits
from mdreel_lab.bench.exchange import figures, tables
from mdreel_lab.bench.exchange.measures import Cell, Record, cells_of
from mdreel_lab.bench.exchange.scenario import Exchange
from mdreel_lab.bench.table import Table

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
    if not cells:
        return {}
    drawn = {"times": figures.times(scenario, cells)}
    factors = tables.factors(scenario, cells)
    if not all(math.isnan(float(row[-1])) for row in factors.rows):
        drawn["factors"] = figures.factors(factors)
    return drawn


def facts_of(done: Sequence[Record]) -> dict[str, str]:
    """Say on what it was measured, besides what all pages say."""
    periods = sorted({kept.point.period for kept in done})
    systems = sorted({f"{kept.point.series.split(',')[0]}: {kept.facts['file_system']}" for kept in done})
    nodes = sorted({kept.facts["nodes"] for kept in done if "nodes" in kept.facts})
    frames = sorted({kept.point.n_frames for kept in done})
    return {
        "Frames of a pair": ", ".join(map(str, frames)),
        "A frame each": ", ".join(f"{digits(1e3 * period)} ms" for period in periods),
        "Nodes": "; ".join(nodes),
        "Files": "; ".join(systems),
    }


def findings(scenario: Exchange, records: Sequence[Record]) -> list[str]:
    """Say what was found with these claims, and what the factors are here."""
    factors = tables.factors(scenario, cells_of(records, scenario.over))
    lines = []
    for number in sorted({claim.finding for claim in scenario.claim}):
        lines += [f"**Finding {number}**, as published: {FINDINGS.get(number, '')}", ""]
        said = ""
        for row in factors.rows:
            if row[0] == number:
                _, text, source, low, high, compared, side, least, most = row
                claim = f"* {text} ({source}): {_range(low, high, 'no factor')}. Here:"
                lines += [] if claim == said else [claim]
                lines.append(f"    * {compared}, {side}: {_range(least, most)}")
                said = claim
        lines.append("")
    return lines


def overview(pages: Sequence[tuple[str, Exchange, Sequence[Record]]]) -> list[str]:
    """Put the findings of scenarios, given with their names, on a page: what is claimed, and all factors here."""
    lines = ["# Five findings, as published and here", ""]
    for number, finding in FINDINGS.items():
        lines += [f"## Finding {number}", "", f"As published: {finding}", ""]
        lines += ["| Claim | Source | Published | Compared here | Side | Here | Scenario |", "| --- " * 7 + "|"]
        for name, scenario, records in pages:
            for row in tables.factors(scenario, cells_of(records, scenario.over)).rows:
                if row[0] == number:
                    _, text, source, low, high, compared, side, least, most = row
                    link = f"[{name}]({name}.md)"
                    cells = (text, source, _range(low, high, "–"), compared, side, _range(least, most), link)
                    lines.append("| " + " | ".join(map(str, cells)) + " |")
        lines.append("")
    return lines


def _range(low: object, high: object, nothing: str = "not measured") -> str:
    assert isinstance(low, int | float)
    assert isinstance(high, int | float)
    if low != low:  # noqa: PLR0124 - NaN
        return nothing
    return f"{digits(low)}x" if low == high else f"{digits(low)}x to {digits(high)}x"
