"""Figures of exchange: what a frame takes either side, moving and idle, of each series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mdreel.bench.exchange.measures import Cell
from mdreel.bench.exchange.regions import IDLE, MOVEMENT
from mdreel.bench.exchange.scenario import Exchange
from mdreel.bench.exchange.tables import AXIS
from mdreel.results.style import COLOURS, GRID, INK, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEAST = 1e-4
"""Where axes begin, ms: what is less is nothing."""


def times(scenario: Exchange, cells: Sequence[Cell]) -> Figure:
    """Draw what a frame takes its producer and its consumer: a row for each series, a line in it for each place."""
    import matplotlib
    from matplotlib.figure import Figure as NewFigure

    names = list(dict.fromkeys(cell.series for cell in cells))
    places = list(dict.fromkeys(cell.at for cell in cells))
    with matplotlib.rc_context(STYLE):
        height = 2.6 + len(names) * max(0.34, 0.17 * len(places))
        figure = NewFigure(figsize=(13.0, height), layout="constrained")
        both = figure.subplots(1, 2, sharey=True)
        for axes, side in zip(both, ("production", "consumption"), strict=True):
            for cell in cells:
                _draw(axes, cell, side, names.index(cell.series), places.index(cell.at), len(places))
            axes.set_xscale("log")
            axes.set_xlabel("Time a frame (ms)")
            axes.set_title(side.capitalize(), loc="left")
            axes.grid(axis="x", color=GRID, linewidth=0.8)
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
            for row in range(1, len(names)):
                axes.axhline(row - 0.5, color=GRID, linewidth=0.8)
        both[0].set_yticks(range(len(names)), names)
        both[0].set_ylim(len(names) - 0.5, -0.5)
        _legend(figure, both[0], AXIS[scenario.over], places)
    return figure


def _draw(axes: Axes, cell: Cell, side: str, row: int, place: int, n_places: int) -> None:
    colour = COLOURS[place % len(COLOURS)]
    y = row + (place - (n_places - 1) / 2) * 0.8 / max(n_places, 1)
    for kind, marker, face in ((MOVEMENT, "o", colour), (IDLE, "D", "white")):
        spread = cell.spread(side, kind)
        if math.isnan(spread.mean) or spread.mean * 1e3 < _LEAST:
            continue
        mean, deviation = 1e3 * spread.mean, 1e3 * spread.deviation
        low = max(mean - deviation, 0.2 * mean)  # an axis of orders of magnitude has no place for less than nothing
        axes.plot([low, mean + deviation], [y, y], color=colour, linewidth=1.5)
        axes.plot([mean], [y], marker, color=colour, markerfacecolor=face, markersize=8, markeredgewidth=1.5)


def _legend(figure: Figure, axes: Axes, axis: str, places: Sequence[int | str]) -> None:
    for marker, face, label in (("o", INK, "data movement"), ("D", "white", "idle")):
        axes.plot([], [], marker, color=INK, markerfacecolor=face, markersize=8, label=label)
    if len(places) > 1:
        for i, place in enumerate(places):
            axes.plot([], [], "-", color=COLOURS[i % len(COLOURS)], linewidth=3, label=f"{axis.lower()}: {place}")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6), frameon=False)
