"""Alignment of positions in memory, as with ``in_memory=True`` in MDAnalysis."""

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Source
from mdreel.errors import MdreelWarning, MismatchError
from mdreel.foundation.stack_level import caller_level

if TYPE_CHECKING:
    from MDAnalysis import Universe

_BATCH = 1 << 26
"""Maximum size in bytes of the positions that are superposed at once."""


def prepare(universe: "Universe", wanted: bool, has_own_trajectory: bool, filename: object) -> bool:
    """Return whether an alignment changes the positions of a Universe in memory, and load them if requested.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The Universe. If `wanted` is true, an in-memory trajectory permanently replaces its trajectory.
    wanted : bool
        Whether the user requests this. A trajectory already in memory is always changed, as in MDAnalysis.
    has_own_trajectory : bool
        Whether the alignment reads a trajectory other than the Universe's trajectory.
    filename : path or None
        The requested output file. It is not written if positions change in memory.

    Raises
    ------
    MismatchError
        If `wanted` is true, but the analysis reads a trajectory other than that of its Universe.

    Warns
    -----
    MdreelWarning
        If a file is requested, but the Universe's trajectory is in memory.
    """
    if has_own_trajectory:
        if wanted:
            raise MismatchError("in_memory changes the trajectory of the Universe, so trajectory= must not be given")
        return False
    if wanted:
        universe.transfer_to_memory()
        return True
    if getattr(getattr(universe, "trajectory", None), "format", None) != "MEMORY":
        return False
    if filename is not None:
        warnings.warn(
            f"{filename} will not be written: the trajectory of the Universe is in memory, so its positions change "
            "there, as in MDAnalysis; give trajectory= to read a file instead",
            MdreelWarning,
            stacklevel=caller_level(),
        )
    return True


def replace_positions(universe: "Universe", source: Source, frames: NDArray[np.integer]) -> None:
    """Replace the positions of a trajectory in memory with the positions of a source.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The Universe, whose trajectory is in memory.
    source : Source
        The superposed frames. It must not share memory with the trajectory.
    frames : ndarray, shape (n_frames,), int
        The frames to replace. All other frames remain unchanged.

    Warns
    -----
    MdreelWarning
        If there are velocities or forces, which are not rotated.
    """
    reader = universe.trajectory
    positions = reader.coordinate_array.transpose([reader.stored_order.index(axis) for axis in "fac"])
    atoms = np.arange(source.n_atoms, dtype=np.uint32)
    batch = max(1, _BATCH // (12 * source.n_atoms))
    for first in range(0, len(frames), batch):
        some = frames[first : first + batch]
        positions[some] = source.read(FrameSet.list(some.astype(np.uint64)), atoms).positions
    reader[reader.frame]
    left = [name for name in ("velocities", "forces") if getattr(reader.ts, f"has_{name}")]
    if left:
        warnings.warn(
            f"{' and '.join(left)} in memory are not rotated, as in MDAnalysis: align to a file to rotate them too",
            MdreelWarning,
            stacklevel=caller_level(),
        )
