"""Histograms of angles."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.style import INK, SEQUENTIAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BIN = 5.0  # degrees
_EDGES = np.arange(-180.0, 180.0 + _BIN, _BIN)
_TICKS = np.arange(-180, 181, 60)
_SQUARE = (7.6, 6.2)  # inches, with a bar of colours beside it
_MOST_NAMES = 12


def ramachandran(angles: NDArray[np.float64], title: str = "", ax: "Axes | None" = None) -> "Figure":
    """Draw how often pairs of angles occur, on a logarithmic scale.

    Parameters
    ----------
    angles : ndarray, shape (n_pairs, 2), float64
        phi and psi, degrees, from -180 to 180.
    title : str
        A line above the picture.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into; otherwise a new figure is made.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    from matplotlib.colors import LogNorm

    counts, _, _ = np.histogram2d(angles[:, 0], angles[:, 1], bins=[_EDGES, _EDGES])
    share = np.ma.masked_equal(100.0 * counts.T / max(len(angles), 1), 0.0)
    with canvas(ax, title, _SQUARE, grid=None) as axes:
        drawn = axes.pcolormesh(_EDGES, _EDGES, share, cmap=SEQUENTIAL, norm=LogNorm(share.min() / 2, share.max()))
        axes.axhline(0.0, color=INK, linewidth=0.8)
        axes.axvline(0.0, color=INK, linewidth=0.8)
        axes.set(xlabel="φ (degrees)", ylabel="ψ (degrees)", xlim=(-180, 180), ylim=(-180, 180), box_aspect=1)
        axes.set_xticks(_TICKS)
        axes.set_yticks(_TICKS)
        figure_of(axes).colorbar(drawn, ax=axes, label="Share of all pairs (%)", format="%g")
    return figure_of(axes)


def angle_map(angles: NDArray[np.float64], names: Sequence[str], title: str = "", ax: "Axes | None" = None) -> "Figure":
    """Draw how often each of several angles has which value.

    Parameters
    ----------
    angles : ndarray, shape (n_frames, n_angles), float64
        Angles in degrees, from -180 to 180.
    names : sequence of str
        What they are.
    title : str
        A line above the picture.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into; otherwise a new figure is made.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    n_frames, n_angles = angles.shape
    bins = np.clip(((angles + 180.0) / _BIN).astype(np.int64), 0, len(_EDGES) - 2)
    flat = np.arange(n_angles) * (len(_EDGES) - 1) + bins
    counts = np.bincount(flat.ravel(), minlength=n_angles * (len(_EDGES) - 1)).reshape(n_angles, -1)
    share = np.ma.masked_equal(100.0 * counts.T / n_frames, 0.0)
    with canvas(ax, title, grid=None) as axes:
        drawn = axes.pcolormesh(np.arange(n_angles + 1) - 0.5, _EDGES, share, cmap=SEQUENTIAL, vmin=0.0)
        axes.set_yticks(_TICKS)
        axes.set_ylabel("Angle (degrees)")
        if n_angles <= _MOST_NAMES:
            axes.set_xticks(np.arange(n_angles), names, rotation=45, ha="right", rotation_mode="anchor")
        else:
            axes.set_xlabel(f"Torsion ({names[0]} to {names[-1]})")
        figure_of(axes).colorbar(drawn, ax=axes, label="Share of frames (%)")
    return figure_of(axes)
