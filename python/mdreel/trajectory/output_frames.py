"""Frames of an output trajectory."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Source
from mdreel.execution.blocks import refuse_growing, select_frames


def frames_of(
    source: Source,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    frames: Sequence[int] | NDArray[np.integer] | None = None,
) -> FrameSet:
    """Return the frames to write.

    Parameters
    ----------
    source : Source
        The trajectory.
    start, stop, step : int, optional
        Range of frames, as in a Python slice.
    frames : array_like, shape (n_frames,), int, optional
        Frame numbers in any order, instead of `start`, `stop` and `step`.

    Returns
    -------
    FrameSet
        The frames, all of which are contained in the frame index.

    Raises
    ------
    FrameIndexError, MismatchError
        See `mdreel.execution.blocks.select_frames`.
    FormatError
        If the frames extend to the end of the trajectory, and the last frame is incomplete.
    UnsupportedError
        If the trajectory is still growing.
    """
    refuse_growing(source, "conversions")
    selected = select_frames(source, start, stop, step, frames)
    if selected is None:
        source.check_end()
        selected = FrameSet.range(0, 1, source.n_frames)
    return selected
