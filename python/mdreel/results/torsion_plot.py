"""Scatter plot of pairs of torsions over the regions of reference structures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHARES = (0.99, 0.9)  # of the reference residues in each region
_COLORS = ("#dbe9f6", "#a6cee3")


def torsion_plot(
    angles: NDArray[np.float64],
    labels: tuple[str, str],
    begin: float,
    reference: NDArray[np.float64] | None,
    ax: "Axes | None",
    options: Mapping[str, Any],
) -> "Axes":
    """Draw pairs of torsions as points.

    Parameters
    ----------
    angles : ndarray, shape (n_pairs, 2), float64
        The angles in degrees.
    labels : tuple of str
        Labels for both axes.
    begin : float
        Lowest angle in degrees. The range is 360 degrees.
    reference : ndarray, shape (n_bins, n_bins), float64, or None
        Counts from reference structures in bins of the second and the first angle. They are drawn as the regions that
        contain 90 % and 99 % of all counts.
    ax : matplotlib.axes.Axes or None
        Axes to draw into, or None for the current pyplot axes.
    options : mapping of str to object
        Options for `matplotlib.axes.Axes.scatter`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.gca()
    if reference is not None:
        _draw_regions(reference, begin, ax)
    ax.scatter(angles[:, 0], angles[:, 1], **options)
    ax.axhline(begin + 180, color="k", linewidth=0.8)
    ax.axvline(begin + 180, color="k", linewidth=0.8)
    ticks = np.arange(begin, begin + 361, 60)
    ax.set(
        xlabel=labels[0],
        ylabel=labels[1],
        xlim=(begin, begin + 360),
        ylim=(begin, begin + 360),
        xticks=ticks,
        yticks=ticks,
    )
    return ax


def region_levels(counts: NDArray[np.float64]) -> list[float]:
    """Return the lowest counts among the densest bins that together contain 99 % and 90 % of all counts."""
    descending = np.sort(counts, axis=None)[::-1]
    held = np.cumsum(descending) / descending.sum()
    return [float(descending[np.searchsorted(held, share)]) for share in _SHARES]


def _draw_regions(counts: NDArray[np.float64], begin: float, ax: "Axes") -> None:
    """Fill the regions of reference structures."""
    width = 360 / len(counts)
    centers = begin + width * (np.arange(len(counts)) + 0.5)
    ax.contourf(centers, centers, counts, levels=[*region_levels(counts), counts.max() + 1], colors=_COLORS)
