"""Reading frames into arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.blocks import Frames
from mdreel.execution.damage import warn_of_damage
from mdreel.execution.progress import Progress
from mdreel.foundation.arguments import checked_arguments
from mdreel.trajectory.array_reading import Order, Reading, read_to_end
from mdreel.trajectory.frame_arrays import Coordinates, FrameArrays
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe


@checked_arguments
def read(
    trajectory: Trajectory | Universe,
    atoms: AtomGroup | str | Sequence[int] | NDArray[np.integer] | None = None,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    frames: Frames | None = None,
    *,
    quantities: str | Sequence[str] = ("positions",),
    dtype: DTypeLike = np.float32,
    order: Order = "fac",
    out: Coordinates | Mapping[str, Coordinates] | None = None,
    n_workers: int | None = None,
    progress: bool = False,
    on_error: str = "raise",
) -> FrameArrays:
    """Read frames of a trajectory into arrays.

    Parameters
    ----------
    trajectory : path, URL, sequence of paths, Source, Channel or MDAnalysis.Universe
        The trajectory. If it is still growing, it is read until it ends.
    atoms : MDAnalysis.AtomGroup, str, or array_like, shape (n_atoms,), int, optional
        The atoms to read, which can be a group, indices, or a selection string if `trajectory` is a Universe. By
        default, all atoms are read. You will get the atoms in this order, including repetitions. If the format allows
        it, other atoms are not decoded.
    start, stop, step : int, optional
        Range of frames, as in a Python slice.
    frames : array_like, shape (n_wanted,), int, or shape (n_frames,), bool, optional
        Frame numbers or a boolean mask, instead of a slice.
    quantities : str or sequence of str
        Quantities to read: ``"positions"``, ``"velocities"``, ``"forces"``.
    dtype : float32 or float64
        Data type of the arrays. Most formats store float32.
    order : {"fac", "fca", "afc", "acf", "caf", "cfa"}
        Order of the axes: f for frames, a for atoms, c for coordinates.
    out : ndarray, or mapping of str to ndarray, optional
        Arrays to fill, with the shape, axis order and dtype of the result. You can pass one array for a single
        quantity, or a mapping with one array per quantity. As no new memory has to be allocated, this is faster.
    n_workers : int, optional
        Number of threads. By default, there is one per processor.
    progress : bool
        Whether to show progress, on a terminal or in a notebook.
    on_error : {"raise", "stop", "skip"}
        How to treat a damaged frame. You can raise an error, stop before the frame, or skip the frame. In the latter
        case, you will see a warning, and can find the skipped frames in `FrameArrays.damage`.

    Returns
    -------
    FrameArrays
        The arrays.

    Raises
    ------
    FrameIndexError
        When a frame does not exist, or no frames are selected.
    FormatError, OSError
        When the trajectory cannot be read.
    MismatchError
        When your trajectory lacks an atom or a quantity, or `out` does not match the result.
    SelectionError
        When `atoms` is empty or is not a valid selection.
    UnsupportedError
        When a quantity, data type or axis order is unknown, or the frames do not fit into memory.

    Notes
    -----
    Several threads decode blocks of frames and write them directly into the arrays, so you need little memory besides
    the arrays. As the final number of frames of a growing trajectory is not known, its arrays will grow as frames
    arrive.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD
    >>> frames = mdreel.read(DCD, step=2)
    >>> frames.positions.shape
    (49, 3341, 3)
    """
    reading = Reading.of(trajectory, atoms, quantities, dtype, order, n_workers, on_error)
    if reading.source.is_growing:
        if out is not None:
            raise UnsupportedError("out needs the number of frames, which is unknown for a growing trajectory")
        return read_to_end(reading, reading.arriving(start, stop, step, frames, reading.chunk_frames), progress)
    selected = reading.frames(start, stop, step, frames)
    arrays = reading.arrays(len(selected)) if out is None else reading.checked(out, len(selected))
    with Progress("reading", len(selected), enabled=progress) as bar:
        found = reading.fill(selected, arrays, bar.update if progress else None)
        bar.update(len(found))
    warn_of_damage(found.damage, on_error)
    return found


@checked_arguments
def iread(
    trajectory: Trajectory | Universe,
    atoms: AtomGroup | str | Sequence[int] | NDArray[np.integer] | None = None,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    frames: Frames | None = None,
    *,
    chunk: int | None = None,
    quantities: str | Sequence[str] = ("positions",),
    dtype: DTypeLike = np.float32,
    order: Order = "fac",
    n_workers: int | None = None,
    on_error: str = "raise",
) -> Iterator[FrameArrays]:
    """Read a trajectory chunk by chunk with bounded memory use.

    Parameters
    ----------
    trajectory, atoms, start, stop, step, frames, quantities, dtype, order, n_workers, on_error
        See `read`.
    chunk : int, optional
        Number of frames in a chunk (except the last). By default, as many frames as fit into 32 MiB are used. For a
        growing trajectory, a chunk contains the frames that have arrived, up to this number.

    Yields
    ------
    FrameArrays
        The chunks in order. Note that each chunk overwrites the memory of the previous chunk. If you need a chunk
        later, you should make a copy using its `copy` method.

    Raises
    ------
    MismatchError
        If `chunk` is not positive. See also `read`.
    MdreelError, OSError
        See `read`.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD
    >>> [len(chunk) for chunk in mdreel.iread(DCD, chunk=40)]
    [40, 40, 18]
    """
    reading = Reading.of(trajectory, atoms, quantities, dtype, order, n_workers, on_error)
    if chunk is not None and chunk < 1:
        raise MismatchError(f"chunk must be a number of frames, 1 or more, not {chunk}")
    n_frames = chunk or reading.chunk_frames
    if reading.source.is_growing:
        return reading.chunks(reading.arriving(start, stop, step, frames, n_frames), n_frames)
    return reading.chunks(reading.cut(reading.frames(start, stop, step, frames), n_frames), n_frames)
