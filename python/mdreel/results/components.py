"""Plots of principal components."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.figure import time_unit
from mdreel.results.style import COLOURS, RAW_ALONE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 20  # components in the picture: those that follow hardly move
_SQUARE = (7.6, 6.2)  # inches, with a bar of colours beside it


def shares(cumulated: NDArray[np.float64], title: str = "", ax: "Axes | None" = None) -> "Figure":
    """Draw the share of the variance of each component, and that of all up to it.

    Parameters
    ----------
    cumulated : ndarray, shape (n_components,), float64
        Share of each component and all before it.
    title : str
        A line above the picture.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into; otherwise a new figure is made.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    from matplotlib.ticker import MaxNLocator

    shown = 100 * cumulated[:_MOST]
    numbers = np.arange(1, len(shown) + 1)
    with canvas(ax, title) as axes:
        axes.bar(numbers, np.diff(shown, prepend=0.0), color=RAW_ALONE, width=0.7, label="each component")
        axes.plot(numbers, shown, color=COLOURS[1], linewidth=2.0, marker="o", markersize=5, label="all up to it")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, ncols=2, borderaxespad=0.0)
        axes.set(xlabel="Principal component", ylabel="Variance (%)", ylim=(0.0, 104.0))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure_of(axes)


def plane(
    times: NDArray[np.float64], projection: NDArray[np.float64], title: str = "", ax: "Axes | None" = None
) -> "Figure":
    """Draw frames in the plane of the first two components, coloured by time.

    Parameters
    ----------
    times : ndarray, shape (n_frames,), float64
        Times in ps; the bar of colours is in ps, ns, µs or ms, whichever gives short numbers.
    projection : ndarray, shape (n_frames, n_components), float64
        Displacements along the components, Å. Of one component alone, it is drawn over time.
    title : str
        A line above the picture.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into; otherwise a new figure is made.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    unit, per_unit = time_unit(times)
    with canvas(ax, title, _SQUARE, grid="both") as axes:
        is_plane = projection.shape[1] > 1
        x, y = (projection[:, 0], projection[:, 1]) if is_plane else (times / per_unit, projection[:, 0])
        drawn = axes.scatter(x, y, c=times / per_unit, cmap="viridis", s=14, linewidths=0, rasterized=len(x) > 5000)
        axes.set_xlabel("Component 1 (Å)" if is_plane else f"Time ({unit})")
        axes.set_ylabel("Component 2 (Å)" if is_plane else "Component 1 (Å)")
        figure_of(axes).colorbar(drawn, ax=axes, label=f"Time ({unit})")
    return figure_of(axes)
