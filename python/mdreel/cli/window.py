"""The part of a trajectory that is wanted: from, to, and how often; in frames or in ps."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import FrameIndexError

# Times are stored as float32 in XTC files, and are products of a float32 in DCD files.
_RELATIVE_ERROR = 4 * float(np.finfo(np.float32).eps)


@dataclass(frozen=True)
class TimeWindow:
    """First time, last time and interval in ps, as GROMACS's -b, -e and -dt.

    Attributes
    ----------
    begin, end : float or None
        First and last time (both included), ps; None for no limit.
    interval : float or None
        Only frames at the first time plus multiples of it, ps; None for all frames.
    """

    begin: float | None
    end: float | None
    interval: float | None

    @property
    def is_open(self) -> bool:
        """Whether there is no limit at all."""
        return self.begin is self.end is self.interval is None

    def frames(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the frames in the window.

        Parameters
        ----------
        times : ndarray, shape (n_frames,), float64
            Times of all frames, ps.

        Returns
        -------
        ndarray, shape (n_wanted,), int64
            Frame numbers, ascending.

        Raises
        ------
        FrameIndexError
            If no frame is in the window.

        Notes
        -----
        The first time of which an interval counts is that of the first frame from `begin` on, as in GROMACS.
        Times are compared with the tolerance of their float32 origin, but never so loosely that two neighbouring
        frames would be confused.
        """
        tolerance = np.minimum(np.abs(times) * _RELATIVE_ERROR + 1e-6, 0.49 * _spacing(times))
        wanted = np.ones(len(times), dtype=bool)
        if self.begin is not None:
            wanted &= times >= self.begin - tolerance
        if self.end is not None:
            wanted &= times <= self.end + tolerance
        frames = np.flatnonzero(wanted)
        if self.interval is not None and len(frames):
            since = times[frames] - times[frames[0]]
            off = np.abs(since - np.round(since / self.interval) * self.interval)
            frames = frames[off <= tolerance[frames]]
        if len(frames) == 0:
            held = f"it has frames from {times[0]:g} to {times[-1]:g} ps" if len(times) else "it has no frames"
            raise FrameIndexError(f"no frame of the trajectory lies in the time window: {held}")
        return frames

    def reaches_the_end(self, times: NDArray[np.float64]) -> bool:
        """Whether a frame after the last of `times`, shape (n_frames,), float64, ps, could lie in the window."""
        return self.end is None or not len(times) or self.end > times[-1] + abs(times[-1]) * _RELATIVE_ERROR


def _spacing(times: NDArray[np.float64]) -> float:
    """The usual distance of two frames in time."""
    steps = np.abs(np.diff(times))
    steps = steps[steps > 0]
    return float(np.median(steps)) if len(steps) else np.inf
