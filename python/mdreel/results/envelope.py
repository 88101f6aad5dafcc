"""Reduction of long series to the points that a plot shows."""

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]


def envelope(x: Series, values: Series, n_bins: int) -> tuple[Series, Series, Series]:
    """Return the lowest and the highest value in each of `n_bins` stretches of neighbouring frames.

    Parameters
    ----------
    x : ndarray, shape (n,), float64
        Abscissae.
    values : ndarray, shape (n,), float64
        Values at them.
    n_bins : int
        Number of stretches, at most n; they differ by at most one frame in length.

    Returns
    -------
    tuple of ndarray, each of shape (n_bins,), float64
        The abscissa in the middle of each stretch, its lowest and its highest value.
    """
    starts = np.linspace(0, len(values), n_bins + 1).astype(np.int64)
    middle = (x[starts[:-1]] + x[starts[1:] - 1]) / 2
    return middle, np.fmin.reduceat(values, starts[:-1]), np.fmax.reduceat(values, starts[:-1])


def running_median(x: Series, values: Series, window: int, n_points: int = 1_000) -> tuple[Series, Series]:
    """Return the median over windows of neighbouring frames, at most at `n_points` windows.

    Parameters
    ----------
    x : ndarray, shape (n,), float64
        Abscissae.
    values : ndarray, shape (n,), float64
        Values at them.
    window : int
        Frames in a window, odd and at most n.
    n_points : int
        Most windows to look at.

    Returns
    -------
    tuple of ndarray, each of shape (at most n_points,), float64
        The abscissa in the middle of each window, and the median of its values.

    Notes
    -----
    Costs ``n_points * window``, whatever the length of the series.
    """
    windows = np.lib.stride_tricks.sliding_window_view(values, window)
    stride = max(-(-len(windows) // n_points), 1)
    medians = np.array([np.median(one) for one in windows[::stride]])
    return x[window // 2 :][: len(windows) : stride], medians
