"""Figures of a value for each pair of atoms."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.style import SEQUENTIAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (7.6, 6.2)  # inches, including the colour bar


def pair_map(values: NDArray[np.float64], label: str, title: str = "", ax: "Axes | None" = None) -> "Figure":
    """Draw a value for each pair of atoms as a map.

    Parameters
    ----------
    values : ndarray, shape (n_first, n_second), float64
        The values, in the unit given in `label`.
    label : str
        Name and unit of the values.
    title : str
        Title of the figure.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into; by default those of a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; small values, such as short distances, are dark.
    """
    with canvas(ax, title, _SIZE, grid=None) as axes:
        edges = [np.arange(n + 1) + 0.5 for n in values.shape]
        drawn = axes.pcolormesh(edges[1], edges[0], values, cmap=f"{SEQUENTIAL}_r")
        axes.set(xlabel="Atom, to", ylabel="Atom, from")
        axes.set_box_aspect(1)
        figure_of(axes).colorbar(drawn, ax=axes, label=label)
    return figure_of(axes)
