"""Repacking H5MD files with different chunks."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Source
from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.executors.local.threads import Threads
from mdreel.foundation.arguments import checked_arguments
from mdreel.trajectory.chunking import check_compression
from mdreel.trajectory.h5md_writer import GROUP, H5mdSettings, check_group, write_h5md
from mdreel.trajectory.open import Stored
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.output_atoms import Atoms, atoms_of
from mdreel.trajectory.output_file import H5MD, check_trajectory, find_format
from mdreel.trajectory.output_frames import frames_of
from mdreel.trajectory.write_report import Written


@checked_arguments
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
    """Write a trajectory to an H5MD file, using chunks that suit the way you will read it.

    Parameters
    ----------
    trajectory : path, sequence of paths, or Source
        The trajectory. If you pass several files, they are written one after another.
    output : path
        The output file, with the extension .h5md or .h5, which will only appear once it is complete.
    access : {"frames", "atoms", "both"}, optional
        How you will read the file: whole frames, a few atoms in all frames, or both. The default is "both", unless you
        specify `chunk`.
    chunk : tuple of int, optional
        Numbers of frames and atoms in each chunk, which can be used instead of `access`.
    compression : {"none", "gzip"}
        Compression of the chunks.
    level : int, optional
        Compression level of gzip, from 0 to 9. The default is 4.
    group : str
        Name of the particle group.
    atoms, start, stop, step, frames, n_workers, progress, force
        See `convert`.

    Returns
    -------
    Written
        The output file and the timing.

    Raises
    ------
    UnsupportedError
        When `output` has a different extension, or h5py is not installed.
    MismatchError
        When an option is invalid, or you use both `access` and `chunk`. See also `convert`.
    FormatError, FrameIndexError, SelectionError, OSError
        See `convert`.

    Notes
    -----
    To learn how the chunks are chosen, see `mdreel.trajectory.chunking.choose_chunking`. Each worker needs memory for
    all atoms in the frames of a chunk (at most 32 MiB, unless `chunk` requires more). In addition, complete chunks can
    need up to four times as much memory.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD
    >>> mdreel.trajectory.repack(DCD, "adk.h5md", access="atoms").n_frames
    98
    """
    if find_format(output).name != H5MD:
        raise UnsupportedError("repack writes H5MD: the extension must be .h5md or .h5", path=output)
    if access is not None and chunk is not None:
        raise MismatchError("give either access or chunk, not both")
    path = check_trajectory(output, force=force)
    check_group(group)
    settings = H5mdSettings(access or "both", chunk, check_compression(compression, level), group)
    settings.chunking(1, 1, 1)  # refuses invalid settings before the trajectory is opened
    source = trajectory if isinstance(trajectory, Source) else open_trajectory(trajectory)
    indices = atoms_of(source, atoms)
    selected = frames_of(source, start, stop, step, frames)
    n_threads = Threads(n_workers).n_workers
    return write_h5md(
        source, indices, selected, path, settings=settings, n_workers=n_threads, title="repacking", progress=progress
    )
