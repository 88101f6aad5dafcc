"""Choice of frames, and blocks of them."""

from collections.abc import Sequence
from operator import index
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Source
from mdreel.errors import FrameIndexError, MismatchError, UnsupportedError
from mdreel.execution.source_name import name_of

Frames: TypeAlias = Sequence[int] | Sequence[bool] | NDArray[np.integer] | NDArray[np.bool_]
"""Frame numbers, or a mask with one value for each frame."""


def select_frames(
    source: Source,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    frames: Sequence[int] | Sequence[bool] | NDArray[np.integer] | NDArray[np.bool_] | None = None,
) -> FrameSet | None:
    """Say which frames of a trajectory are meant.

    Parameters
    ----------
    source : Source
        The trajectory.
    start, stop, step : int, optional
        As of a Python slice: 0-based, half-open, counted from the end where negative.
    frames : array_like, shape (n_wanted,), int, or shape (n_frames,), bool, optional
        Frame numbers in any order (counted from the end where negative), or which frames are wanted.

    Returns
    -------
    FrameSet or None
        The frames; None for all frames of a trajectory whose frames have not been located, which is then read in the
        same pass. Of a trajectory that grows, those that may come.

    Raises
    ------
    FrameIndexError
        If a frame does not exist, or none is left.
    MismatchError
        If frames are given in both ways, or a mask has another length than the trajectory.
    FormatError
        If the frames reach the end of the trajectory, and there is a torn frame.
    UnsupportedError
        If the trajectory grows, and the frames depend on how many there will be.
    """
    if frames is not None:
        if any(limit is not None for limit in (start, stop, step)):
            raise MismatchError("give either frames or start, stop and step, not both")
        refuse_growing(source, "frames chosen one by one")
        return _listed(source, np.asarray(frames))
    start, stop, step = (limit if limit is None else index(limit) for limit in (start, stop, step))
    if step == 0:
        raise FrameIndexError("a step of 0 gives no frames")
    if source.is_growing:
        return _arriving(source, start or 0, stop, 1 if step is None else step)
    if start in (None, 0) and stop is None and step in (None, 1) and not source.is_located:
        return None
    n_frames = source.n_frames
    if stop is None or stop > n_frames or min(start or 0, stop) < 0:
        source.check_end()
    selected = range(*slice(start, stop, step).indices(n_frames))
    if n_frames == 0:
        raise FrameIndexError(f"{name_of(source)}: the trajectory has 0 frames")
    if not selected:
        asked = f"start={start}, stop={stop}, step={step}"
        raise FrameIndexError(f"{name_of(source)}: no frame is left of {asked}: the trajectory has {n_frames} frames")
    if selected.step > 0:
        return FrameSet.range(selected.start, selected.step, len(selected))
    return FrameSet.list(np.arange(selected.start, selected.stop, selected.step).astype(np.uint64))


def refuse_growing(source: Source, what: str) -> None:
    """Refuse a trajectory that grows where it must be known how many frames there are.

    Parameters
    ----------
    source : Source
        The trajectory.
    what : str
        What needs the number of frames.

    Raises
    ------
    UnsupportedError
        If it grows.
    """
    if source.is_growing:
        message = f"{what} need the number of frames, which nobody knows of a trajectory that grows"
        raise UnsupportedError(f"{name_of(source)}: {message}")


def _arriving(source: Source, start: int, stop: int | None, step: int) -> FrameSet:
    if min(start, step, 0 if stop is None else stop) < 0:
        refuse_growing(source, "negative start, stop and step")
    if stop is None:
        return FrameSet.endless(start, step)
    if start >= stop:
        raise FrameIndexError(f"{name_of(source)}: no frame is left of start={start}, stop={stop}, step={step}")
    return FrameSet.range(start, step, len(range(start, stop, step)))


def _listed(source: Source, frames: NDArray[np.generic]) -> FrameSet:
    n_frames = source.n_frames
    if frames.ndim != 1 or frames.size == 0:
        raise FrameIndexError(f"frames must be a list of frame numbers or a mask, got an array of shape {frames.shape}")
    if frames.dtype == np.bool_:
        source.check_end()
        if len(frames) != n_frames:
            raise MismatchError(f"a mask of {len(frames)} frames was given, but the trajectory has {n_frames} frames")
        if not frames.any():
            raise FrameIndexError(f"{name_of(source)}: the mask leaves no frame of the {n_frames} frames")
        return FrameSet.list(np.flatnonzero(frames).astype(np.uint64))
    if not np.issubdtype(frames.dtype, np.integer):
        raise TypeError(f"frame numbers must be integers, got {frames.dtype}")
    numbers = frames.astype(np.int64)
    outside = (numbers < -n_frames) | (numbers >= n_frames)
    if (numbers < 0).any() or outside.any():
        source.check_end()
    if outside.any():
        wrong = numbers[outside][0]
        raise FrameIndexError(f"{name_of(source)}: frame {wrong} does not exist: the trajectory has {n_frames} frames")
    return FrameSet.list(np.where(numbers < 0, numbers + n_frames, numbers).astype(np.uint64))
