"""Trajectories in formats that only MDAnalysis can write."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Source
from mdreel.errors import UnsupportedError
from mdreel.foundation.atomic_files import replacing_by_ending

if TYPE_CHECKING:
    from MDAnalysis import Universe


def write_frames(
    universe: "Universe",
    source: Source,
    frames: NDArray[np.integer],
    path: Path,
    options: Mapping[str, Any],
    force: bool,
) -> None:
    """Write frames with an MDAnalysis writer.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The topology. Its trajectory is neither read nor changed.
    source : Source
        The frames.
    frames : ndarray, shape (n_frames,), int
        Numbers of the frames.
    path : Path
        The output file. It appears only once it is complete.
    options : mapping
        Options for the writer.
    force : bool
        Whether to replace an existing file.

    Raises
    ------
    UnsupportedError
        If there are several frames, but the format can store only one.
    OSError
        If the file exists and `force` is false, or if it cannot be written.
    """
    import MDAnalysis

    atoms = np.arange(source.n_atoms, dtype=np.uint32)
    written = universe.copy()
    written.load_new(np.zeros((1, source.n_atoms, 3), np.float32))
    ts = written.trajectory.ts
    with (
        replacing_by_ending(path, force) as named,
        MDAnalysis.Writer(str(named), source.n_atoms, **options) as writer,
    ):
        if len(frames) > 1 and not getattr(writer, "multiframe", False):
            raise UnsupportedError(f"the format stores one frame, not {len(frames)}", path=path)
        for number in frames:
            found = source.read(FrameSet.range(int(number), 1, 1), atoms, source.quantities)
            ts.positions = found.positions[0]
            ts.dimensions = found.dimensions[0] if found.has_cell[0] else None
            ts.frame, ts.time = int(number), float(found.times[0])
            if found.velocities is not None and found.has_velocities[0]:
                ts.velocities = found.velocities[0]
            if found.forces is not None and found.has_forces[0]:
                ts.forces = found.forces[0]
            writer.write(written.atoms)
