"""Selection of frames."""

from collections.abc import Sequence
from operator import index
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Source
from mdreel.errors import ArgumentError, FrameIndexError, MismatchError, UnsupportedError
from mdreel.execution.shared_files import check_end, locate
from mdreel.execution.source_name import source_name

Frames: TypeAlias = Sequence[int] | Sequence[bool] | NDArray[np.integer] | NDArray[np.bool_]
"""Frame numbers, or a boolean mask with one value per frame."""


def select_frames(
    source: Source,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    frames: Sequence[int] | Sequence[bool] | NDArray[np.integer] | NDArray[np.bool_] | None = None,
) -> FrameSet | None:
    """Return the selected frames of a trajectory.

    Parameters
    ----------
    source : Source
        The trajectory.
    start, stop, step : int, optional
        Range of frames, as in a Python slice. Frames are counted from 0, and `stop` is not included. Negative numbers
        count from the end.
    frames : array_like, shape (n_wanted,), int, or shape (n_frames,), bool, optional
        Frame numbers in any order, or a boolean mask. Negative numbers count from the end.

    Returns
    -------
    FrameSet or None
        The frames. If all frames of a trajectory without a frame index are selected, the function returns None, because
        the index is then created in the same pass. For a growing trajectory, the selection includes future frames.

    Raises
    ------
    FrameIndexError
        If a frame does not exist, or if no frames are selected.
    MismatchError
        If both a range and `frames` are given, or if the length of a mask differs from that of the trajectory.
    FormatError
        If the frames extend to the end of the trajectory, and the last frame is incomplete.
    UnsupportedError
        If the trajectory is still growing, and the selection depends on the final number of frames.
    """
    if frames is not None:
        if any(limit is not None for limit in (start, stop, step)):
            raise MismatchError("give either frames or start, stop and step, not both")
        refuse_growing(source, "frames chosen one by one")
        return _listed(source, np.asarray(frames))
    start, stop, step = (limit if limit is None else index(limit) for limit in (start, stop, step))
    if step == 0:
        raise FrameIndexError("step must not be 0")
    if source.is_growing:
        return _arriving(source, start or 0, stop, 1 if step is None else step)
    if start in (None, 0) and stop is None and step in (None, 1) and not source.is_located:
        return None
    locate(source)
    n_frames = source.n_frames
    if stop is None or stop > n_frames or min(start or 0, stop) < 0:
        check_end(source)
    selected = range(*slice(start, stop, step).indices(n_frames))
    if n_frames == 0:
        raise FrameIndexError("the trajectory has 0 frames", path=source_name(source))
    if not selected:
        given = {"start": start, "stop": stop, "step": step}
        asked = ", ".join(f"{name}={value}" for name, value in given.items() if value is not None)
        message = f"no frame is left of {asked}: the trajectory has {n_frames} frames, 0 to {n_frames - 1}"
        raise FrameIndexError(message, path=source_name(source))
    if selected.step > 0:
        return FrameSet.range(selected.start, selected.step, len(selected))
    return FrameSet.list(np.arange(selected.start, selected.stop, selected.step).astype(np.uint64))


def first_frame(
    source: Source,
    selected: FrameSet | None,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    frames: Frames | None = None,
) -> int:
    """Return the number of the first selected frame. `selected` is the value that `select_frames` returned."""
    if selected is None or source.is_growing:
        return index(start or 0)
    if frames is not None:
        return int(selected.numbers()[0])
    return slice(start, stop, step).indices(source.n_frames)[0]


def refuse_growing(source: Source, what: str) -> None:
    """Reject a growing trajectory for an option that needs to know the number of frames.

    Parameters
    ----------
    source : Source
        The trajectory.
    what : str
        Name of the option, in the plural, for the message.

    Raises
    ------
    UnsupportedError
        If the trajectory is still growing.
    """
    if source.is_growing:
        message = f"{what} need the number of frames, which is unknown for a growing trajectory"
        raise UnsupportedError(message, path=source_name(source))


def _arriving(source: Source, start: int, stop: int | None, step: int) -> FrameSet:
    if min(start, step, 0 if stop is None else stop) < 0:
        refuse_growing(source, "negative start, stop and step")
    if stop is None:
        return FrameSet.endless(start, step)
    if start >= stop:
        raise FrameIndexError(f"no frame is left of start={start}, stop={stop}, step={step}", path=source_name(source))
    return FrameSet.range(start, step, len(range(start, stop, step)))


def _listed(source: Source, frames: NDArray[np.generic]) -> FrameSet:
    locate(source)
    n_frames = source.n_frames
    if frames.ndim != 1 or frames.size == 0:
        raise FrameIndexError(f"frames must be a list of frame numbers or a mask, got an array of shape {frames.shape}")
    if frames.dtype == np.bool_:
        check_end(source)
        if len(frames) != n_frames:
            raise MismatchError(f"a mask of {len(frames)} frames was given, but the trajectory has {n_frames} frames")
        if not frames.any():
            raise FrameIndexError(f"the mask selects none of the {n_frames} frames", path=source_name(source))
        return FrameSet.list(np.flatnonzero(frames).astype(np.uint64))
    if not np.issubdtype(frames.dtype, np.integer):
        raise ArgumentError(f"frames must be integers, or a mask of True and False, not an array of {frames.dtype}")
    numbers = frames.astype(np.int64)
    outside = (numbers < -n_frames) | (numbers >= n_frames)
    if (numbers < 0).any() or outside.any():
        check_end(source)
    if outside.any():
        wrong = numbers[outside][0]
        message = f"frame {wrong} does not exist: the trajectory has {n_frames} frames, 0 to {n_frames - 1}"
        error = FrameIndexError(message, path=source_name(source))
        error.frame = int(wrong)
        raise error
    return FrameSet.list(np.where(numbers < 0, numbers + n_frames, numbers).astype(np.uint64))
