"""Missing, repeated and unordered times of a trajectory."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# An interval so many times the usual one is a gap. Frames that are missing make it at least twice as long; times are
# rounded to float32 in files, which makes it a little longer or shorter.
GAP = 1.5


@dataclass(frozen=True)
class Intervals:
    """How the times of frames follow one another.

    Attributes
    ----------
    usual : float or None
        Median of the intervals that go forward, ps; None if there are none.
    shortest, longest : float or None
        Least and largest difference of the times of two frames in a row, ps; None for fewer than two frames.
    gaps : ndarray, shape (n_gaps,), int64
        Frames that come more than 1.5 usual intervals after the frame before them.
    repeated : ndarray, shape (n_repeated,), int64
        Frames that have the time of the frame before them.
    backward : ndarray, shape (n_backward,), int64
        Frames that have an earlier time than the frame before them: the trajectory overlaps itself.
    """

    usual: float | None
    shortest: float | None
    longest: float | None
    gaps: NDArray[np.int64]
    repeated: NDArray[np.int64]
    backward: NDArray[np.int64]


def intervals(times: NDArray[np.float64]) -> Intervals:
    """Look at the times of all frames.

    Parameters
    ----------
    times : ndarray, shape (n_frames,), float64
        ps.

    Returns
    -------
    Intervals
        What was found; frames are counted from 0.
    """
    steps = np.diff(times)
    forward = steps[steps > 0]
    usual = float(np.median(forward)) if forward.size else None

    def where(condition: NDArray[np.bool_]) -> NDArray[np.int64]:
        return (np.flatnonzero(condition) + 1).astype(np.int64)

    none = np.zeros(0, np.int64)
    return Intervals(
        usual=usual,
        shortest=float(steps.min()) if steps.size else None,
        longest=float(steps.max()) if steps.size else None,
        gaps=none if usual is None else where(steps > GAP * usual),
        repeated=where(steps == 0),
        backward=where(steps < 0),
    )
