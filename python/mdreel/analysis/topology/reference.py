"""Reference positions from a frame or an atom group."""

from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Source
from mdreel.errors import MismatchError
from mdreel.execution.blocks import select_frames
from mdreel.execution.source_name import source_name
from mdreel.trajectory.selection import Atoms, Selection

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup


def read_frame(source: Source, frame: int, atoms: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Return the positions of some atoms in one frame.

    Parameters
    ----------
    source : Source
        The trajectory.
    frame : int
        Frame number, starting from 0. Negative numbers count from the end.
    atoms : ndarray, shape (n_atoms,), uint32
        Indices, in ascending order.

    Returns
    -------
    ndarray, shape (n_atoms, 3), float64
        Positions in Å.

    Raises
    ------
    FrameIndexError
        If there is no such frame.
    MismatchError
        If a coordinate is not finite.
    """
    # Frame 0 always exists, and a growing trajectory will get the frame; other numbers are checked.
    is_known = frame == 0 or (source.is_growing and frame > 0)
    chosen = FrameSet.range(frame, 1, 1) if is_known else select_frames(source, frames=[frame])
    assert chosen is not None
    positions = np.array(source.read(chosen, atoms).positions[0], np.float64)
    wrong = np.flatnonzero(~np.isfinite(positions).all(axis=1))
    if wrong.size:
        found = f"atom {atoms[wrong[0]]} of the reference is at {positions[wrong[0]].tolist()}"
        raise MismatchError(f"{found}: expected finite coordinates", path=source_name(source), frame=frame)
    return positions


def is_group(reference: object) -> "TypeGuard[AtomGroup]":
    """Return whether a reference is an atom group rather than an array of positions."""
    return hasattr(reference, "universe") and hasattr(reference, "ix")


def are_atoms(reference: object) -> "TypeGuard[Atoms]":
    """Return whether a reference is a Universe or a group rather than an array of positions."""
    return hasattr(reference, "universe") and hasattr(reference, "atoms")


def positions_at(group: "AtomGroup", frame: int | None, source: Source | None) -> NDArray[np.float64]:
    """Return the positions of a group in a frame.

    Parameters
    ----------
    group : MDAnalysis.AtomGroup
        The group.
    frame : int or None
        Frame number, starting from 0. If None, the current positions of the Universe are used.
    source : Source or None
        The open trajectory of the group's Universe. If None, the MDAnalysis reader of the Universe reads the frame and
        then returns to its current frame.

    Returns
    -------
    ndarray, shape (n_atoms, 3), float64
        Positions in the order of the group in Å.
    """
    if frame is None:
        return np.array(group.positions, np.float64)
    if source is not None:
        chosen = Selection.of(group, "reference")
        return read_frame(source, frame, chosen.atoms)[chosen.places]
    trajectory = group.universe.trajectory
    current = trajectory.frame
    try:
        if frame != current:
            trajectory[frame]
        positions: NDArray[np.float64] = np.asarray(group.positions, np.float64)
        return positions
    finally:
        if frame != current:
            trajectory[current]
