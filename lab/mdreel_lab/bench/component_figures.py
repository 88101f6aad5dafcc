"""Figures of the components of the time: over numbers of workers, over the ratio R, and by task."""

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.style import COLOURS, INK
from mdreel.timing.observables import Observables
from mdreel_lab.bench.figure_layout import SIZE, draw_legend, look, rows_of_axes, share_legend, shown_run
from mdreel_lab.bench.measures import Cell, Series, Spread
from mdreel_lab.bench.scenario import QUANTITIES
from mdreel_lab.bench.task_times import blocks_of_workers, task_times

_COMPONENTS = ("t_comp", "t_io", "t_comm", "t_open", "t_wait", "overhead1", "overhead2")
"""Observables of a rank. The figure shows their means over all ranks."""


def components(title: str, series: Sequence[Series]) -> Figure:
    """Draw the mean of each component over ranks, over the number of workers, with the ideal decrease of t_comp."""
    wanted = [one for one in series if any(cell.observables for cell in one.cells)]
    figure, shown = rows_of_axes(title, wanted, 4.2, with_workers=False)
    for axes, one in shown:
        cells = [cell for cell in one.cells if cell.observables]
        for i, name in enumerate(_COMPONENTS):
            drawn = [(cell.n_workers, _mean_over_ranks(cell, name)) for cell in cells]
            # A single worker sends nothing, and a time of 0 has no place on a logarithmic axis.
            kept = [(n, time) for n, time in drawn if time.mean > 0 and not (name == "t_comm" and n == 1)]
            if kept:
                at, times = zip(*kept, strict=True)
                means, deviations = [time.mean for time in times], [time.deviation for time in times]
                axes.errorbar(at, means, deviations, label=name, capsize=4, **look(i))
        numbers = [cell.n_workers for cell in cells]
        start = numbers[0] * _mean_over_ranks(cells[0], "t_comp").mean
        axes.plot(numbers, [start / n for n in numbers], color=INK, linewidth=1.0, linestyle="--", label="ideal t_comp")
        axes.set_yscale("log")
        _number_axis(axes, numbers)
        axes.set_ylabel("Mean over ranks (s)")
    share_legend(figure, "Number of workers, N")
    return figure


def split_times(title: str, series: Sequence[Series]) -> Figure:
    """Draw t_total as bars, split into computing with reading, communication, and the remaining overheads."""
    wanted = [one for one in series if any(cell.observables for cell in one.cells)]
    figure, shown = rows_of_axes(title, wanted, 3.0, with_workers=False)
    for axes, one in shown:
        cells = [cell for cell in one.cells if cell.observables]
        at = np.arange(len(cells))
        total = np.array([np.mean([found.t_total for found in cell.observables]) for cell in cells])
        work = np.array([_mean_over_ranks(cell, "t_comp").mean + _mean_over_ranks(cell, "t_io").mean for cell in cells])
        sending = np.array([0.0 if cell.n_workers == 1 else _mean_over_ranks(cell, "t_comm").mean for cell in cells])
        rest = np.maximum(total - work - sending, 0.0)
        below = np.zeros(len(cells))
        labels = ("t_comp + t_io", "t_comm", "other overheads")
        for colour, label, times in zip(COLOURS, labels, (work, sending, rest), strict=False):
            axes.bar(at, times, bottom=below, color=colour, label=label)
            below += times
        deviations = [Spread.of(found.t_total for found in cell.observables).deviation for cell in cells]
        axes.errorbar(at, total, deviations, fmt="none", ecolor=INK, capsize=4)
        axes.set_xticks(at, [str(cell.n_workers) for cell in cells])
        axes.set_ylabel("t_total (s)")
    share_legend(figure, "Number of workers, N")
    return figure


def tasks(title: str, series: Sequence[Series]) -> Figure:
    """Draw how many blocks each worker did: the first repeat of each series with most workers."""
    wanted = [one for one in series if shown_run(one).kept.timing is not None]
    figure, shown = rows_of_axes(title, wanted, 2.4)
    for axes, one in shown:
        counts = blocks_of_workers(shown_run(one))
        axes.bar(np.arange(len(counts)), counts, color=COLOURS[0])
        axes.set_xticks(np.arange(len(counts)) if len(counts) <= 32 else np.arange(0, len(counts), len(counts) // 16))
        axes.set_ylabel("Blocks")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    figure.axes[-1].set_xlabel("Worker")
    return figure


def scheduler_times(title: str, series: Sequence[Series]) -> Figure:
    """Draw times measured in the code beside those that Dask's scheduler records, for each number of workers."""
    wanted = [one for one in series if any(task_times(cell) is not None for cell in one.cells)]
    figure, shown = rows_of_axes(title, wanted, 3.2, with_workers=False)
    for axes, one in shown:
        found = [(cell.n_workers, times) for cell in one.cells if (times := task_times(cell)) is not None]
        bars = {
            "code: mean of t_comp + t_io": [times.code_mean for _, times in found],
            "code: most of a worker": [times.code_most for _, times in found],
            "scheduler: most of a worker": [times.scheduler_most for _, times in found],
            "t_total": [times.total for _, times in found],
        }
        width = 0.8 / len(bars)
        for i, (label, spreads) in enumerate(bars.items()):
            at = np.arange(len(found)) + (i - 1.5) * width
            means, deviations = [one.mean for one in spreads], [one.deviation for one in spreads]
            axes.bar(at, means, width, yerr=deviations, color=COLOURS[i], label=label, capsize=3)
        axes.set_xticks(np.arange(len(found)), [str(n) for n, _ in found])
        axes.set_ylabel("Time (s)")
    share_legend(figure, "Number of workers, N")
    return figure


def speed_up_over_ratio(title: str, series: Sequence[Series]) -> Figure:
    """Draw S over R_comp/io of one worker, a curve for each program and number of workers."""
    return _over_ratio(title, series, "speed-up")


def efficiency_over_ratio(title: str, series: Sequence[Series]) -> Figure:
    """Draw E over R_comp/io of one worker, a curve for each program and number of workers."""
    return _over_ratio(title, series, "efficiency")


OF_COMPONENTS: dict[str, Callable[[str, Sequence[Series]], Figure]] = {
    "components": components,
    "split-times": split_times,
    "tasks": tasks,
    "scheduler-times": scheduler_times,
    "speed-up-over-ratio": speed_up_over_ratio,
    "efficiency-over-ratio": efficiency_over_ratio,
}
"""Figures of components, by name."""


def _over_ratio(title: str, series: Sequence[Series], quantity: str) -> Figure:
    by_name: dict[str, list[Series]] = {}
    for one in series:
        by_name.setdefault(_without_load(one.name), []).append(one)
    numbers = sorted({cell.n_workers for one in series for cell in one.cells if cell.n_workers > 1})
    with canvas(None, title, SIZE, "both") as axes:
        for i, (name, n_workers) in enumerate(product(by_name, numbers)):
            points = _points_over_ratio(by_name[name], n_workers, quantity)
            if points:
                at, values = zip(*points, strict=True)
                means, deviations = [one.mean for one in values], [one.deviation for one in values]
                label = f"{name}, N = {n_workers}" if len(by_name) > 1 else f"N = {n_workers}"
                axes.errorbar(at, means, deviations, label=label, capsize=4, **look(i))
        axes.set_xscale("log")
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel(f"{QUANTITIES['ratio']} of one worker")
        axes.set_ylabel(QUANTITIES[quantity])
        draw_legend(axes)
    return figure_of(axes)


def _without_load(name: str) -> str:
    """Return the name of a series without the part on the load, which determines the ratio."""
    return ", ".join(part for part in name.split(", ") if not part.startswith(("R = ", "W = ")))


def _points_over_ratio(series: Sequence[Series], n_workers: int, quantity: str) -> list[tuple[float, Spread]]:
    """Return the ratio of one worker and the quantity for each series, by ascending ratio."""
    points = []
    for one in series:
        alone, cell = one.cell(1), one.cell(n_workers)
        if alone is not None and cell is not None:
            ratio, value = alone.spread("ratio").mean, one.spread(quantity, cell)
            if not math.isnan(ratio) and not math.isnan(value.mean):
                points.append((ratio, value))
    return sorted(points, key=lambda point: point[0])


def _mean_over_ranks(cell: Cell, name: str) -> Spread:
    """Return the spread over repeats of the mean over ranks of an observable, s."""

    def mean(found: Observables) -> float:
        return float(getattr(found, name).mean())

    return Spread.of(mean(found) for found in cell.observables)


def _number_axis(axes: Axes, numbers: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(numbers, [str(n) for n in numbers])
    axes.xaxis.set_minor_locator(NullLocator())
