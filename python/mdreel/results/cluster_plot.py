"""Figures of the clusters of frames over time."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.figure import frame_edges
from mdreel.results.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OTHERS = "#9A9A9A"
_FEW = 400  # frames that are drawn with large points


def clusters_over_time(
    times: NDArray[np.float64], labels: NDArray[np.int64], title: str = "", ax: "Axes | None" = None
) -> "Figure":
    """Draw the cluster of each frame over time, with the largest clusters in colour.

    The points are drawn as pixels even in a vector file, which stays small.

    Parameters
    ----------
    times : ndarray, shape (n_frames,), float64
        Times in ps; the axis uses ps, ns, µs or ms, depending on their range, or counts frames if the times are not
        evenly spaced.
    labels : ndarray, shape (n_frames,), int64
        Cluster of each frame, numbered from 0, or -1 for frames that belong to no cluster.
    """
    from matplotlib.ticker import MaxNLocator

    first, last, name = frame_edges(times)
    half = (last - first) / (2 * len(labels))
    at = np.linspace(first + half, last - half, len(labels))
    colours = np.array([*COLOURS, _OTHERS])[np.minimum(labels, len(COLOURS))]
    size, marker = (36.0, "o") if len(labels) <= _FEW else (9.0, "|")
    with canvas(ax, title) as axes:
        axes.scatter(at, labels, s=size, c=colours, marker=marker, rasterized=True)
        lowest, highest = float(labels.min()), float(labels.max())
        axes.set(
            xlabel=name, ylabel="Cluster", xlim=(first, last), ylim=(min(lowest, 0.0) - 0.6, max(highest, 0.0) + 0.6)
        )
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=8, min_n_ticks=1))
        if lowest < 0:
            axes.yaxis.set_major_formatter(lambda value, _: "noise" if value == -1 else f"{value:g}")
    return figure_of(axes)
