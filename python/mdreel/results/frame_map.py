"""Plots of a value for each pair of frames."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.figure import frame_edges

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (7.6, 6.2)  # inches, with a bar of colours beside it


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
        Times in ps; the axes are in ps, ns, µs or ms, whichever gives short numbers, or count frames where
        they are not evenly apart.
    values : ndarray, shape (n_frames, n_frames), float64
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
        The figure; frames that are alike are dark.
    """
    first, last, name = frame_edges(times)
    with canvas(ax, title, _SIZE, grid=None) as axes:
        drawn = axes.imshow(values, origin="lower", extent=(first, last, first, last), cmap="viridis", aspect="equal")
        axes.set(xlabel=name, ylabel=name)
        figure_of(axes).colorbar(drawn, ax=axes, label=label)
    return figure_of(axes)
