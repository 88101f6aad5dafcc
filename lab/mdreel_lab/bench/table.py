"""Tables, written as Markdown and as CSV."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mdreel.foundation.formatting import digits

Value: TypeAlias = str | int | float

WRITTEN = "Written by `python -m mdreel_lab.bench.contests`; how it measures: [README](../README.md)."

DEVIATION = "±"
"""End of the heading of a column with the standard deviations of the previous column."""


@dataclass(frozen=True)
class Table:
    """A table of texts and numbers; NaN is an empty cell. In ``align`` an ``r`` aligns a column to the right."""

    name: str
    title: str
    headings: tuple[str, ...]
    rows: list[tuple[Value, ...]]
    align: str = ""

    @property
    def markdown(self) -> str:
        """The table as Markdown, numbers with three digits, each with its deviation."""
        kept = [i for i, heading in enumerate(self.headings) if not heading.endswith(DEVIATION)]
        lines = ["|".join("--:" if self.align[i : i + 1] == "r" else "---" for i in kept)]
        lines += [" " + " | ".join(self._cell(row, i) for i in kept) + " " for row in self.rows]
        lines.insert(0, " " + " | ".join(self.headings[i] for i in kept).lstrip() + " ")
        return "\n".join(f"|{line}|" for line in lines) + "\n"

    @property
    def csv(self) -> str:
        """The table as comma-separated values, every number in full."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.headings)
        writer.writerows([["" if is_nothing(value) else value for value in row] for row in self.rows])
        return text.getvalue()

    def _cell(self, row: tuple[Value, ...], i: int) -> str:
        """Write a value, with the deviation from the next column, if there is one."""
        deviation = row[i + 1] if i + 1 < len(row) and self.headings[i + 1].endswith(DEVIATION) else 0.0
        spread = "" if not deviation or is_nothing(deviation) else f" ± {short(deviation)}"
        return short(row[i]) + spread


def is_nothing(value: Value) -> bool:
    """Return whether a value is NaN, which tables leave empty."""
    return isinstance(value, float) and math.isnan(value)


def short(value: Value) -> str:
    """Write a number with three digits; a bar would end a cell."""
    if isinstance(value, str):
        return value.replace("|", "\\|")
    if is_nothing(value):
        return ""
    return f"{value:,.0f}" if isinstance(value, int) or value >= 1000 else digits(value)


def number(value: float) -> str:
    """Write a number with three digits, commas and no exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    """Return a table of texts as Markdown; see `Table.align`."""
    return Table("", "", tuple(headings), [tuple(row) for row in rows], align).markdown


VERDICTS = {None: "", True: "met", False: "**missed**"}
"""Texts in tables for goals that are met or missed; None stands for not measured."""


def aim_of(goal: Mapping[str, Any]) -> str:
    """Write the bound of a goal, which is an upper bound unless ``at_least`` is true."""
    return f"{'≥' if goal.get('at_least') else '≤'} {goal['bound']:g} {goal.get('unit', '')}".strip()


def machine(environment: Mapping[str, Any]) -> str:
    """Describe the commit, the machine and the versions of a measurement."""
    versions = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    return (
        f"Commit {environment['commit']}; {environment['cpu']}, {environment['n_cores']} cores, "
        f"{environment['memory_bytes'] / 2**30:.1f} GiB, {environment['kernel']}, Python {environment['python']}; "
        f"{versions}; page cache {environment['cache']}; load {environment['load']} at the start."
    )
