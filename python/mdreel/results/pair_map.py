"""Plots of a value for each pair of atoms."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.style import SEQUENTIAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (7.6, 6.2)  # inches, with a bar of colours beside it


def pair_map(values: NDArray[np.float64], label: str, title: str = "", ax: "Axes | None" = None) -> "Figure":
    """Draw a value for each pair.

    Parameters
    ----------
    values : ndarray, shape (n_first, n_second), float64
        The values, in the unit that `label` names.
    label : str
        What they are.
    title : str
        A line above the picture.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into; otherwise a new figure is made.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; what is small is dark, as atoms that are near.
    """
    with canvas(ax, title, _SIZE, grid=None) as axes:
        edges = [np.arange(n + 1) + 0.5 for n in values.shape]
        drawn = axes.pcolormesh(edges[1], edges[0], values, cmap=f"{SEQUENTIAL}_r")
        axes.set(xlabel="Atom, to", ylabel="Atom, from")
        axes.set_box_aspect(1)
        figure_of(axes).colorbar(drawn, ax=axes, label=label)
    return figure_of(axes)
