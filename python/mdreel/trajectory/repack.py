"""Repacking of H5MD files with other chunks."""

from collections.abc import Sequence
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Source
from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.executors.local.threads import Threads
from mdreel.trajectory.chunking import check_compression
from mdreel.trajectory.h5md_writer import GROUP, H5mdSettings, check_group, write_h5md
from mdreel.trajectory.output_atoms import Atoms, atoms_of
from mdreel.trajectory.output_file import H5MD, check_trajectory, find_format
from mdreel.trajectory.output_frames import frames_of
from mdreel.trajectory.read import Stored, read
from mdreel.trajectory.write_report import Written


def repack(
    trajectory: Stored,
    output: str | PathLike[str],
    *,
    access: str | None = None,
    chunk: tuple[int, int] | None = None,
    compression: str = "none",
    level: int | None = None,
    group: str = GROUP,
    atoms: Atoms | None = None,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    frames: Sequence[int] | NDArray[np.integer] | None = None,
    n_workers: int | None = None,
    progress: bool = False,
    force: bool = False,
) -> Written:
    """Write a trajectory to a file of H5MD whose chunks suit the way in which it will be read.

    Parameters
    ----------
    trajectory : path, sequence of paths, or Source
        What to write; several files one after another.
    output : path
        The file, whose name ends with .h5md or .h5. It appears when it is whole.
    access : {"frames", "atoms", "both"}, optional
        What will be read: whole frames, few atoms in all frames, or either; by default "both", unless `chunk` is given.
    chunk : tuple of int, optional
        Frames and atoms of a chunk, in place of what suits `access`.
    compression : {"none", "gzip"}
        Whether chunks are compressed.
    level : int, optional
        Level of gzip, from 0 to 9; by default 4.
    group : str
        The name of the group of particles.
    atoms : AtomGroup, or array_like, shape (n_atoms,), int, optional
        Which atoms, by default all. They are written in the order of the trajectory, each once.
    start, stop, step : int, optional
        Which frames, as of a Python slice.
    frames : array_like, shape (n_frames,), int, optional
        Which frames, in which order; instead of `start`, `stop` and `step`.
    n_workers : int, optional
        Threads that read, cut and compress; by default one for each processor. The file has the same bytes for any
        number.
    progress : bool
        Whether progress is shown, on a terminal or in a notebook.
    force : bool
        Whether an existing file may be replaced. It stays until the new one is whole.

    Returns
    -------
    Written
        The file, and where the time went.

    Raises
    ------
    UnsupportedError
        If the name of `output` has another ending, or h5py is not installed.
    MismatchError
        If access, chunk, compression, level or group are none, or both access and chunk are given, and as `convert`.
    FormatError, FrameIndexError, SelectionError, OSError
        As `convert`.

    Notes
    -----
    `mdreel.trajectory.chunking.choose_chunking` says which chunks are chosen, and why. Each worker holds all atoms of
    the frames of a chunk: 32 MiB at most unless `chunk` asks for more, and up to four times that of finished chunks.
    """
    if find_format(output).name != H5MD:
        raise UnsupportedError(f"{output}: a trajectory is repacked to H5MD: the ending must be .h5md or .h5")
    if access is not None and chunk is not None:
        raise MismatchError("give either the access that chunks are to suit, or the chunks, not both")
    path = check_trajectory(output, force=force)
    check_group(group)
    settings = H5mdSettings(access or "both", chunk, check_compression(compression, level), group)
    settings.chunking(1, 1, 1)  # what can be refused without the trajectory
    source = trajectory if isinstance(trajectory, Source) else read(trajectory)
    indices = atoms_of(source, atoms)
    selected = frames_of(source, start, stop, step, frames)
    n_threads = Threads(n_workers).n_workers
    return write_h5md(
        source, indices, selected, path, settings=settings, n_workers=n_threads, title="repacking", progress=progress
    )
