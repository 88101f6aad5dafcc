"""The page of a scenario of exchange: findings, tables and figures."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from mdreel.foundation.formatting import digits
from mdreel_lab.bench.exchange import figures, tables
from mdreel_lab.bench.exchange.measures import Record, cells_of
from mdreel_lab.bench.exchange.scenario import Exchange
from mdreel_lab.bench.table import Table

FINDINGS: Mapping[int, str] = {
    1: "With adaptive synchronization, workflows scale on one node, although production takes a little longer.",
    2: "On few nodes, the network has little effect if the data moves directly from node to node.",
    3: "At scale, both data movement and synchronization must be cheap.",
    4: "Local resources and efficient protocols scale better as frames grow.",
    5: "Minimal synchronization matters most if frames are rare.",
}
"""The findings of Lumsden et al. (2024) in short."""


def tables_of(scenario: Exchange, records: Sequence[Record]) -> list[Table]:
    """Return the tables of a page."""
    cells = cells_of(records, scenario.over)
    made = [tables.times, tables.medians, *([tables.factors] if scenario.claim else []), tables.tree]
    return [make(scenario, cells) for make in made] if cells else []


def figures_of(scenario: Exchange, records: Sequence[Record]) -> dict[str, Figure]:
    """Return the figures of a page by name."""
    cells = cells_of(records, scenario.over)
    if not cells:
        return {}
    factors = tables.factors(scenario, cells)
    is_measured = any(not math.isnan(float(row[-1])) for row in factors.rows)
    return {"times": figures.times(scenario, cells)} | ({"factors": figures.factors(factors)} if is_measured else {})


def facts_of(done: Sequence[Record]) -> dict[str, str]:
    """Return facts about the measurement in addition to those of all pages."""
    systems = {f"{kept.point.series.split(',')[0]}: {kept.facts['file_system']}" for kept in done}
    return {
        "Frames per pair": ", ".join(map(str, sorted({kept.point.n_frames for kept in done}))),
        "Period of frames": ", ".join(
            f"{digits(1e3 * one)} ms" for one in sorted({kept.point.period for kept in done})
        ),
        "Nodes": "; ".join(sorted({kept.facts["nodes"] for kept in done if "nodes" in kept.facts})),
        "Files": "; ".join(sorted(systems)),
    }


def findings(scenario: Exchange, records: Sequence[Record]) -> list[str]:
    """List the claims of each finding with their factors here."""
    lines = []
    for number in sorted({claim.finding for claim in scenario.claim}):
        lines += [f"**Finding {number}** of the paper: {FINDINGS.get(number, '')}", ""]
        said = ""
        for text, source, low, high, compared, side, *here in _factors(number, scenario, records):
            claim = f"* {text} ({source}): {_range(low, high, 'no factor')}. Here:"
            lines += [] if claim == said else [claim]
            lines.append(f"    * {compared}, {side}: {_both(*here)}")
            said = claim
        lines.append("")
    return lines


def overview(pages: Sequence[tuple[str, Exchange, Sequence[Record]]]) -> list[str]:
    """Return a page of the findings of scenarios, given with their names: the claims and all factors here."""
    lines = ["# Five findings, published and measured", ""]
    for number, finding in FINDINGS.items():
        lines += [f"## Finding {number}", "", f"The finding of the paper: {finding}", ""]
        lines += ["| Claim | Source | Published | Compared here | Side | Measured | Scenario |", "| --- " * 7 + "|"]
        for name, scenario, records in pages:
            for text, source, low, high, compared, side, *here in _factors(number, scenario, records):
                link = f"[{name}]({name}.md)"
                cells = (text, source, _range(low, high, "–"), compared, side, _both(*here), link)
                lines.append("| " + " | ".join(map(str, cells)) + " |")
        lines.append("")
    return lines


def _factors(number: int, scenario: Exchange, records: Sequence[Record]) -> list[tuple[Any, ...]]:
    """Return the rows of the factors that belong to a finding, without its number."""
    rows = tables.factors(scenario, cells_of(records, scenario.over)).rows
    return [row[1:] for row in rows if row[0] == number]


def _both(least: float, most: float, least_with_first: float, most_with_first: float) -> str:
    """Return the factor without the first frames, and the factor with them."""
    if math.isnan(least):
        return _range(least, most)
    return f"{_range(least, most)}; with the first frames {_range(least_with_first, most_with_first)}"


def _range(low: float, high: float, nothing: str = "not measured") -> str:
    if math.isnan(low):
        return nothing
    return f"{digits(low)}x" if low == high else f"{digits(low)}x to {digits(high)}x"
