"""Survival probability of hydrogen bonds and other states."""

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
    """Compute which share of what is there in a frame is there in all frames up to a later one.

    Parameters
    ----------
    places, members : ndarray, shape (n_present,), int64
        In which frame, from 0, there is whom; in any order. Members are numbers of any kind.
    n_frames : int
        Number of frames.
    tau_max : int
        Most frames from the first to the last of a window.
    window_step : int
        Frames from the beginning of a window to that of the next.
    intermittency : int
        For how many frames in a row somebody may be away who comes back.

    Returns
    -------
    ndarray, shape (2, tau_max + 1), float64
        Frames between, from 0 to `tau_max`, and the shares; NaN where no window is as long that has anybody in it.

    Raises
    ------
    MismatchError
        If `tau_max` is more than the number of frames, or a number means nothing.

    Notes
    -----
    ``S(tau) = mean_t N(t, t + tau) / N(t)`` over t = 0, `window_step`, ..., where N(t) are those in frame t, and
    N(t, t + tau) those in all frames from t to t + tau.

    Who is there is sorted; then each is looked at once, and each window once for each tau. Memory: about 50 bytes for
    each that is there, for a while.
    """
    if not 0 <= tau_max <= n_frames:
        raise MismatchError(f"tau_max must be 0 to {n_frames:,}, the number of frames, not {tau_max:,}")
    if window_step < 1 or intermittency < 0:
        message = f"not {window_step} and {intermittency}"
        raise MismatchError(f"window_step must be 1 or more frames, intermittency 0 or more, {message}")
    at, remaining = _stays(places, members, n_frames, intermittency)
    begins_window = at % window_step == 0
    # How long a stay goes on beyond the longest window does not matter.
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


def _stays(
    places: NDArray[np.int64], members: NDArray[np.int64], n_frames: int, intermittency: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each frame of each stay, short absences filled in, which it is, and how many frames of it follow."""
    # One number for member and frame; from one member to the next it is farther than any absence that is filled in.
    width = n_frames + intermittency + 1
    names = _distinct(members)
    present = _distinct(np.searchsorted(names, members) * width + places)
    bounded = np.concatenate([[-width], present, [(len(names) + 1) * width]])
    is_apart = np.diff(bounded) > intermittency + 1
    first, last = present[is_apart[:-1]], present[is_apart[1:]]
    lengths = last - first + 1
    remaining = np.repeat(np.cumsum(lengths), lengths) - np.arange(1, lengths.sum() + 1)
    return np.repeat(last % width, lengths) - remaining, remaining


def _distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers in ascending order, each once; `numpy.unique` hashes them, which takes longer than to sort."""
    ordered = np.sort(numbers)
    distinct: NDArray[np.int64] = ordered[np.diff(ordered, prepend=ordered[:1] - 1) != 0]
    return distinct
