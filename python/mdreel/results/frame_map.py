"""Figures of a value for each pair of frames."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.figure import frame_edges

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (7.6, 6.2)  # inches, including the colour bar


def frame_map(
    times: NDArray[np.float64],
    values: NDArray[np.float64],
    label: str,
    title: str = "",
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw a value for each pair of frames.

    Parameters
    ----------
    times : ndarray, shape (n_frames,), float64
        Times in ps; the axes use ps, ns, µs or ms, whichever gives short numbers, or count frames if the times
        are not evenly spaced.
    values : ndarray, shape (n_frames, n_frames), float64
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
        The figure; similar frames are dark.
    """
    first, last, name = frame_edges(times)
    with canvas(ax, title, _SIZE, grid=None) as axes:
        drawn = axes.imshow(values, origin="lower", extent=(first, last, first, last), cmap="viridis", aspect="equal")
        axes.set(xlabel=name, ylabel=name)
        figure_of(axes).colorbar(drawn, ax=axes, label=label)
    return figure_of(axes)
