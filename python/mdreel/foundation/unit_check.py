"""Plausibility checks for lengths in Å and angles in degrees."""

import math
import warnings

from mdreel.errors import MismatchError, UnitWarning
from mdreel.foundation.stack_level import caller_level


def check_length(name: str, value: float, *, empty: float, doubtful: float) -> float:
    """Return a length after checking that it is plausible in Å.

    Parameters
    ----------
    name : str
        Name of the parameter, for messages.
    value : float
        The length, in Å.
    empty : float
        Lengths up to this value, in Å, cannot give any results.
    doubtful : float
        Lengths below this value, in Å, were probably given in nm.

    Returns
    -------
    float
        The length.

    Raises
    ------
    MismatchError
        If the length cannot give any results, is not positive, or is not a number.

    Warns
    -----
    UnitWarning
        If the length was probably given in nm.
    """
    value = float(value)
    if not value > empty:
        hint = f"; {_in_angstrom(value)}" if value > 0 else ""
        raise MismatchError(f"{name} must be more than {empty:g} Å, not {value:g}: atoms are never that close{hint}")
    if value < doubtful:
        _warn(f"{name} is {value:g} Å, which is less than the distance between two atoms; {_in_angstrom(value)}")
    return value


def check_radius(name: str, value: float, *, doubtful: float) -> float:
    """Return the radius of an atom or a probe after checking it. It can be 0; see `check_length`."""
    value = float(value)
    if not value >= 0:
        raise MismatchError(f"{name} must be 0 Å or more, not {value:g}")
    if 0 < value < doubtful:
        _warn(f"{name} is {value:g} Å, which is smaller than an atom; {_in_angstrom(value)}")
    return value


def check_angle(name: str, value: float) -> float:
    """Return a lower limit for the angle between three atoms, in degrees, after checking it.

    Raises
    ------
    MismatchError
        If no angle can exceed the limit, or if the limit is not a number.

    Warns
    -----
    UnitWarning
        If the angle was probably given in radians.
    """
    value = float(value)
    if not value < 180:
        raise MismatchError(f"{name} must be less than 180 degrees, not {value:g}: no angle exceeds it")
    if 0 < value <= math.pi:
        in_degrees = f"{value:g} radians are {math.degrees(value):.4g} degrees"
        _warn(
            f"{name} is {value:g} degrees, which nearly all angles exceed; the unit of mdreel is degrees: {in_degrees}"
        )
    return value


def _in_angstrom(value: float) -> str:
    return f"the unit of mdreel is Å: {value:g} nm are {10 * value:g} Å"


def _warn(text: str) -> None:
    warnings.warn(text, UnitWarning, stacklevel=caller_level())
