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
    """Return the frames to be written.

    Parameters
    ----------
    source : Source
        The trajectory.
    start, stop, step : int, optional
        As of a Python slice.
    frames : array_like, shape (n_frames,), int, optional
        Which frames, in which order; instead of `start`, `stop` and `step`.

    Returns
    -------
    FrameSet
        The frames; all of them are located.

    Raises
    ------
    FrameIndexError, MismatchError
        As `mdreel.execution.blocks.select_frames`.
    FormatError
        If the frames reach the end of the trajectory, and there is a torn frame.
    UnsupportedError
        If the trajectory grows.
    """
    refuse_growing(source, "conversions")
    selected = select_frames(source, start, stop, step, frames)
    if selected is None:
        source.check_end()
        selected = FrameSet.range(0, 1, source.n_frames)
    return selected
