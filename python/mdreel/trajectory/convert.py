"""Conversion of trajectories between formats."""

from __future__ import annotations

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
from mdreel.foundation.arguments import checked_arguments
from mdreel.timing.spans import spans_from_columns
from mdreel.timing.timing import Timing
from mdreel.trajectory.h5md_writer import H5mdSettings, write_h5md
from mdreel.trajectory.open import Stored
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.output_atoms import Atoms, atoms_of
from mdreel.trajectory.output_file import H5MD, check_trajectory, find_format, naming, warn_of_times
from mdreel.trajectory.output_frames import frames_of
from mdreel.trajectory.write_report import Written


@checked_arguments
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
    """Write a trajectory to a file, in the format given by its extension.

    Parameters
    ----------
    trajectory : path, sequence of paths, or Source
        The trajectory. If you pass several files, they are written one after another.
    output : path
        The output file, which will only appear once it is complete.
    atoms : AtomGroup, or array_like, shape (n_atoms,), int, optional
        Atoms to write. The default is all atoms, which are written once, in the order of the trajectory.
    start, stop, step : int, optional
        Range of frames, as in a Python slice.
    frames : array_like, shape (n_frames,), int, optional
        Frame numbers in any order, which can be used instead of `start`, `stop` and `step`.
    precision : float, optional
        Precision of an XTC file, in integers per nm. By default, the precision of your trajectory will be used, or 1000
        if it does not have any.
    n_workers : int, optional
        Number of threads. By default, there is one per processor. The output is bitwise identical for any number of
        threads.
    progress : bool
        Whether to show progress, on a terminal or in a notebook.
    force : bool
        Whether to replace an existing file, which is kept until the new file is complete.
    on_error : {"raise", "stop", "skip"}
        How to treat a damaged frame. You can raise an error, end the file before the frame, or skip the frame. In the
        latter case, you will see a warning, and can find the skipped frames in `Written.damage`.

    Returns
    -------
    Written
        The output file and the timing.

    Raises
    ------
    UnsupportedError
        When the extension of `output` is unknown, `output` is an H5MD file and h5py is not installed, or the trajectory
        is still growing.
    FormatError
        When the trajectory is damaged. This error does not depend on `on_error` if no frame can be read.
    FrameIndexError
        When a frame does not exist, or no frames are selected.
    MismatchError
        When a coordinate is not finite or exceeds the range of the format, or your atoms, frames or precision are not
        valid for this trajectory or format.
    SelectionError
        When `atoms` is empty or is not a valid selection.
    OSError
        When the file cannot be written, or already exists and `force` is false. No partial file is left behind.

    Notes
    -----
    Coordinates are read as float32 in Å. Quantities that the output format cannot store are omitted. Note that some
    formats only store a single time interval for all frames. You will then see a warning if the frames are not evenly
    spaced in time.

    If you write all atoms of consecutive frames from XTC to XTC, the frames can be copied byte by byte, without loss.
    Unless `on_error` is ``"raise"``, frames are also decoded to check them. H5MD files are stored in chunks of whole
    frames. To create other chunks, use `repack`. The memory use does not depend on the number of frames.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD
    >>> written = mdreel.trajectory.convert(DCD, "adk.xtc", step=2)
    >>> written.n_frames, written.n_atoms
    (49, 3341)
    """
    path = check_trajectory(output, precision, force)
    source = (trajectory if isinstance(trajectory, Source) else open_trajectory(trajectory)).with_on_error(on_error)
    indices = atoms_of(source, atoms)
    selected = frames_of(source, start, stop, step, frames)
    if on_error == "raise":
        warn_of_times(path, source, source.times()[selected.numbers()])
    # One worker reads frames that depend on the previous frame.
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
