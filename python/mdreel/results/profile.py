"""Plots of one value for each atom along a chain."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.style import RAW, RAW_ALONE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def profile(
    residues: NDArray[np.integer],
    values: NDArray[np.float64],
    x_label: str,
    label: str,
    title: str = "",
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw a value of each atom along the residues; of several atoms of a residue, the mean as well.

    Parameters
    ----------
    residues : ndarray, shape (n_atoms,), int
        The number of each atom's residue. Where numbers go back, as in several chains, atoms are counted instead.
    values : ndarray, shape (n_atoms,), float64
        The values, in the unit that `label` names.
    x_label, label : str
        What residues and values are.
    title : str
        A line above the picture.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into; otherwise a new figure is made.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    with canvas(ax, title) as axes:
        if (np.diff(residues) < 0).any():
            residues, x_label = np.arange(len(residues)), "Atom"
        numbers, first, counts = np.unique(residues, return_index=True, return_counts=True)
        means = np.add.reduceat(values, first) / counts
        if counts.max() > 1:
            axes.plot(residues, values, ".", color=RAW, markersize=4, label="each atom")
        # The line is broken where residues are missing.
        breaks = np.flatnonzero(np.diff(numbers) > 1) + 1
        for x, y in zip(np.split(numbers, breaks), np.split(means, breaks), strict=True):
            marker = "o" if len(x) == 1 else None
            axes.plot(x, y, color=RAW_ALONE, linewidth=2.0, marker=marker, markersize=4)
        if counts.max() > 1:
            axes.plot([], [], color=RAW_ALONE, linewidth=2.0, label="mean of a residue")
            axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, ncols=2, borderaxespad=0.0)
        axes.set_xlabel(x_label)
        axes.set_ylabel(label)
        axes.set_ylim(0.0, 1.08 * float(values.max()) or 1.0)
        axes.margins(x=0.01)
    return figure_of(axes)
