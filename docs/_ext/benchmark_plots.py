"""The tables of benchmark results with a plot above each of them.

A page of ``performance`` includes a file of ``lab/benchmarks/results``. Each section of the file that is a case of the
CSV file beside it receives a plot of the contenders. The plot is made of HTML elements: a script changes its scale,
and without the script it is shown as it is.
"""

import csv
import math
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

_RESULTS = Path(__file__).resolve().parents[2] / "lab" / "benchmarks" / "results"
PAGES = {
    "performance/speed": "table",
    "performance/analyses": "analyses",
    "performance/pairs": "pairs",
    "performance/formats": "formats",
    "performance/executors": "executors",
}
"""The table of each page that has plots."""


def cases(table: str) -> dict[str, list[dict[str, str]]]:
    """Return the rows of each case of a table."""
    found: dict[str, list[dict[str, str]]] = {}
    with (_RESULTS / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["Case"], []).append(row)
    return found


def _kind(contender: str) -> str:
    if contender.startswith("floor:"):
        return "floor"
    return "mdreel" if contender.startswith("mdreel") else "peer"


def _number(value: float) -> str:
    """Format a number with three significant digits."""
    digits = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:,.{digits}f}"


def _plot(rows: list[dict[str, str]]) -> Iterator[str]:
    """Give the HTML of a plot: one line per contender, on a logarithmic scale of times relative to the first."""
    ratios = [float(row[name]) for row in rows for name in ("lowest", "highest")]
    low, high = math.floor(math.log10(min(ratios))), math.ceil(math.log10(max(ratios)))

    def at(ratio: float) -> str:
        return f"{100 * (math.log10(ratio) - low) / max(high - low, 1):.2f}%"

    yield f'<figure class="bench" data-low="{low}" data-high="{high}">'
    yield '<div class="bench-controls" hidden>'
    yield '<label><input type="checkbox" class="bench-linear"> linear scale</label>'
    if any(_kind(row["Contender"]) == "floor" for row in rows):
        yield '<label><input type="checkbox" class="bench-floors" checked> floors of the machine</label>'
    yield "</div>"
    for row in rows:
        ratio, lowest, highest = (float(row[name]) for name in ("times ours", "lowest", "highest"))
        time, name = _number(float(row["µs a frame"])), escape(row["Contender"])
        cores = f"{row['Cores']} core{'s' if row['Cores'] != '1' else ''}"
        told = f"{time} µs a frame on {cores}; {_number(ratio)} times {escape(rows[0]['Contender'])}"
        told += f", {_number(lowest)} to {_number(highest)}"
        yield f'<div class="bench-row bench-{_kind(row["Contender"])}" title="{told}" tabindex="0"'
        yield f' data-ratio="{ratio:.5g}" data-lowest="{lowest:.5g}" data-highest="{highest:.5g}">'
        width = float(at(highest)[:-1]) - float(at(lowest)[:-1])
        yield f'<span class="bench-name">{name}</span><span class="bench-track">'
        yield f'<span class="bench-range" style="left:{at(lowest)};width:{width:.2f}%"></span>'
        yield f'<span class="bench-dot" style="left:{at(ratio)}"></span></span>'
        yield f'<span class="bench-value">{time} µs</span></div>'
    yield '<div class="bench-row bench-axis"><span class="bench-name"></span><span class="bench-track">'
    for power in range(low, high + 1):
        yield f'<span class="bench-tick" style="left:{at(10.0**power)}">{10.0**power:g}×</span>'
    yield '</span><span class="bench-value"></span></div>'
    yield f"<figcaption>Time relative to {escape(rows[0]['Contender'])}: median, and lowest to highest. "
    yield "Lower is faster. The number on the right is the time of a frame.</figcaption></figure>"


class Benchmark(SphinxDirective):
    """Show a case of a table: the argument is the table, the content is the case."""

    required_arguments: ClassVar[int] = 1
    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return the plot."""
        rows = cases(self.arguments[0])["\n".join(self.content).strip()]
        self.env.note_dependency(str(_RESULTS / f"{self.arguments[0]}.csv"))
        return [nodes.raw("", "".join(_plot(rows)), format="html")]


def _add_plots(app: Sphinx, name: str, source: list[str]) -> None:
    """Put a plot below the heading of each case."""
    if name not in PAGES:
        return
    table = PAGES[name]
    known = cases(table)

    def with_plot(heading: re.Match[str]) -> str:
        case = heading[1].strip()
        return f"{heading[0]}\n\n```{{benchmark}} {table}\n{case}\n```\n" if case in known else heading[0]

    source[0] = re.sub(r"^## (.+)$", with_plot, source[0], flags=re.MULTILINE)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_directive("benchmark", Benchmark)
    app.connect("source-read", _add_plots, priority=600)  # after files were included
    return {"parallel_read_safe": True, "parallel_write_safe": True}
