"""Figures of a scenario: quantities over numbers of workers, published ones as hollow markers beside ours."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.style import COLOURS, INK
from mdreel.timing.spans import COORDINATOR, KINDS
from mdreel_lab.bench.component_figures import OF_COMPONENTS
from mdreel_lab.bench.figure_layout import SIZE, draw_legend, look, rows_of_axes, share_legend, shown_run
from mdreel_lab.bench.measures import Series
from mdreel_lab.bench.scenario import QUANTITIES, Published

_LOGARITHMIC = ("seconds", "speed-up", "io", "compute", "ratio", "throughput", "opening", "communication", "ratio-comm")
"""Quantities with a logarithmic axis, where they reach over more than `_WIDE`."""

_WIDE = 8.0
_FAR = 500.0  # beyond, such an axis has room for powers of ten only
_LETTER = 0.012
"""Half the width of a letter, as a share of the width of such a figure."""


def over_workers(title: str, quantity: str, series: Sequence[Series], published: Sequence[Published]) -> Figure:
    """Draw one of `QUANTITIES` over the number of workers; of a ratio, over how often the RMSD is computed.

    Markers are filled, with the standard deviation of repeats, and hollow for published values.
    """
    beside = [paper for paper in published if paper.quantity == quantity]
    with canvas(None, title, SIZE, "both") as axes:
        reached = [1.0]
        for i, one in enumerate(series):
            at, means, deviations = _curve(one, quantity)
            if at:
                axes.errorbar(at, means, deviations, label=one.name, capsize=4, **look(i))
                reached += at
        for i, paper in enumerate(beside):
            theirs, values = zip(*paper.points, strict=True)
            hollow = {**look(len(series) + i), "markerfacecolor": "none", "linestyle": ":", "linewidth": 1.2}
            axes.plot(theirs, values, label=f"published: {paper.label}", **hollow)
            reached += theirs
        _finish_axes(axes, quantity, reached)
    return figure_of(axes)


def stream(title: str, series: Sequence[Series]) -> Figure:
    """Draw the blocks of each worker as bars over time, for the first repeat of each series with most workers."""
    figure, shown = rows_of_axes(title, [one for one in series if shown_run(one).kept.timing is not None], 2.4)
    drawn = ("open", "read", "decompress", "compute", "write")
    for axes, one in shown:
        timing = shown_run(one).kept.timing
        assert timing is not None
        spans = timing.spans[timing.spans["worker"] != COORDINATOR]
        workers = np.unique(spans["worker"])
        since = float(spans["start_ns"].min(initial=np.iinfo(np.uint64).max)) if len(spans) else 0.0
        for colour, kind in zip(COLOURS, drawn, strict=False):
            own = spans[spans["kind"] == KINDS.index(kind)]
            for row, worker in enumerate(workers):
                times = own[own["worker"] == worker]
                starts, widths = (times["start_ns"] - since) * 1e-9, (times["stop_ns"] - times["start_ns"]) * 1e-9
                bars_of = list(zip(starts.tolist(), widths.tolist(), strict=True))
                if bars_of:
                    axes.broken_barh(bars_of, (row - 0.4, 0.8), color=colour, label="" if row else kind)
        axes.set_yticks(range(len(workers)), [str(worker) for worker in workers])
        axes.set_ylabel("Worker")
    share_legend(figure, "Time (s)")
    return figure


def ranks(title: str, series: Sequence[Series]) -> Figure:
    """Draw the components of the time of each rank, for the first repeat of each series with most workers."""
    figure, shown = rows_of_axes(title, [one for one in series if shown_run(one).observables is not None], 2.6)
    parts = ("t_comp", "t_io", "t_comm", "t_open", "t_end_loop", "overhead1", "overhead2")
    for axes, one in shown:
        found = shown_run(one).observables
        assert found is not None
        at = np.arange(len(found.ranks))
        below = np.zeros(len(at))
        for colour, part in zip(COLOURS, parts, strict=True):
            times = np.maximum(getattr(found, part), 0.0)
            axes.bar(at, times, bottom=below, color=colour, label=part)
            below += times
        axes.set_xticks(at if len(at) <= 32 else at[:: len(at) // 16])
        axes.set_ylabel("Time (s)")
    share_legend(figure, "Rank")
    return figure


def violin(title: str, series: Sequence[Series]) -> Figure:
    """Draw the distribution of the communication times of all ranks and repeats over the number of workers."""
    wanted = [one for one in series if any(cell.n_workers > 1 for cell in one.cells)]
    figure, shown = rows_of_axes(title, wanted, 2.8, with_workers=False)
    for i, (axes, one) in enumerate(shown):
        cells = [cell for cell in one.cells if cell.n_workers > 1 and cell.observables]
        joined = [1e3 * np.concatenate([found.t_comm for found in cell.observables]) for cell in cells]
        if joined:
            parts = axes.violinplot(joined, showmedians=True, widths=0.6)
            bodies: Any = parts["bodies"]
            for body in bodies:
                body.set_facecolor(COLOURS[i])
            for place, values in enumerate(joined, 1):
                axes.plot(np.full(len(values), place), values, ".", color=INK, markersize=4)
        axes.set_xticks(range(1, len(cells) + 1), [str(cell.n_workers) for cell in cells])
        axes.set_xlim(0.3, max(len(cells), 1) + 0.7)
        axes.set_ylabel("t_comm (ms)")
        axes.set_ylim(bottom=0.0)
    figure.axes[-1].set_xlabel("Number of workers")
    return figure


def progress(title: str, series: Sequence[Series]) -> Figure:
    """Draw the number of completed tasks over time, of the first repeat of each series with most workers."""
    with canvas(None, title, SIZE, "both") as axes:
        for i, one in enumerate(series):
            curve = shown_run(one).kept.facts.get("progress", {})
            if curve.get("seconds"):
                label = f"{one.name}, N = {one.cells[-1].n_workers}"
                axes.plot(curve["seconds"], curve["tasks"], label=label, **{**look(i), "marker": ""})
        axes.set_xlabel("Time (s)")
        axes.set_ylabel("Tasks done")
        axes.set_xscale("log")
        draw_legend(axes)
    return figure_of(axes)


def bars(title: str, series: Sequence[Series]) -> Figure:
    """Draw the total time of the call of each series for each number of workers."""
    cells = [(one, cell) for one in series for cell in one.cells]
    labels = [f"{one.name}, N = {cell.n_workers}" for one, cell in cells]
    walls = [cell.spread("wall") for _, cell in cells]
    means, deviations = [wall.mean for wall in walls], [wall.deviation for wall in walls]
    colours = [COLOURS[1] if one.is_of_peer else COLOURS[0] for one, _ in cells]
    with canvas(None, title, (12.0, 1.6 + 0.55 * max(len(labels), 1)), "x") as axes:
        axes.barh(range(len(labels)), means, xerr=deviations, color=colours)
        axes.set_yticks(range(len(labels)), labels)
        axes.invert_yaxis()
        axes.set_xlabel("Whole call (s)")
        if means and max(means) > 20 * max(min(means), 1e-9):
            axes.set_xscale("log")
    return figure_of(axes)


OF_SERIES: dict[str, Callable[[str, Sequence[Series]], Figure]] = {
    "stream": stream,
    "ranks": ranks,
    "violin": violin,
    "progress": progress,
    "bars": bars,
    **OF_COMPONENTS,
}
"""Figures of mdreel alone, by name."""


def _curve(series: Series, quantity: str) -> tuple[list[float], list[float], list[float]]:
    """Return where a series has values, these, and their deviations."""
    is_ratio = quantity == "ratio"
    spreads = [(cell.n_workers, series.spread(quantity, cell)) for cell in series.cells]
    kept = [(n, one) for n, one in spreads if not math.isnan(one.mean) and not (is_ratio and n > 1)]
    at = [float(series.load if is_ratio else n_workers) for n_workers, _ in kept]
    return at, [one.mean for _, one in kept], [one.deviation for _, one in kept]


def _finish_axes(axes: Axes, quantity: str, reached: Sequence[float]) -> None:
    """Label the axes, and draw the ideal curve."""
    most = max(reached)
    ticks = sorted({int(x) for x in reached if x >= 1})
    if quantity == "speed-up":
        axes.plot([1, most], [1, most], color=INK, linewidth=1.0, linestyle="--", label="ideal")
    if quantity == "efficiency":
        axes.axhline(1.0, color=INK, linewidth=1.0, linestyle="--", label="ideal")
    low, high = _reach(axes)
    axes.set_ylim(0.0, max(axes.get_ylim()[1], 1.08 * high))  # values that differ little reach the upper edge otherwise
    if quantity in _LOGARITHMIC and high > _WIDE * low:
        axes.set_ylim(0.7 * low, 1.4 * high)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < _FAR * low else (1.0,)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xscale("log", base=2)
    if len(ticks) <= 12:
        axes.set_xticks(ticks, _apart(ticks))
        axes.xaxis.set_minor_locator(NullLocator())
    if quantity == "ratio" and ticks == [1]:  # of an analysis that is computed once
        axes.set_xticks([])
        axes.set_xlabel("One worker")
    else:
        axes.set_xlabel("RMSDs a frame, W" if quantity == "ratio" else "Number of workers, N")
    axes.set_ylabel(QUANTITIES[quantity])
    draw_legend(axes)


def _apart(ticks: Sequence[int]) -> list[str]:
    """Label the ticks of a logarithmic axis, except those whose label would overlap the next one."""
    labels = [str(tick) for tick in ticks]
    span = math.log(ticks[-1] / ticks[0]) if ticks else 0.0
    following = len(ticks) - 1
    for i in range(len(ticks) - 2, -1, -1):
        needed = _LETTER * span * (len(labels[i]) + len(labels[following]))
        if math.log(ticks[following] / ticks[i]) < needed:
            labels[i] = ""
        else:
            following = i
    return labels


def _reach(axes: Axes) -> tuple[float, float]:
    """Return the smallest and the largest positive value drawn; 1 and 1 if no value is positive."""
    drawn = [float(y) for line in axes.get_lines() for y in np.atleast_1d(line.get_ydata())]
    heights = [y for y in drawn if math.isfinite(y) and y > 0] or [1.0]
    return min(heights), max(heights)
