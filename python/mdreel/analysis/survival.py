"""Survival probability of members of a set over time."""

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MismatchError


def survival(
    places: NDArray[np.int64],
    members: NDArray[np.int64],
    n_frames: int,
    tau_max: int,
    window_step: int = 1,
    intermittency: int = 0,
) -> NDArray[np.float64]:
    """Return the survival probability of members as a function of the lag.

    Parameters
    ----------
    places, members : ndarray, shape (n_present,), int64
        Frame index, starting from 0, and member number of each occurrence, in any order. The member numbers are
        arbitrary.
    n_frames : int
        Number of frames.
    tau_max : int
        Longest window, in frames.
    window_step : int
        Number of frames between the starts of consecutive windows.
    intermittency : int
        Largest number of consecutive frames in which a member may be absent and still be considered present.

    Returns
    -------
    ndarray, shape (2, tau_max + 1), float64
        Lags from 0 to `tau_max` in frames, and the surviving fractions. A fraction is NaN if no window of this length
        contains a member.

    Raises
    ------
    MismatchError
        If `tau_max` exceeds the number of frames, or if another number is out of range.

    Notes
    -----
    The function is ``S(tau) = mean_t N(t, t + tau) / N(t)``, where t takes the values 0, `window_step`, 2 `window_step`
    and so on. N(t) is the number of members in frame t. N(t, t + tau) is the number of members that are present in all
    frames from t to t + tau.

    First, the occurrences are sorted. Then, each occurrence is visited once, and each window once for each lag. The
    function needs about 50 bytes of memory per occurrence.
    """
    if tau_max < 0:
        raise MismatchError(f"tau_max must be 0 or more frames, not {tau_max:,}")
    if tau_max > n_frames:
        message = f"tau_max must be at most {n_frames:,}, the number of frames, not {tau_max:,}"
        raise MismatchError(f"{message}: lower it, or analyse more frames")
    if window_step < 1 or intermittency < 0:
        message = f"not {window_step} and {intermittency}"
        raise MismatchError(f"window_step must be 1 or more frames, intermittency 0 or more, {message}")
    at, remaining = _stays(places, members, n_frames, intermittency)
    begins_window = at % window_step == 0
    # The length of a stay beyond the longest window does not matter.
    windows, remaining = at[begins_window] // window_step, np.minimum(remaining[begins_window], tau_max)
    order = np.argsort(remaining)
    leaving = np.split(windows[order], np.searchsorted(remaining[order], np.arange(1, tau_max + 1)))
    first_frames = np.arange(0, n_frames, window_step)
    there = np.bincount(windows, minlength=len(first_frames))
    left = there.copy()
    shares = np.ones(tau_max + 1)
    for tau in range(1, tau_max + 1):
        left -= np.bincount(leaving[tau - 1], minlength=len(first_frames))
        counts = (there > 0) & (first_frames + tau < n_frames)
        shares[tau] = (left[counts] / there[counts]).mean() if counts.any() else np.nan
    return np.vstack([np.arange(tau_max + 1), shares])


def mean_interval(times: NDArray[np.float64]) -> float:
    """Return the mean time between consecutive frames in ps, or 0 for a single frame."""
    return float(times[-1] - times[0]) / max(len(times) - 1, 1)


def _stays(
    places: NDArray[np.int64], members: NDArray[np.int64], n_frames: int, intermittency: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the frame index and the number of remaining frames for each frame of each stay, with gaps filled."""
    _, width, first, last = _runs(places, members, n_frames, intermittency)
    lengths = last - first + 1
    remaining = np.repeat(np.cumsum(lengths), lengths) - np.arange(1, lengths.sum() + 1)
    return np.repeat(last % width, lengths) - remaining, remaining


def stays(
    places: NDArray[np.int64], members: NDArray[np.int64], n_frames: int, intermittency: int = 0
) -> NDArray[np.int64]:
    """Return the stays of members, which are runs of frames in which a member is present.

    Parameters
    ----------
    places, members : ndarray, shape (n_present,), int64
        Frame index, starting from 0, and member number of each occurrence, in any order.
    n_frames : int
        Number of frames.
    intermittency : int
        Largest number of consecutive frames in which a member may be absent and still be considered present.

    Returns
    -------
    ndarray, shape (n_stays, 3), int64
        Member, index of the first frame, and number of frames, sorted by member and then by frame.
    """
    names, width, first, last = _runs(places, members, n_frames, intermittency)
    return np.stack([names[first // width], first % width, last - first + 1], axis=1)


def _runs(
    places: NDArray[np.int64], members: NDArray[np.int64], n_frames: int, intermittency: int
) -> tuple[NDArray[np.int64], int, NDArray[np.int64], NDArray[np.int64]]:
    """Return the members, the factor that combines member and frame, and the first and last key of each stay."""
    # Member and frame are combined into one number; different members are farther apart than any gap to be filled.
    width = n_frames + intermittency + 1
    names = _distinct(members)
    present = _distinct(np.searchsorted(names, members) * width + places)
    bounded = np.concatenate([[-width], present, [(len(names) + 1) * width]])
    is_apart = np.diff(bounded) > intermittency + 1
    return names, width, present[is_apart[:-1]], present[is_apart[1:]]


def _distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct numbers in ascending order, faster than `numpy.unique`, which hashes them."""
    ordered = np.sort(numbers)
    distinct: NDArray[np.int64] = ordered[np.diff(ordered, prepend=ordered[:1] - 1) != 0]
    return distinct
