"""The frame that defines the grid or the bins of an analysis."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Frames, FrameSet, Source
from mdreel.execution.blocks import select_frames

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup


def current_frame(atomgroup: "AtomGroup") -> int:
    """Return the number of the current frame of a group's Universe, or 0 if the Universe has no trajectory."""
    return int(getattr(getattr(atomgroup.universe, "trajectory", None), "frame", 0))


def read_one_frame(source: Source, frame: int, atoms: NDArray[np.uint32]) -> Frames:
    """Return one frame of a trajectory.

    Parameters
    ----------
    source : Source
        The trajectory.
    frame : int
        Frame number, starting from 0.
    atoms : ndarray, shape (n_atoms,), uint32
        Atom indices in ascending order.

    Raises
    ------
    FrameIndexError
        If there is no such frame.
    """
    # Frame 0 always exists, and a growing trajectory will get the frame; other numbers are checked.
    chosen = FrameSet.range(frame, 1, 1) if frame == 0 or source.is_growing else select_frames(source, frames=[frame])
    assert chosen is not None
    return source.read(chosen, atoms)
