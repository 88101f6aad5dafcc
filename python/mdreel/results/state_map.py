"""Figures that show the state of each residue over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.figure import frame_edges
from mdreel.results.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _VERMILION, _GREEN, _PURPLE, _ORANGE, _SKY, _ = COLOURS
_MISSING = "#FFFFFF"
_NAMES = {
    "H": ("α-helix", _BLUE),
    "G": ("$3_{10}$-helix", _SKY),
    "I": ("π-helix", _PURPLE),
    "E": ("strand", _VERMILION),
    "B": ("bridge", _ORANGE),
    "T": ("turn", _GREEN),
    "S": ("bend", "#9A9A9A"),
    "-": ("loop", "#E9E9E9"),
}
"""Name and colour of each state, in the order of the legend."""

_MOST_FRAMES = 2_000  # about the width of the figure in pixels
_SIZE = (12.0, 5.6)  # inches; half of a 16:9 slide, including the legend


def state_map(
    times: NDArray[np.float64],
    resids: NDArray[np.integer],
    states: NDArray[np.str_],
    known: Sequence[str],
    title: str = "",
    ax: "Axes | None" = None,
    label: str = "Residue",
) -> "Figure":
    """Draw the state of each residue over time.

    Parameters
    ----------
    times : ndarray, shape (n_frames,), float64
        Times in ps. The axis uses ps, ns, µs or ms, depending on the range of the times, or counts frames if the times
        are not evenly spaced.
    resids : ndarray, shape (n_residues,), int
        Residue numbers. The rows of missing residues remain white. If the numbers are not ascending, as with several
        chains, the axis counts residues.
    states : ndarray, shape (n_frames, n_residues), str
        DSSP characters. For long trajectories, evenly spaced frames are drawn.
    known : sequence of str
        All possible states.
    title : str
        Title of the figure.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into. By default, a new figure is created.
    label : str
        Label for the residue axis.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    names = {state: name for state, name in _NAMES.items() if state in known}
    if "G" not in names:  # the three-state assignment has one kind of helix
        names["H"] = ("helix", _BLUE)
    if (np.diff(resids) <= 0).any():
        resids, label = np.arange(1, len(resids) + 1), "Residue, counted"
    first, last, x_label = frame_edges(times)
    shown = np.unique(np.linspace(0, len(times) - 1, min(len(times), _MOST_FRAMES)).round().astype(np.int64))
    drawn = np.full((resids[-1] - resids[0] + 1, len(shown)), -1, np.int8)
    order = np.array(list(names))
    rows = (states[shown][:, :, None] == order).argmax(axis=2).T
    drawn[resids - resids[0]] = rows
    extent = (first, last, float(resids[0]) - 0.5, float(resids[-1]) + 0.5)
    colours = ListedColormap([_MISSING, *(colour for _, colour in names.values())])
    with canvas(ax, title, _SIZE, grid=None) as axes:
        axes.imshow(
            drawn,
            cmap=colours,
            vmin=-1.5,
            vmax=len(names) - 0.5,
            extent=extent,
            origin="lower",
            aspect="auto",
            interpolation="nearest",
        )
        axes.set(xlabel=x_label, ylabel=label)
        patches = [Patch(facecolor=colour, label=name) for name, colour in names.values()]
        axes.legend(handles=patches, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, handlelength=1.0)
    return figure_of(axes)
