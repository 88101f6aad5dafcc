"""The task that a worker receives for a user's analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from MDAnalysis import Universe
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Start:
    """Where the Universe of the caller was when `run` was called.

    Attributes
    ----------
    positions : ndarray, shape (n_atoms, 3), float32, or None
        Å; None if it had none.
    dimensions : ndarray, shape (6,), float32, or None
        Lengths in Å and angles in degrees, if it had a cell.
    frame : int
        Number of the frame, -1 without one.
    time : float
        Its time, ps.
    """

    positions: NDArray[np.float32] | None
    dimensions: NDArray[np.float32] | None
    frame: int
    time: float

    @classmethod
    def of(cls, universe: Universe) -> Start:
        """Return where a Universe is."""
        ts = getattr(getattr(universe, "trajectory", None), "ts", None)
        if ts is None:
            return cls(None, None, -1, 0.0)
        positions = np.array(ts.positions, np.float32) if ts.has_positions else None
        dimensions = None if ts.dimensions is None else np.array(ts.dimensions, np.float32)
        return cls(positions, dimensions, int(ts.frame), float(ts.time))


@dataclass(frozen=True)
class Known:
    """What is known of the trajectory whose frames a worker is given.

    Attributes
    ----------
    n_frames : int or None
        How many frames it has; None where more may come, or some be left out.
    quantities : frozenset of str
        What it has of each atom besides positions, which alone are read.
    """

    n_frames: int | None
    quantities: frozenset[str]


@dataclass(frozen=True)
class Task:
    """What a worker is sent.

    Attributes
    ----------
    analysis : bytes
        The class of the analysis, and its state.
    topology : bytes
        The topology of its Universe.
    start : Start
        Where the Universe of the caller was when `run` was called.
    atoms : ndarray, shape (n_read,), uint32
        The atoms that are read of each frame, ascending.
    known : Known
        What is known of the trajectory.
    by_batch : bool
        Whether the frames of each batch have an analysis of their own, and not those of a block.
    """

    analysis: bytes
    topology: bytes
    start: Start
    atoms: NDArray[np.uint32]
    known: Known
    by_batch: bool
