"""Detection of atoms that jump across the periodic cell."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.periodic.periodic_cell import PeriodicCell

_ONE_IMAGE = 1.1
"""Cells that positions reach over, at most, which are wrapped: molecules stick out, and cells fluctuate."""

_FILLED = 0.8
"""Share of the cell, along each axis, that atoms reach over which fill it."""

_CHUNK = 1 << 16
"""Numbers that are looked at together: they stay in the cache of a core."""


@dataclass(frozen=True)
class Jump:
    """An atom that jumps.

    Attributes
    ----------
    place : int
        Which of the atoms, from 0.
    before, after : int
        The frames between which it jumps; numbers, or places among those that were analysed.
    distance : float
        How far, Å.
    height : float
        The least height of the cell, Å.
    """

    place: int
    before: int
    after: int
    distance: float
    height: float


def find_jump(
    before: NDArray[np.float32],
    after: NDArray[np.float32],
    cell: PeriodicCell,
    is_wrapped: Callable[[], bool] | None = None,
) -> tuple[int, float] | None:
    """Find an atom that jumps between two frames.

    Parameters
    ----------
    before, after : ndarray, shape (n_atoms, 3), float32
        Positions, Å.
    cell : PeriodicCell
        The cell of the later frame.
    is_wrapped : callable, optional
        Returns whether it is known that all frames lie in one image of the cell.

    Returns
    -------
    tuple of int and float, or None
        Which atom, and how far it moves, Å.

    Notes
    -----
    An atom jumps that moves farther than half of the cell, but less than a quarter up to whole cells, while half of
    the atoms move less than an eighth. Where frames are farther apart in time, a jump is told from a path only if it is
    known that positions are wrapped.
    """
    steps = (after - before).astype(np.float64)
    lengths = np.sqrt((steps**2).sum(axis=1))
    if not (lengths > 0.5 * cell.height).any():
        return None
    nearest = np.sqrt((cell.nearest(steps) ** 2).sum(axis=1))
    if np.median(nearest) >= cell.height / 8 and (is_wrapped is None or not is_wrapped()):
        return None
    jumped = np.flatnonzero((lengths > 0.5 * cell.height) & (nearest < cell.height / 4))
    return (int(jumped[0]), float(lengths[jumped[0]])) if jumped.size else None


def find_jump_between(
    frames: NDArray[np.uint64], read: Callable[[int], tuple[NDArray[np.float32], PeriodicCell | None]]
) -> Jump | None:
    """Find an atom that jumps between the first and the last of some frames, by bisection.

    Parameters
    ----------
    frames : ndarray, shape (n_frames,), uint64
        Numbers of the frames, in the order in which they were analysed.
    read : callable
        Returns positions and cell of a frame.

    Returns
    -------
    Jump or None
        A jump between two neighbours among the frames; None where a long way has no jump in it.
    """
    first, last = 0, len(frames) - 1
    before, (after, cell) = read(int(frames[first]))[0], read(int(frames[last]))
    found = _jump_of(before, after, cell)
    while found is not None and last - first > 1:
        middle = (first + last) // 2
        between, of_middle = read(int(frames[middle]))
        early = _jump_of(before, between, of_middle)
        if early is not None:
            last, after, cell, found = middle, between, of_middle, early
        else:
            first, before = middle, between
            found = _jump_of(before, after, cell)
    if found is None or cell is None:
        return None
    return Jump(found[0], int(frames[first]), int(frames[last]), found[1], cell.height)


def find_jump_in(positions: NDArray[np.float32], cell_of: Callable[[int], PeriodicCell | None]) -> Jump | None:
    """Find the first jump in the positions of all frames.

    Parameters
    ----------
    positions : ndarray, shape (n_frames, 3 * n_atoms), float32
        x, y, z of one atom after the other, Å.
    cell_of : callable
        Returns the cell of a frame, by its place.

    Returns
    -------
    Jump or None
        The jump; its frames are places among these.
    """
    n_frames, width = positions.shape

    @cache
    def is_wrapped() -> bool:
        return _lie_in_one_image(positions, cell_of)

    n_steps = max(1, _CHUNK // max(width, 1))
    for first in range(0, n_frames - 1, n_steps):
        cell = cell_of(first)
        if cell is None:
            continue
        some = positions[first : first + n_steps + 1]
        steps = np.abs(some[1:] - some[:-1])
        # No way is longer than half of the cell whose parts along the axes are all shorter than this.
        for place in np.flatnonzero(steps.max(axis=1) > 0.5 * cell.height / np.sqrt(3)):
            one, other = some[place].reshape(-1, 3), some[place + 1].reshape(-1, 3)
            found = find_jump(one, other, cell, is_wrapped)
            if found is not None:
                before = int(first + place)
                return Jump(found[0], before, before + 1, found[1], cell.height)
    return None


def _jump_of(
    before: NDArray[np.float32], after: NDArray[np.float32], cell: PeriodicCell | None
) -> tuple[int, float] | None:
    """Find a jump between two frames, of which nothing else is known."""
    if cell is None:
        return None

    def is_wrapped() -> bool:
        # Atoms that fill the cell do not all stay in it by chance.
        both = np.stack([before.ravel(), after.ravel()])
        reach = np.ptp(before @ np.linalg.inv(cell.vectors), axis=0)
        return bool(reach.min() > _FILLED) and _lie_in_one_image(both, lambda _: cell)

    return find_jump(before, after, cell, is_wrapped)


def _lie_in_one_image(positions: NDArray[np.float32], cell_of: Callable[[int], PeriodicCell | None]) -> bool:
    """Return whether the positions of all frames, as of `find_jump_in`, lie in one image of the cell."""
    low, high = np.full(6, np.inf), np.full(6, -np.inf)
    for place, frame in enumerate(positions):
        cell = cell_of(place)
        if cell is None:
            return False
        # Programs wrap into the cell, or along an axis into the brick of its diagonal.
        points, diagonal = frame.reshape(-1, 3), np.maximum(np.diag(cell.vectors), 1e-6)
        parts = np.concatenate([points @ np.linalg.inv(cell.vectors), points / diagonal], axis=1)
        low, high = np.minimum(low, parts.min(axis=0)), np.maximum(high, parts.max(axis=0))
        if ((high - low).reshape(2, 3).min(axis=0) > _ONE_IMAGE).any():
            return False
    return True
