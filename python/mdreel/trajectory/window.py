"""Time windows, similar to the options ``-b``, ``-e`` and ``-dt`` of GROMACS."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Source
from mdreel.errors import FrameIndexError, MdreelWarning, MismatchError
from mdreel.execution.shared_files import check_end, locate
from mdreel.foundation.stack_level import caller_level

# Times are stored as float32 in XTC files, and are products of a float32 in DCD files.
_RELATIVE_ERROR = 4 * float(np.finfo(np.float32).eps)


@dataclass(frozen=True)
class TimeWindow:
    """A window that contains the frames between two times, at a given interval.

    Attributes
    ----------
    begin, end : float or None
        First and last time in ps. Both are included. If None, there is no limit.
    interval : float or None
        Time between frames in ps. The window contains only frames whose time is the first time plus a multiple of the
        interval. If None, it contains all frames.

    Raises
    ------
    MismatchError
        If the interval is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from mdreel.trajectory.window import TimeWindow
    >>> TimeWindow(begin=2.0, end=8.0, interval=3.0).frames(np.arange(10.0))
    array([2, 5, 8])
    """

    begin: float | None = None
    end: float | None = None
    interval: float | None = None

    def __post_init__(self) -> None:
        """Check the interval."""
        if self.interval is not None and not self.interval > 0:
            raise MismatchError(f"the interval must be more than 0 ps, not {self.interval:g}")

    @property
    def is_open(self) -> bool:
        """Whether the window has no limit."""
        return self.begin is self.end is self.interval is None

    def frames(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the frames in the window, given the times of all frames.

        Parameters
        ----------
        times : ndarray, shape (n_frames,), float64
            Times of all frames in ps.

        Returns
        -------
        ndarray, shape (n_wanted,), int64
            Frame numbers in ascending order.

        Raises
        ------
        FrameIndexError
            If no frame is in the window.

        Warns
        -----
        MdreelWarning
            If frames are left out, and the other ones are further apart than the interval.

        Notes
        -----
        As in GROMACS, intervals are counted from the time of the first frame at or after `begin`. Times are compared
        within the precision of float32, but the tolerance is always less than half the usual interval between frames.
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
            near = frames[off <= tolerance[frames]]
            self._warn_of_wide_intervals(times[near], len(frames))
            frames = near
        if len(frames) == 0:
            if self.begin is not None and self.end is not None and self.end < self.begin:
                raise FrameIndexError(f"the end, {self.end:g} ps, is earlier than the begin, {self.begin:g} ps")
            held = f"it has frames from {times[0]:g} to {times[-1]:g} ps" if len(times) else "it has no frames"
            raise FrameIndexError(f"no frame of the trajectory lies in the time window: {held}")
        return frames

    def _warn_of_wide_intervals(self, times: NDArray[np.float64], n_in_window: int) -> None:
        """Warn if frames are left out, and the other ones are further apart than the interval."""
        spacing = _spacing(times)
        if self.interval is not None and len(times) < n_in_window and 1.01 * self.interval < spacing < np.inf:
            warnings.warn(
                f"the chosen frames are {spacing:g} ps apart, not {self.interval:g} ps: few frames lie at multiples of "
                "the interval; choose a multiple of the time between frames, or a step in frames",
                MdreelWarning,
                stacklevel=caller_level(),
            )

    def reaches_the_end(self, times: NDArray[np.float64]) -> bool:
        """Return whether a frame after the last of `times` (in ps) could be in the window."""
        return self.end is None or not len(times) or self.end > times[-1] + abs(times[-1]) * _RELATIVE_ERROR


def frames_in_window(source: Source, window: TimeWindow) -> NDArray[np.int64] | None:
    """Return the frames of a trajectory in a time window.

    Parameters
    ----------
    source : Source
        The trajectory, opened with `mdreel.open`.
    window : TimeWindow
        The window.

    Returns
    -------
    ndarray, shape (n_wanted,), int64, or None
        Frame numbers in ascending order, or None if the window has no limit.

    Raises
    ------
    FrameIndexError
        If no frame is in the window.
    FormatError
        If the file ends with an incomplete frame that could be in the window.
    """
    if window.is_open:
        return None
    locate(source)
    times = source.times()
    if window.reaches_the_end(times):
        check_end(source)
    return window.frames(times)


def _spacing(times: NDArray[np.float64]) -> float:
    """Return the median time between two frames."""
    steps = np.abs(np.diff(times))
    steps = steps[steps > 0]
    return float(np.median(steps)) if len(steps) else np.inf
