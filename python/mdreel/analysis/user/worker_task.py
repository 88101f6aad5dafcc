"""Task that workers receive for a user analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from MDAnalysis import Universe
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Start:
    """The current frame of the caller's Universe when `run` was called.

    Attributes
    ----------
    positions : ndarray, shape (n_atoms, 3), float32, or None
        Positions in Å, or None if the Universe had no positions.
    dimensions : ndarray, shape (6,), float32, or None
        Cell lengths in Å and angles in degrees. None if there is no cell.
    frame : int
        Frame number, or -1 if there is no frame.
    time : float
        Time in ps.
    """

    positions: NDArray[np.float32] | None
    dimensions: NDArray[np.float32] | None
    frame: int
    time: float

    @classmethod
    def of(cls, universe: Universe) -> Start:
        """Return a copy of the current frame of a Universe."""
        ts = getattr(getattr(universe, "trajectory", None), "ts", None)
        if ts is None:
            return cls(None, None, -1, 0.0)
        positions = np.array(ts.positions, np.float32) if ts.has_positions else None
        dimensions = None if ts.dimensions is None else np.array(ts.dimensions, np.float32)
        return cls(positions, dimensions, int(ts.frame), float(ts.time))


@dataclass(frozen=True)
class Known:
    """Facts about the trajectory that workers need.

    Attributes
    ----------
    n_frames : int or None
        Number of frames. None if the trajectory is still growing, or if frames may be skipped.
    quantities : frozenset of str
        Quantities other than positions that the trajectory contains for each atom. Workers do not read them.
    """

    n_frames: int | None
    quantities: frozenset[str]


@dataclass(frozen=True)
class Task:
    """The task that a worker receives.

    Attributes
    ----------
    analysis : bytes
        Pickled class and state of the analysis.
    topology : bytes
        Pickled topology of the Universe.
    start : Start
        The current frame of the caller's Universe when `run` was called.
    atoms : ndarray, shape (n_read,), uint32
        Indices of the atoms that are read in each frame, in ascending order.
    known : Known
        Facts about the trajectory.
    by_batch : bool
        Whether each batch, rather than each block, is analysed separately.
    is_in_order : bool
        Whether all frames are analysed in order in one block. In this case, the block keeps all attributes that the
        analysis sets.
    """

    analysis: bytes
    topology: bytes
    start: Start
    atoms: NDArray[np.uint32]
    known: Known
    by_batch: bool
    is_in_order: bool = False
