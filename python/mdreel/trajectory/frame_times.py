"""Missing, repeated and unordered times of a trajectory."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# A gap is longer than this multiple of the usual interval. A missing frame doubles the interval; rounding of times to
# float32 changes it slightly.
GAP = 1.5


@dataclass(frozen=True)
class Intervals:
    """Properties of the time intervals between frames.

    Attributes
    ----------
    usual : float or None
        Median of the positive intervals, in ps, or None if no interval is positive.
    shortest, longest : float or None
        Shortest and longest interval between consecutive frames, in ps, or None for fewer than two frames.
    gaps : ndarray, shape (n_gaps,), int64
        Frames that follow the previous frame by more than 1.5 times the usual interval.
    repeated : ndarray, shape (n_repeated,), int64
        Frames with the same time as the previous frame.
    backward : ndarray, shape (n_backward,), int64
        Frames with an earlier time than the previous frame.
    """

    usual: float | None
    shortest: float | None
    longest: float | None
    gaps: NDArray[np.int64]
    repeated: NDArray[np.int64]
    backward: NDArray[np.int64]


def intervals(times: NDArray[np.float64]) -> Intervals:
    """Return the properties of the time intervals of a trajectory.

    Parameters
    ----------
    times : ndarray, shape (n_frames,), float64
        Times of all frames in ps.

    Returns
    -------
    Intervals
        The properties. Frames are counted from 0.
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
