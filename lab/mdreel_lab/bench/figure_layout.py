"""Layout of figures: axes below each other, legends, and the look of curves."""

from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mdreel.results.style import COLOURS, STYLE
from mdreel_lab.bench.measures import Measured, Series

MARKERS = ("o", "s", "^", "D", "v", "P", "X")

SIZE = (12.0, 6.4)
"""Width and height of a figure with one pair of axes, inches."""


def look(i: int) -> dict[str, Any]:
    """Return the look of the i-th curve of a figure."""
    return {
        "color": COLOURS[i % len(COLOURS)],
        "marker": MARKERS[(i + i // len(COLOURS)) % len(MARKERS)],
        "markersize": 9,
        "linewidth": 2.0,
        "linestyle": "-" if i < len(COLOURS) else "--",
    }


def draw_legend(axes: Axes) -> None:
    """Draw a legend beside the axes, if a curve has a label."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def shown_run(series: Series) -> Measured:
    """Return the run of a series that figures of single runs show: the first repeat with most workers."""
    return series.cells[-1].repeats[0]


def rows_of_axes(
    title: str, series: Sequence[Series], height: float, *, with_workers: bool = True
) -> tuple[Figure, list[tuple[Axes, Series]]]:
    """Make a figure of axes below each other, one for each series; one, if there is nothing to be shown."""
    shown = series[: len(COLOURS)]
    n_rows = max(len(shown), 1)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(12.0, 1.4 + height * n_rows), layout="constrained")
        all_axes: list[Axes] = list(figure.subplots(n_rows, 1, squeeze=False)[:, 0])
    figure.suptitle(title, x=0.01, ha="left", fontsize=17)
    for axes in all_axes:
        axes.spines[["top", "right"]].set_visible(False)
    rows = list(zip(all_axes, shown, strict=False))
    for axes, one in rows:
        workers = f", N = {one.cells[-1].n_workers}" if with_workers else ""
        axes.set_title(f"{one.name}{workers}", loc="left", fontsize=14)
    return figure, rows


def share_legend(figure: Figure, label: str) -> None:
    """Draw one legend for all axes of a figure, and label the axis at the bottom."""
    handles, names = figure.axes[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, names, loc="outside right upper", frameon=False, fontsize=13)
    figure.axes[-1].set_xlabel(label)
