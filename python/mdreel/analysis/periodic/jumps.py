"""Detection of atoms that jump across the periodic cell."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.periodic.periodic_cell import PeriodicCell

_ONE_IMAGE = 1.1
"""Largest extent of wrapped positions, in cells. It exceeds 1 because molecules protrude and cells fluctuate."""

_FILLED = 0.8
"""Smallest extent along each axis, in cells, of atoms that fill the cell."""

_CHUNK = 1 << 16
"""Number of coordinates that are searched together, so that they fit into the cache of a core."""


@dataclass(frozen=True)
class Jump:
    """A jump of an atom across the cell.

    Attributes
    ----------
    place : int
        Index of the atom among the atoms of the analysis, starting from 0.
    before, after : int
        The frames between which the atom jumps, as frame numbers or as indices into the analysed frames.
    distance : float
        Length of the jump in Å.
    height : float
        Smallest height of the cell in Å.
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
        Positions in Å.
    cell : PeriodicCell
        The cell of the later frame.
    is_wrapped : callable, optional
        Function that returns whether the positions of all frames are known to lie in the same image of the cell.

    Returns
    -------
    tuple of int and float, or None
        Index of the atom, and its displacement in Å.

    Notes
    -----
    An atom jumps if its displacement is longer than half the cell, but becomes shorter than a quarter of the cell when
    whole cells are subtracted. In addition, half of the atoms must move by less than an eighth of the cell. For frames
    that are farther apart in time, jumps can be told apart from diffusion only if positions are known to be wrapped.
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
    """Use bisection to find an atom that jumps between the first and the last of several frames.

    Parameters
    ----------
    frames : ndarray, shape (n_frames,), uint64
        Frame numbers in the order of the analysis.
    read : callable
        Function that returns the positions and the cell of a frame.

    Returns
    -------
    Jump or None
        A jump between two consecutive frames, or None if no jump is found.
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
        Positions in Å, as x, y and z of one atom after the other.
    cell_of : callable
        Function that returns the cell of a frame, given its index into `positions`.

    Returns
    -------
    Jump or None
        The jump. Its frames are indices into `positions`.
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
        # A displacement with all components below this threshold is shorter than half the cell.
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
    """Find a jump between two frames without information on other frames."""
    if cell is None:
        return None

    def is_wrapped() -> bool:
        # Atoms that fill the cell do not all lie in one image by chance.
        both = np.stack([before.ravel(), after.ravel()])
        reach = np.ptp(before @ np.linalg.inv(cell.vectors), axis=0)
        return bool(reach.min() > _FILLED) and _lie_in_one_image(both, lambda _: cell)

    return find_jump(before, after, cell, is_wrapped)


def _lie_in_one_image(positions: NDArray[np.float32], cell_of: Callable[[int], PeriodicCell | None]) -> bool:
    """Return whether the positions of all frames lie in the same image of the cell. See `find_jump_in`."""
    low, high = np.full(6, np.inf), np.full(6, -np.inf)
    for place, frame in enumerate(positions):
        cell = cell_of(place)
        if cell is None:
            return False
        # Programs wrap into the triclinic cell, or into the rectangular box of its diagonal.
        rectangular = np.diag(1 / np.maximum(np.diag(cell.vectors), 1e-6))
        boxes = np.concatenate([np.linalg.inv(cell.vectors).T, rectangular], dtype=np.float32)
        parts = boxes @ frame.reshape(-1, 3).T
        low, high = np.minimum(low, parts.min(axis=1)), np.maximum(high, parts.max(axis=1))
        if ((high - low).reshape(2, 3).min(axis=0) > _ONE_IMAGE).any():
            return False
    return True
