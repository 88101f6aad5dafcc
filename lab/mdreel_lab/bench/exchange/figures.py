"""Figures of exchange: times of a frame on either side, moving and idle, of each series; factors."""

import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from mdreel.foundation.formatting import SECONDS, amount
from mdreel.results.style import COLOURS, GRID, INK, STYLE
from mdreel_lab.bench.exchange.catalogue import SYNCHRONISATIONS
from mdreel_lab.bench.exchange.measures import Cell
from mdreel_lab.bench.exchange.regions import IDLE, MOVEMENT
from mdreel_lab.bench.exchange.scenario import SIDES, Exchange
from mdreel_lab.bench.exchange.tables import AXIS
from mdreel_lab.bench.table import Table

_LEAST = 1e-7
"""Least time that figures show, s."""

_WRAP = 80
"""Number of letters of a claim in a line."""

_LONG_NAME = 30
_MARKER: dict[str, Any] = {"markersize": 8, "markeredgewidth": 1.5}


def times(scenario: Exchange, cells: Sequence[Cell]) -> Figure:
    """Draw the time of a frame for its producer and its consumer: a row for each series, a line for each place.

    Where analyses wait, there is a panel for the time from one to the other, too.
    """
    names = list(dict.fromkeys(cell.series for cell in cells))
    places = list(dict.fromkeys(cell.at for cell in cells))
    with matplotlib.rc_context(STYLE):
        height = 2.6 + len(names) * max(0.45, 0.17 * len(places))
        figure = Figure(figsize=(14.0, height), layout="constrained")
        # Where analyses take as long as a period, they do not wait, and the panel would show nothing.
        sides = SIDES if scenario.analysis < 1 else SIDES[:2]
        panels = figure.subplots(1, len(sides), sharey=True)
        for axes, side in zip(panels, sides, strict=True):
            for cell in cells:
                _draw(axes, cell, side, names.index(cell.series), places.index(cell.at), len(places))
            _logarithmic(axes, lambda seconds: amount(seconds, SECONDS))
            axes.set_xlabel("Time per frame")
            axes.set_title(side.capitalize(), loc="left")
            _rows(axes, len(names))
            for row in range(1, len(names)):
                axes.axhline(row - 0.5, color=GRID, linewidth=0.8)
        panels[0].set_yticks(range(len(names)), _short(names))
        _legend(figure, panels[0], AXIS[scenario.over], places)
    return figure


def factors(table: Table) -> Figure:
    """Draw factors: a row for each comparison that was measured, beside the published factors."""
    labels: list[str] = []
    headings: list[int] = []
    with matplotlib.rc_context(STYLE | {"ytick.labelsize": 13}):
        figure = Figure(layout="constrained")
        axes = figure.subplots()
        said = ""
        for _, text, source, low, high, compared, side, least, most, *_ in table.rows:
            if math.isnan(float(most)):
                continue
            claim = f"{source}, {side}: {text}"
            if claim != said:
                lines = textwrap.wrap(claim, _WRAP)
                headings += range(len(labels), len(labels) + len(lines))
                labels += lines
                _range(axes, (low, high), headings[-1], INK, "white")  # nothing where that is NaN
                said = claim
            _range(axes, (least, most), len(labels), COLOURS[0], COLOURS[0])
            labels.append(str(compared))
        figure.set_size_inches(14.0, 1.9 + 0.3 * len(labels))
        axes.set_yticks(range(len(labels)), labels)
        axes.tick_params(axis="y", length=0)
        for row in headings:
            axes.get_yticklabels()[row].set_fontweight("bold")
        _logarithmic(axes, lambda x: f"{x:g}x")
        axes.set_xlabel("Ratio of the times")
        axes.axvline(1.0, color=INK, linewidth=1.0)
        _rows(axes, len(labels))
        axes.plot([], [], "o", color=INK, markerfacecolor="white", **_MARKER, label="published")
        axes.plot([], [], "o", color=COLOURS[0], **_MARKER, label="here")
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


def _logarithmic(axes: Axes, label: Callable[[float], str]) -> None:
    """Use a logarithmic x axis. If it spans less than two decades, label its multiples of 2 and 5, too."""

    def between(x: float, _: int | None) -> str:
        low, high = axes.get_xlim()
        digit = round(x / 10 ** math.floor(math.log10(x)))
        return label(x) if high < 100 * low and digit in (2, 5) else ""

    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: label(x)))
    axes.xaxis.set_minor_formatter(FuncFormatter(between))


def _range(axes: Axes, ends: Sequence[Any], y: float, colour: str, face: str) -> None:
    axes.plot(ends, [y] * len(ends), "o-", color=colour, markerfacecolor=face, **_MARKER)


def _rows(axes: Axes, n_rows: int) -> None:
    """Set rows of a figure apart."""
    axes.set_ylim(n_rows - 0.5, -0.5)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _short(names: Sequence[str]) -> list[str]:
    """Return a short label, which names a file system only with the first of its ways of synchronising."""
    labels, before = [], ""
    for name in names:
        solution, _, way = name.rpartition(", ")
        if way not in SYNCHRONISATIONS:
            labels.append(name)
        elif solution == before:
            labels.append(way)
        else:
            labels.append(f"{solution},{chr(10) if len(name) > _LONG_NAME else ' '}{way}")
        before = solution
    return labels


def _draw(axes: Axes, cell: Cell, side: str, row: int, place: int, n_places: int) -> None:
    colour = COLOURS[place % len(COLOURS)]
    y = row + (place - (n_places - 1) / 2) * 0.8 / max(n_places, 1)
    parts = ((None, "s", colour),) if side == SIDES[2] else ((MOVEMENT, "o", colour), (IDLE, "D", "white"))
    for kind, marker, face in parts:
        spread = cell.spread(side, kind)
        if math.isnan(spread.mean) or spread.mean < _LEAST:
            continue
        mean, deviation = spread.mean, spread.deviation
        low = max(mean - deviation, 0.2 * mean)  # an axis of orders of magnitude has no place for less than nothing
        axes.plot([low, mean + deviation], [y, y], color=colour, linewidth=1.5)
        axes.plot([mean], [y], marker, color=colour, markerfacecolor=face, **_MARKER)


def _legend(figure: Figure, axes: Axes, axis: str, places: Sequence[int | str]) -> None:
    for marker, face, label in (("o", INK, "data movement"), ("D", "white", "idle")):
        axes.plot([], [], marker, color=INK, markerfacecolor=face, markersize=8, label=label)
    if len(places) > 1:
        for i, place in enumerate(places):
            axes.plot([], [], "-", color=COLOURS[i % len(COLOURS)], linewidth=3, label=f"{axis.lower()}: {place}")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6), frameon=False)
