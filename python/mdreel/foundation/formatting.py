"""Number formatting with three significant digits and a unit."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """A unit.

    Attributes
    ----------
    name : str
        Name of the unit.
    size : float
        Size in seconds, bytes or pieces.
    is_whole : bool
        Whether fractions of the unit are meaningless.
    """

    name: str
    size: float
    is_whole: bool = False


Units = tuple[Unit, ...]

SECONDS: Units = (Unit("s", 1.0), Unit("ms", 1e-3), Unit("µs", 1e-6), Unit("ns", 1e-9))
BYTES: Units = (Unit("TB", 1e12), Unit("GB", 1e9), Unit("MB", 1e6), Unit("kB", 1e3), Unit("B", 1.0))
BYTES_PER_SECOND: Units = tuple(Unit(f"{unit.name}/s", unit.size) for unit in BYTES)
FRAMES_PER_SECOND: Units = (
    Unit("million frames/s", 1e6),
    Unit("thousand frames/s", 1e3),
    Unit("frames/s", 1.0),
)
BLOCKS: Units = (Unit("blocks", 1.0, is_whole=True),)


def unit_of(largest: float, units: Units) -> Unit:
    """Return the largest of `units` that does not exceed an amount. For zero, return the plain unit."""
    if largest <= 0:
        return next(unit for unit in units if unit.size == 1.0)
    return next((unit for unit in units if largest >= unit.size), units[-1])


def amount(value: float, units: Units) -> str:
    """Format an amount in a suitable unit.

    Parameters
    ----------
    value : float
        The amount, in seconds, bytes or pieces.
    units : tuple of Unit
        Possible units, from the largest to the smallest.
    """
    unit = unit_of(abs(value), units)
    return f"{digits(value / unit.size)} {unit.name}"


def digits(value: float) -> str:
    """Format a number with three significant digits."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞"
    if abs(value) >= 999.5:
        return f"{round(value, 3 - len(str(int(abs(value))))):,.0f}"
    return f"{value:.3g}"


def counted(number: int, noun: str) -> str:
    """Format a number with its noun. An s is appended to the noun unless the number is one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """Format a share in percent. Positive shares below one percent are shown as less than one percent."""
    if not math.isfinite(share):
        return "–"
    return "< 1 %" if 0 < share < 0.005 else f"{100 * share:,.0f} %"
