"""Diffusion coefficients from mean square displacements."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MismatchError

_FIRST, _LAST = 0.1, 0.9  # default range of the fit, as shares of the longest lag time
_FEWEST = 4  # points, two for each half of the range


@dataclass(frozen=True)
class Diffusion:
    """A diffusion coefficient and the line from which it was determined.

    Attributes
    ----------
    coefficient : float
        Diffusion coefficient in Å^2/ps (1 Å^2/ps = 1e-4 cm^2/s).
    error : float
        Difference in Å^2/ps between the coefficients for the two halves of the fitted range.
    slope : float
        Slope of the line in Å^2/ps.
    intercept : float
        Intercept of the line in Å^2.
    begin, end : float
        Range of lag times used for the fit, in ps.
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
        Lag times in ps.
    displacements : ndarray, shape (n_lags,), float64
        Mean square displacements in Å^2.
    n_dimensions : int
        Number of dimensions of the displacements.
    begin, end : float, optional
        First and last lag time of the fit in ps. The defaults are 10 % and 90 % of the longest lag time.

    Returns
    -------
    Diffusion
        ``D = slope / (2 n_dimensions)`` (Einstein 1905), from a least-squares fit.

    Raises
    ------
    MismatchError
        If there are fewer than 4 lag times in the range.
    """
    begin = _FIRST * float(times[-1]) if begin is None else begin
    end = _LAST * float(times[-1]) if end is None else end
    chosen = np.flatnonzero((times >= begin) & (times <= end))
    if len(chosen) < _FEWEST:
        found = f"the fit needs {_FEWEST} lag times from {begin:g} to {end:g} ps, got {len(chosen)}"
        raise MismatchError(f"{found}: fit between 0 and {times[-1]:g} ps, or analyse more frames")
    x, y = times[chosen], displacements[chosen]
    half = len(x) // 2
    slope, intercept = np.polyfit(x, y, 1).tolist()
    halves = [np.polyfit(x[part], y[part], 1)[0] for part in (slice(half), slice(half, None))]
    per_slope = 1 / (2 * n_dimensions)
    return Diffusion(
        slope * per_slope, float(abs(halves[1] - halves[0])) * per_slope, slope, intercept, float(x[0]), float(x[-1])
    )
