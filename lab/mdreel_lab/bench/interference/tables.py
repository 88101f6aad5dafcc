"""Tables of the experiment, made of its records."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdreel_lab.bench.interference.settings import BUSY, QUIET, SEPARATE, SHARED, Setting
from mdreel_lab.bench.measures import Spread
from mdreel_lab.bench.table import Table, Value

STRAGGLER = 1.5
"""A rank is a straggler if its own time is more than this multiple of the median."""

_PARTS = ("t_open", "t_io", "t_comp", "t_wait", "t_comm_wait", "t_transfer")


@dataclass(frozen=True)
class Cell:
    """The repeats of one setting."""

    setting: Setting
    records: Sequence[Mapping[str, Any]]

    def spread(self, quantity: Callable[[Mapping[str, Any]], float]) -> Spread:
        """Return mean and deviation of a quantity of a record over the repeats."""
        return Spread.of(quantity(record) for record in self.records)

    @property
    def total(self) -> Spread:
        """t_total, s."""
        return self.spread(lambda record: record["t_total"])

    def mean(self, name: str) -> float:
        """Return the mean of an observable over ranks and repeats, s."""
        return self.spread(lambda record: float(np.mean(record["observables"][name]))).mean

    @property
    def bytes_read(self) -> float:
        """Bytes that the hosts have received from the file system, in multiples of the size of the trajectory.

        It is NaN with a load or messages on the same link, whose bytes count as well.
        """
        if (self.setting.network, self.setting.load) != (SEPARATE, QUIET):
            return math.nan
        return self.spread(lambda one: sum(files for files, _ in one["received"].values()) / one["file_bytes"]).mean

    @property
    def slowest(self) -> Spread:
        """Own time of the slowest rank, in multiples of the median."""
        return self.spread(lambda record: slowest_of(record["observables"]["t_own"]))

    @property
    def n_stragglers(self) -> int:
        """Number of stragglers of all repeats."""
        return sum(n_stragglers_of(record["observables"]["t_own"]) for record in self.records)


def slowest_of(times: Sequence[float]) -> float:
    """Return the largest time in multiples of the median."""
    return float(np.max(times) / np.median(times))


def n_stragglers_of(times: Sequence[float]) -> int:
    """Return the number of times that are more than `STRAGGLER` times the median."""
    return int(np.sum(np.asarray(times) > STRAGGLER * np.median(times)))


def cells_of(records: Sequence[Mapping[str, Any]]) -> dict[Setting, Cell]:
    """Return the records by setting, in order of first occurrence."""
    found: dict[Setting, list[Mapping[str, Any]]] = {}
    for record in records:
        found.setdefault(Setting(**record["setting"]), []).append(record)
    return {setting: Cell(setting, several) for setting, several in found.items()}


def tables_of(page: Mapping[str, Any]) -> list[Table]:
    """Return all tables of the records of an experiment."""
    cells = cells_of(page["records"])
    return [_totals(cells), _components(cells)]


def _totals(cells: Mapping[Setting, Cell]) -> Table:
    """Return a row per way of reading and sending, with a column per link and load."""
    columns = [(network, load) for load in (QUIET, BUSY) for network in (SHARED, SEPARATE)]
    names = [f"{network} link{', busy' if load == BUSY else ''}" for network, load in columns]
    head = ["Workload", "Access", "Transfer", *(text for name in names for text in (f"{name} (s)", f"{name} ±"))]
    rows: dict[tuple[str, str, str], dict[tuple[str, str], Spread]] = {}
    for setting, cell in cells.items():
        row = rows.setdefault((setting.workload, setting.access, f"{setting.transfer}, {setting.mpi}"), {})
        row[setting.network, setting.load] = cell.total
    nothing = Spread.of([])
    filled: list[tuple[Value, ...]] = [
        (*key, *(value for column in columns for value in _pair(row.get(column, nothing)))) for key, row in rows.items()
    ]
    title = "t_total: messages of MPI on the link of the file system, or on a link of their own"
    return Table("totals", title, tuple(head), filled)


def _components(cells: Mapping[Setting, Cell]) -> Table:
    head = (
        *("Workload", "Access", "Transfer", "Link", "Load", "Repeats", "t_total (s)", "t_total ±"),
        *(f"{name} (s)" for name in _PARTS),
        *("Slowest / median", "Slowest ±", "Stragglers", "Bytes read / file"),
    )
    rows: list[tuple[Value, ...]] = [
        (
            *(one.workload, one.access, f"{one.transfer}, {one.mpi}", one.network, one.load, len(cell.records)),
            *_pair(cell.total),
            *(cell.mean(name) for name in _PARTS),
            *_pair(cell.slowest),
            cell.n_stragglers,
            cell.bytes_read,
        )
        for one, cell in cells.items()
    ]
    return Table("components", "Means over ranks and repeats; own time of the slowest rank", head, rows)


def _pair(spread: Spread) -> tuple[float, float]:
    return spread.mean, spread.deviation
