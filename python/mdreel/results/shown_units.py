"""Units for the lengths and times in tables, summaries and figures."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from mdreel.results.column import Column

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

LENGTHS = {"Å": 0, "A": 0, "angstrom": 0, "nm": -1}
"""Length units, and the power of ten by which a value in Å is multiplied."""

TIMES = {"ps": 0, "ns": -3, "us": -6}
"""Time units, and the power of ten by which a value in ps is multiplied."""

# Powers of length and time in each unit.
_DIMENSIONS = {
    "Å": (1, 0),
    "Å^2": (2, 0),
    "Å²": (2, 0),
    "Å^-3": (-3, 0),
    "Å⁻³": (-3, 0),
    "Å²/ps": (2, -1),
    "ps": (0, 1),
}
# Figures choose the unit of their time axis themselves: the power of ten by which one in ps was multiplied.
_OF_AXES = {"ps": 0, "ns": -3, "µs": -6, "ms": -9}

_NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
_UNIT = "|".join(re.escape(unit) for unit in sorted(_DIMENSIONS, key=len, reverse=True))
_NUMBERS = rf"(?<![\d.,-]){_NUMBER}(?:(?: to | and | ± | x ){_NUMBER})*"
_AMOUNT = re.compile(rf"(?P<numbers>{_NUMBERS})(?P<blanks> +)(?P<unit>{_UNIT})(?![\w^²/⁻])")
_LABEL = re.compile(r"\((?P<unit>[^()]+)\)$")


@dataclass(frozen=True)
class ShownUnits:
    """Length and time units in which results are shown. The results themselves are in Å and ps.

    Attributes
    ----------
    length : str
        One of `LENGTHS`.
    time : str or None
        One of `TIMES`. If None, times are in ps, except in figures, where the unit depends on the range of the times.

    Examples
    --------
    >>> import numpy as np
    >>> from mdreel.results import Column
    >>> from mdreel.results.shown_units import ShownUnits
    >>> units = ShownUnits("nm", "ns")
    >>> units.text("RMSD highest      1.317 Å  at 10 ps")
    'RMSD highest      0.1317 nm  at 0.01 ns'
    >>> units.column(Column("time", "ps", np.array([1500.0]))).heading
    'time_ns'
    """

    length: str = "Å"
    time: str | None = None

    @property
    def is_default(self) -> bool:
        """Whether results are shown in their original units."""
        return LENGTHS[self.length] == 0 and self.time is None

    def columns(self, columns: Sequence[Column]) -> list[Column]:
        """Return the columns of a table in these units."""
        return [self.column(column) for column in columns]

    def column(self, column: Column) -> Column:
        """Return a column in these units."""
        if column.unit not in _DIMENSIONS or column.is_text:
            return column
        unit, power = self._shown(column.unit)
        values = column.values.astype(np.float64)
        # A division is rounded once; a power such as 0.1 would be rounded before.
        return Column(column.name, unit, values * 10.0**power if power >= 0 else values / 10.0**-power)

    def text(self, text: str) -> str:
        """Convert the quantities in a text, such as ``1.317 Å`` or ``0 to 10 ps``, to these units, digit by digit."""
        return _AMOUNT.sub(self._amount, text)

    def figure(self, figure: "Figure") -> "Figure":
        """Convert the axis labels and the numbers on the axes of a figure to these units, and return the figure."""
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                label = axis.get_label_text()
                match = _LABEL.search(label)
                if match is None or match["unit"] not in (*_DIMENSIONS, *_OF_AXES):
                    continue
                unit, power = self._of_axis(match["unit"])
                axis.set_label_text(f"{label[: match.start()]}({unit})")
                if power:
                    _scale_numbers(axis, power)
        return figure

    def _shown(self, unit: str) -> tuple[str, int]:
        """Return the unit that replaces one of `_DIMENSIONS`, and the power of ten for its values."""
        length, time = _DIMENSIONS[unit]
        shown_time = self.time or "ps"
        power = length * LENGTHS[self.length] + time * TIMES[shown_time]
        name = unit.replace("ps", shown_time)
        return (name.replace("Å", self.length) if LENGTHS[self.length] else name), power

    def _of_axis(self, unit: str) -> tuple[str, int]:
        if unit in _OF_AXES and self.time is not None:
            return ("µs" if self.time == "us" else self.time), TIMES[self.time] - _OF_AXES[unit]
        return self._shown(unit) if unit in _DIMENSIONS else (unit, 0)

    def _amount(self, match: re.Match[str]) -> str:
        unit, power = self._shown(match["unit"])
        if power == 0:
            return match[0]
        numbers = re.sub(_NUMBER, lambda number: _scaled(number[0], power), match["numbers"])
        return f"{numbers}{match['blanks']}{unit}"


def _scaled(number: str, power: int) -> str:
    """Return a number times a power of ten, with the same digits."""
    value = Decimal(number.replace(",", "")).scaleb(power)
    if "." not in number:
        value = value.normalize()
    return f"{value:,f}"


def _scale_numbers(axis: "Axis", power: int) -> None:
    """Multiply the numbers on an axis by a power of ten. The ticks are not moved, because they remain round numbers."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{Decimal(f'{value:.10g}').scaleb(power).normalize():,f}"))
