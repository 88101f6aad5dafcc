"""Conversion of trajectories between formats."""

from collections.abc import Sequence
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Source
from mdreel._core import convert as convert_core
from mdreel.errors import UnsupportedError
from mdreel.execution.damage import damaged_frames, warn_of_damage
from mdreel.execution.executors.local.threads import Threads
from mdreel.execution.progress import Progress
from mdreel.timing.spans import spans_from_columns
from mdreel.timing.timing import Timing
from mdreel.trajectory.h5md_writer import H5mdSettings, write_h5md
from mdreel.trajectory.output_atoms import Atoms, atoms_of
from mdreel.trajectory.output_file import H5MD, check_trajectory, find_format, naming, warn_of_times
from mdreel.trajectory.output_frames import frames_of
from mdreel.trajectory.read import Stored, read
from mdreel.trajectory.write_report import Written


def convert(
    trajectory: Stored,
    output: str | PathLike[str],
    *,
    atoms: Atoms | None = None,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    frames: Sequence[int] | NDArray[np.integer] | None = None,
    precision: float | None = None,
    n_workers: int | None = None,
    progress: bool = False,
    force: bool = False,
    on_error: str = "raise",
) -> Written:
    """Write a trajectory to a file; its ending is its format.

    Parameters
    ----------
    trajectory : path, sequence of paths, or Source
        What to write; several files one after another.
    output : path
        The file. It appears when it is whole.
    atoms : AtomGroup, or array_like, shape (n_atoms,), int, optional
        Which atoms, by default all. They are written in the order of the trajectory, each once.
    start, stop, step : int, optional
        Which frames, as of a Python slice.
    frames : array_like, shape (n_frames,), int, optional
        Which frames, in which order; instead of `start`, `stop` and `step`.
    precision : float, optional
        For XTC: integers per nm. By default the precision of the trajectory, or 1000 if it has none.
    n_workers : int, optional
        Threads that encode; by default one for each processor. The file has the same bytes for any number.
    progress : bool
        Whether progress is shown, on a terminal or in a notebook.
    force : bool
        Whether an existing file may be replaced. It stays until the new one is whole.
    on_error : {"raise", "stop", "skip"}
        What is done where a frame is damaged: it is an error, the file ends before it, or it is left out. What is left
        out is in `Written.damage`, and warned of.

    Returns
    -------
    Written
        The file, and where the time went.

    Raises
    ------
    UnsupportedError
        If no format has the ending of `output`, or it is one of H5MD's and h5py is not installed; if the trajectory
        grows.
    FormatError
        If the trajectory is not what its format says; whatever `on_error`, if no frame of it can be read.
    FrameIndexError
        If a frame does not exist, or none is left.
    MismatchError
        If a coordinate is no number, or beyond the format's range; if atoms, frames or the precision do not fit.
    SelectionError
        If the atoms are not a selection.
    OSError
        If the file exists and is not to be replaced, or cannot be written: nothing is left behind then.

    Notes
    -----
    Coordinates are float32 in Å; what a format cannot hold is left out, but for times that are not a constant interval
    apart in a format that has one interval for all frames: these are warned of. All atoms of consecutive frames of XTC
    files are copied to an XTC file as bytes, without loss; where `on_error` is not ``"raise"``, every frame is decoded
    as well, to see whether it is whole. H5MD files are stored in chunks of whole frames; `repack` makes other ones.
    Memory does not grow with the length of the trajectory.
    """
    path = check_trajectory(output, precision, force)
    source = (trajectory if isinstance(trajectory, Source) else read(trajectory)).with_on_error(on_error)
    indices = atoms_of(source, atoms)
    selected = frames_of(source, start, stop, step, frames)
    if on_error == "raise":
        warn_of_times(path, source, source.times()[selected.numbers()])
    # Frames that need the one before are read by one worker.
    n_threads = 1 if any(one.needs_order for one in source.transformations) else Threads(n_workers).n_workers
    if find_format(path).name == H5MD:
        if on_error != "raise":
            raise UnsupportedError(
                f"{path}: frames that are left out would shift the chunks of H5MD: with on_error={on_error!r}, convert "
                "to another format first"
            )
        return write_h5md(
            source, indices, selected, path, settings=H5mdSettings(), n_workers=n_threads, progress=progress
        )
    with naming(source), Progress("converting", len(selected), enabled=progress) as bar:
        n_frames, columns, records = convert_core(
            source, indices, selected, path, precision, n_threads, bar.update if progress else None
        )
    damage = damaged_frames(records)
    if on_error != "raise":
        left_out = [one.frame for one in damage if one.frame is not None]
        numbers = selected.numbers()
        warn_of_times(path, source, source.times()[numbers[~np.isin(numbers, left_out)][:n_frames]])
    warn_of_damage(damage, on_error)
    return Written((path,), n_frames, len(indices), Timing(spans_from_columns(columns)), damage)
