"""Splitting trajectories into segments."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Source
from mdreel._core import split as split_core
from mdreel.errors import FrameIndexError, MismatchError
from mdreel.execution.blocks import refuse_growing, select_frames
from mdreel.execution.executors.local.threads import Threads
from mdreel.execution.progress import Progress
from mdreel.execution.source_name import source_name
from mdreel.foundation.arguments import checked_arguments
from mdreel.timing.spans import spans_from_columns
from mdreel.timing.timing import Timing
from mdreel.trajectory.h5md_writer import H5mdSettings, write_h5md
from mdreel.trajectory.open import Stored
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.output_atoms import Atoms, atoms_of
from mdreel.trajectory.output_file import H5MD, check_settings, check_trajectory, find_format, naming, warn_of_times
from mdreel.trajectory.write_report import Written


@checked_arguments
def split(
    trajectory: Stored,
    output: str | PathLike[str],
    *,
    n_parts: int | None = None,
    frames_per_part: int | None = None,
    atoms: Atoms | None = None,
    start: int | None = None,
    stop: int | None = None,
    precision: float | None = None,
    n_workers: int | None = None,
    progress: bool = False,
    force: bool = False,
) -> Written:
    """Write a trajectory to several files of consecutive frames.

    Parameters
    ----------
    trajectory : path, sequence of paths, or Source
        The trajectory.
    output : path
        Pattern for the file names. For example, ``part.xtc`` results in the files ``part-1.xtc``, ``part-2.xtc`` and so
        on. The numbers have leading zeros, so that the names sort correctly. The format is determined by the extension.
    n_parts : int, optional
        Number of files, whose numbers of frames differ by at most one.
    frames_per_part : int, optional
        Number of frames in each file except the last, which can be used instead of `n_parts`.
    atoms, start, stop, precision, progress, force
        See `convert`.
    n_workers : int, optional
        Number of files that are written at the same time. By default, there is one per processor. H5MD files are
        written one after another instead, each with this number of threads.

    Returns
    -------
    Written
        The output files and the timing.

    Raises
    ------
    MismatchError
        When you do not pass exactly one of `n_parts` and `frames_per_part`. See also `convert`.
    FrameIndexError
        When there are fewer frames than parts. See also `convert`.
    UnsupportedError, FormatError, SelectionError, OSError
        See `convert`. Files that were complete before the error occurred are not removed.

    Notes
    -----
    If you write all atoms of XTC or TRR files, the frames can be copied byte by byte, without decoding. Splitting a
    trajectory into one file per process corresponds to the subfiling approach of Khoshlessan et al., Proc. 16th Python
    in Science Conf., 121 (2017).

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD
    >>> [path.name for path in mdreel.trajectory.split(DCD, "part.xtc", n_parts=3).paths]
    ['part-1.xtc', 'part-2.xtc', 'part-3.xtc']
    """
    check_settings(output, precision)
    if (n_parts is None) == (frames_per_part is None):
        raise MismatchError("give either n_parts or frames_per_part")
    if (n_parts if n_parts is not None else frames_per_part or 0) < 1:
        raise MismatchError(f"at least 1 is needed, got {n_parts if n_parts is not None else frames_per_part}")
    source = trajectory if isinstance(trajectory, Source) else open_trajectory(trajectory)
    refuse_growing(source, "splits")
    indices = atoms_of(source, atoms)
    first, stop = _range(source, start, stop)
    n_frames = stop - first
    if n_parts is not None:
        if n_parts > n_frames:
            raise FrameIndexError(f"{n_frames} frames cannot be split into {n_parts} parts", path=source_name(source))
        edges = [first + n_frames * i // n_parts for i in range(n_parts + 1)]
    else:
        assert frames_per_part is not None
        edges = [*range(first, stop, frames_per_part), stop]
    paths = [check_trajectory(path, precision, force) for path in _names(Path(output), len(edges) - 1)]
    warn_of_times(Path(output), source, source.times()[first:stop])
    segments = list(zip(paths, edges[:-1], edges[1:], strict=True))
    n_threads = Threads(n_workers).n_workers
    if find_format(output).name == H5MD:
        return _split_to_h5md(source, indices, segments, n_threads, progress)
    with naming(source), Progress("splitting", n_frames, enabled=progress) as bar:
        columns = split_core(source, indices, segments, precision, n_threads, bar.update if progress else None)
    return Written(tuple(paths), n_frames, len(indices), Timing(spans_from_columns(columns)))


def _split_to_h5md(
    source: Source,
    atoms: NDArray[np.uint32],
    segments: list[tuple[Path, int, int]],
    n_workers: int,
    progress: bool,
) -> Written:
    """Write the files one after another, each with all workers, because the HDF5 library runs one call at a time."""
    parts = []
    for i, (path, first, stop) in enumerate(segments, start=1):
        frames = FrameSet.range(first, 1, stop - first)
        title = f"file {i} of {len(segments)}"
        settings = H5mdSettings()
        part = write_h5md(
            source, atoms, frames, path, settings=settings, n_workers=n_workers, title=title, progress=progress
        )
        parts.append(part)
    n_frames = sum(part.n_frames for part in parts)
    return Written(
        tuple(path for path, *_ in segments), n_frames, len(atoms), Timing.in_a_row(part.timing for part in parts)
    )


def _range(source: Source, start: int | None, stop: int | None) -> tuple[int, int]:
    """Return the first frame of the range and its end."""
    selected = select_frames(source, start, stop)
    if selected is None:
        source.check_end()
        return 0, source.n_frames
    first = int(selected.numbers()[0])
    return first, first + len(selected)


def _names(output: Path, n_parts: int) -> list[Path]:
    width = len(str(n_parts))
    return [output.with_name(f"{output.stem}-{i:0{width}}{output.suffix}") for i in range(1, n_parts + 1)]
