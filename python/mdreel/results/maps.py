"""Figures that show a value for each point of a plane.

Each function accepts a title and, optionally, axes to draw into. It returns the figure.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.results.canvas import canvas, figure_of
from mdreel.results.figure import frame_edges, time_unit
from mdreel.results.style import INK, SEQUENTIAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SQUARE = (7.6, 6.2)  # inches, including the colour bar
_BIN = 5.0  # degrees
_EDGES = np.arange(-180.0, 180.0 + _BIN, _BIN)
_TICKS = np.arange(-180, 181, 60)
_MOST_NAMES = 12
_GRID_WIDTH, _GRID_MARGIN, _GRID_HEIGHTS = 5.6, 0.9, (2.5, 9.0)  # inches


def pair_map(values: NDArray[np.float64], label: str, title: str = "", ax: "Axes | None" = None) -> "Figure":
    """Draw a value for each pair of atoms. Small values, such as short distances, are dark.

    Parameters
    ----------
    values : ndarray, shape (n_first, n_second), float64
        The values, in the unit given in `label`.
    label : str
        Name and unit of the values.
    """
    with canvas(ax, title, _SQUARE, grid=None) as axes:
        edges = [np.arange(n + 1) + 0.5 for n in values.shape]
        drawn = axes.pcolormesh(edges[1], edges[0], values, cmap=f"{SEQUENTIAL}_r")
        axes.set(xlabel="Atom of the second group", ylabel="Atom of the first group", box_aspect=1)
        figure_of(axes).colorbar(drawn, ax=axes, label=label)
    return figure_of(axes)


def frame_map(
    times: NDArray[np.float64], values: NDArray[np.float64], label: str, title: str = "", ax: "Axes | None" = None
) -> "Figure":
    """Draw a value for each pair of frames. Similar frames are dark.

    Parameters
    ----------
    times : ndarray, shape (n_frames,), float64
        Times in ps. The axes use ps, ns, µs or ms, depending on the range of the times, or count frames if the times
        are not evenly spaced.
    values : ndarray, shape (n_frames, n_frames), float64
        The values, in the unit given in `label`.
    label : str
        Name and unit of the values.
    """
    first, last, name = frame_edges(times)
    with canvas(ax, title, _SQUARE, grid=None) as axes:
        drawn = axes.imshow(values, origin="lower", extent=(first, last, first, last), cmap="viridis", aspect="equal")
        axes.set(xlabel=name, ylabel=name)
        figure_of(axes).colorbar(drawn, ax=axes, label=label)
    return figure_of(axes)


def grid_map(
    values: NDArray[np.float64],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    label: str,
    title: str = "",
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw a value for each bin. Both axes have the same scale.

    Parameters
    ----------
    values : ndarray, shape (n_x, n_y), float64
        The values, in the unit given in `label`.
    x, y : ndarray, shape (n_x + 1,) and (n_y + 1,), float64
        Edges of the bins in Å.
    label : str
        Name and unit of the values.
    """
    # Fit the figure height to the map, so that the colour bar is not taller than the map.
    height = float(np.clip(_GRID_WIDTH * np.ptp(y) / np.ptp(x) + _GRID_MARGIN, *_GRID_HEIGHTS))
    with canvas(ax, title, (_SQUARE[0], height), grid=None) as axes:
        drawn = axes.pcolormesh(x, y, values.T, cmap=SEQUENTIAL, vmin=0.0)
        axes.set(xlabel="x (Å)", ylabel="y (Å)", aspect="equal")
        figure_of(axes).colorbar(drawn, ax=axes, label=label)
    return figure_of(axes)


def ramachandran(angles: NDArray[np.float64], title: str = "", ax: "Axes | None" = None) -> "Figure":
    """Draw the distribution of phi and psi on a logarithmic scale.

    Parameters
    ----------
    angles : ndarray, shape (n_pairs, 2), float64
        phi and psi in degrees, from -180 to 180.
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
    """Draw the distributions of several angles side by side.

    Parameters
    ----------
    angles : ndarray, shape (n_frames, n_angles), float64
        Angles in degrees, from -180 to 180.
    names : sequence of str
        Names of the angles.
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


def component_plane(
    times: NDArray[np.float64], projection: NDArray[np.float64], title: str = "", ax: "Axes | None" = None
) -> "Figure":
    """Draw the frames in the plane of the first two principal components, coloured by time.

    Parameters
    ----------
    times : ndarray, shape (n_frames,), float64
        Times in ps. The colour bar uses ps, ns, µs or ms, depending on the range of the times.
    projection : ndarray, shape (n_frames, n_components), float64
        Displacements along the components in Å. A single component is drawn over time.
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
