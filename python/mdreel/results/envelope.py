"""Reduction of long time series to a few points for plotting."""

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]


def envelope(x: Series, values: Series, n_bins: int) -> tuple[Series, Series, Series]:
    """Return the lowest and the highest value in each of `n_bins` segments of consecutive frames.

    Parameters
    ----------
    x : ndarray, shape (n,), float64
        Abscissae.
    values : ndarray, shape (n,), float64
        Values at the abscissae.
    n_bins : int
        Number of segments, at most n. The lengths of the segments differ by at most one frame.

    Returns
    -------
    tuple of ndarray, each of shape (n_bins,), float64
        The midpoint, the lowest value and the highest value of each segment.
    """
    starts = np.linspace(0, len(values), n_bins + 1).astype(np.int64)
    middle = (x[starts[:-1]] + x[starts[1:] - 1]) / 2
    return middle, np.fmin.reduceat(values, starts[:-1]), np.fmax.reduceat(values, starts[:-1])


def running_median(x: Series, values: Series, window: int, n_points: int = 1_000) -> tuple[Series, Series]:
    """Return the running median, evaluated at no more than `n_points` windows.

    Parameters
    ----------
    x : ndarray, shape (n,), float64
        Abscissae.
    values : ndarray, shape (n,), float64
        Values at the abscissae.
    window : int
        Number of frames in a window. It must be odd and at most n.
    n_points : int
        Maximum number of windows to evaluate.

    Returns
    -------
    tuple of ndarray, each of shape (at most n_points,), float64
        The midpoint of each window, and the median of the values in the window.

    Notes
    -----
    The cost is proportional to ``n_points * window`` and independent of the length of the series.
    """
    windows = np.lib.stride_tricks.sliding_window_view(values, window)
    stride = max(-(-len(windows) // n_points), 1)
    medians = np.array([np.median(one) for one in windows[::stride]])
    return x[window // 2 :][: len(windows) : stride], medians
