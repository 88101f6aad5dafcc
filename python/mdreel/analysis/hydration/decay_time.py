"""Decay times of correlation functions."""

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MdreelWarning, MismatchError
from mdreel.foundation.stack_level import caller_level

DecayMethod = Literal["exponential", "integral"]
"""How a decay time is determined."""

_FEWEST = 3  # values of a fit
_DECAYED = 0.05  # value at which the rest of an integral is negligible


def decay_time(
    times: NDArray[np.float64],
    values: NDArray[np.float64],
    method: DecayMethod,
    begin: float | None = None,
    end: float | None = None,
) -> float:
    """Return the time in which a correlation function decays.

    Parameters
    ----------
    times : ndarray, shape (n_lags,), float64
        Lag times in ps, starting with 0.
    values : ndarray, shape (n_lags,), float64
        Values, which are 1 for the first lag time. NaN stands for an unknown value.
    method : {"exponential", "integral"}
        Fit of an exponential function, or integral.
    begin, end : float, optional
        First and last lag time in ps to use. By default, all lag times are used.

    Returns
    -------
    float
        ``tau`` in ps, from a fit of ``A exp(-t / tau)`` or the integral over t by the trapezoidal rule. The fit is a
        linear least-squares fit of the logarithms of the positive values, weighted by the squares of the values.

    Raises
    ------
    MismatchError
        If the method is unknown, if too few values are in the range, or if the values do not decay.

    Warns
    -----
    MdreelWarning
        If more than 5 % are left at the end of the integral.
    """
    if method not in ("exponential", "integral"):
        raise MismatchError(f"method must be 'exponential' or 'integral', not {method!r}")
    first, last = 0.0 if begin is None else begin, np.inf if end is None else end
    is_used = np.isfinite(values) & (times >= first) & (times <= last)
    if method == "exponential":
        is_used &= values > 0
    x, y = times[is_used], values[is_used]
    if len(x) < _FEWEST:
        found = f"{len(x)} values from {first:g} to {last:g} ps" if begin or end else f"{len(x)} values"
        raise MismatchError(f"a decay time needs {_FEWEST} values or more, got {found}: raise tau_max")
    if method == "integral":
        if y[-1] > _DECAYED:
            message = f"{y[-1]:.0%} are left after {x[-1]:g} ps, so the integral is too small: raise tau_max"
            warnings.warn(message, MdreelWarning, stacklevel=caller_level())
        return float(np.trapezoid(y, x))
    weights = y**2
    centre = (weights * x).sum() / weights.sum()
    logarithms = np.log(y)
    slope = (weights * (x - centre) * logarithms).sum() / (weights * (x - centre) ** 2).sum()
    if not slope < 0:
        raise MismatchError(
            f"the values do not decay from {x[0]:g} to {x[-1]:g} ps: raise tau_max, or analyse more frames"
        )
    return float(-1 / slope)


def decay_line(name: str, compute: Callable[[], float]) -> str:
    """Return a line of text with a decay time. If there is no decay time, the text states the reason.

    Parameters
    ----------
    name : str
        Name of the time.
    compute : callable
        Function that returns the time in ps, such as `SurvivalProbability.residence_time`.
    """
    try:
        return f"{name:<20}{compute():>10,.4g} ps"
    except MismatchError as error:
        return f"{name:<20}{'unknown':>10}   {error}"
