"""Diffusion coefficients from mean square displacements."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MismatchError

_FIRST, _LAST = 0.1, 0.9  # of the times, where nobody says
_FEWEST = 4  # points: two for each half


@dataclass(frozen=True)
class Diffusion:
    """A line through mean square displacements.

    Attributes
    ----------
    coefficient : float
        Diffusion coefficient, Å^2/ps; 1 of them is 1e-4 cm^2/s.
    error : float
        How much those of the two halves of the range differ, Å^2/ps.
    slope : float
        Slope of the line, Å^2/ps.
    intercept : float
        Its value at time 0, Å^2.
    begin, end : float
        The range of times, ps.
    """

    coefficient: float
    error: float
    slope: float
    intercept: float
    begin: float
    end: float


def diffusion_of(
    times: NDArray[np.float64],
    displacements: NDArray[np.float64],
    n_dimensions: int,
    begin: float | None = None,
    end: float | None = None,
) -> Diffusion:
    """Fit a line to mean square displacements.

    Parameters
    ----------
    times : ndarray, shape (n_lags,), float64
        Times between the positions, ps.
    displacements : ndarray, shape (n_lags,), float64
        Mean square displacements, Å^2.
    n_dimensions : int
        How many coordinates they have.
    begin, end : float, optional
        First and last time of the fit, ps; by default 10 and 90 % of the longest.

    Returns
    -------
    Diffusion
        ``D = slope / (2 n_dimensions)`` (Einstein 1905), by least squares.

    Raises
    ------
    MismatchError
        If there are fewer than 4 times in the range.
    """
    begin = _FIRST * float(times[-1]) if begin is None else begin
    end = _LAST * float(times[-1]) if end is None else end
    chosen = np.flatnonzero((times >= begin) & (times <= end))
    if len(chosen) < _FEWEST:
        raise MismatchError(f"a line needs {_FEWEST} times from {begin:g} to {end:g} ps, there are {len(chosen)}")
    x, y = times[chosen], displacements[chosen]
    half = len(x) // 2
    slope, intercept = np.polyfit(x, y, 1).tolist()
    halves = [np.polyfit(x[part], y[part], 1)[0] for part in (slice(half), slice(half, None))]
    per_slope = 1 / (2 * n_dimensions)
    return Diffusion(
        slope * per_slope, float(abs(halves[1] - halves[0])) * per_slope, slope, intercept, float(x[0]), float(x[-1])
    )
