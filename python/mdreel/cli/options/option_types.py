"""Types of option values, whose error messages contain a remedy."""

import re
from typing import Any

import click

_WITH_UNIT = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-zµÅ°]+)")

_FACTORS = {
    "PS": {"fs": 1e-3, "ps": 1.0, "ns": 1e3, "us": 1e6, "µs": 1e6},
    "Å": {"pm": 1e-2, "A": 1.0, "Å": 1.0, "nm": 10.0},
    "SECONDS": {"ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0},
    "DEGREES": {"deg": 1.0, "degrees": 1.0, "°": 1.0},
}
"""Factors that convert other units to the units of options, by the metavars of the options."""

_NAMES = {"PS": "ps", "SECONDS": "seconds", "DEGREES": "degrees"}


class FilePath(click.Path):
    """The path of a file. An empty text, such as that of an unset variable of the shell, is an error."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if value == "":
            raise click.BadParameter("the name of the file is empty: give the path of a file", ctx, param)
        return super().convert(value, param, ctx)


class Number(click.types.FloatParamType):
    """A number in a given unit. For a value such as ``10ns``, the error message suggests the number to enter.

    Parameters
    ----------
    metavar : str or None
        Name of the value in the help text, which is the unit.
    """

    name = "number"

    def __init__(self, metavar: str | None) -> None:
        self.metavar = metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        _refuse_unit(value, self.metavar, param, ctx)
        return super().convert(value, param, ctx)


class NumberInRange(click.FloatRange):
    """A number in a given unit and within limits; see `Number`."""

    name = "number"

    def __init__(self, metavar: str | None, minimum: float | None, maximum: float | None) -> None:
        super().__init__(minimum, maximum)
        self.metavar = metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        _refuse_unit(value, self.metavar, param, ctx)
        return super().convert(value, param, ctx)


class WholeNumberInRange(click.IntRange):
    """A whole number within limits."""

    name = "whole number"


def _refuse_unit(value: Any, metavar: str | None, param: click.Parameter | None, ctx: click.Context | None) -> None:
    """Reject a number with a unit.

    Raises
    ------
    click.BadParameter
        If the value has a unit that can be converted to the unit of the option.
    """
    factors = _FACTORS.get(metavar or "", {})
    found = _WITH_UNIT.fullmatch(value.strip()) if isinstance(value, str) else None
    if metavar is not None and found is not None and found[2] in factors:
        unit = _NAMES.get(metavar, metavar)
        number = float(found[1]) * factors[found[2]]
        raise click.BadParameter(f"{value!r} has a unit: write the number of {unit}, {number:.10g}", ctx, param)
