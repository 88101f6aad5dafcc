"""Share of slow ranks, by the measure of Khoshlessan et al. (2019)."""

import math

import numpy as np
from numpy.typing import NDArray

SLOW = 2.0
"""Ratio to the fastest group above which a rank is slow."""

FASTEST = 0.1
"""Share of the ranks that form the fastest group, which has at least one rank."""


def slow_share(times: NDArray[np.float64]) -> float:
    """Return the share of ranks that take more than twice as long as the fastest group.

    Khoshlessan et al. (2019) denote such a rank as a straggler. They recognize the fastest group in figures. Here, it
    consists of the fastest tenth of the ranks, whose mean is the reference.

    Parameters
    ----------
    times : ndarray, shape (n_ranks,), float64
        Time of each rank, s.

    Returns
    -------
    float
        Share of the ranks, from 0 to 1; NaN without ranks.

    Examples
    --------
    >>> import numpy as np
    >>> from mdreel_lab.slow_ranks import slow_share
    >>> slow_share(np.array([20.0, 22.0, 60.0, 21.0]))
    0.25
    """
    if not len(times):
        return math.nan
    n_fastest = max(1, int(FASTEST * len(times)))
    fastest = float(np.sort(times)[:n_fastest].mean())
    return float((times > SLOW * fastest).mean())
