"""Plots of a value on a two-dimensional grid."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.style import SEQUENTIAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 7.6  # inches, with a bar of colours beside it
_MAP_WIDTH, _MARGIN, _HEIGHTS = 5.6, 0.9, (2.5, 9.0)


def grid_map(
    values: NDArray[np.float64],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    label: str,
    title: str = "",
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw a value for each bin.

    Parameters
    ----------
    values : ndarray, shape (n_x, n_y), float64
        The values, in the unit that `label` names.
    x, y : ndarray, shape (n_x + 1,) and (n_y + 1,), float64
        Edges of the bins, Å.
    label : str
        What the values are.
    title : str
        A line above the picture.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into; otherwise a new figure is made.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, of which both axes have one scale.
    """
    # As high as the map needs, so that the bar of colours is no higher.
    height = np.clip(_MAP_WIDTH * np.ptp(y) / np.ptp(x) + _MARGIN, *_HEIGHTS)
    with canvas(ax, title, (_WIDTH, float(height)), grid=None) as axes:
        drawn = axes.pcolormesh(x, y, values.T, cmap=SEQUENTIAL, vmin=0.0)
        axes.set(xlabel="x (Å)", ylabel="y (Å)")
        axes.set_aspect("equal")
        figure_of(axes).colorbar(drawn, ax=axes, label=label)
    return figure_of(axes)
