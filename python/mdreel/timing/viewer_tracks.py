"""Tracks of trace viewers."""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.timing.spans import COORDINATOR

if TYPE_CHECKING:
    from mdreel.timing.timing import Timing


@dataclass(frozen=True)
class Process:
    """A process and its workers.

    Attributes
    ----------
    host : str
        Name of its host, or an empty string if it was not recorded.
    number : int
        Process ID, or 0 if it was not recorded.
    workers : tuple of int
        Workers with spans or tasks, in ascending order. If the caller belongs to this process, it comes first.
    """

    host: str
    number: int
    workers: tuple[int, ...]

    @property
    def name(self) -> str:
        """Name of the process in a viewer."""
        return f"{self.host}, process {self.number}" if self.host else "mdreel"


def processes_of(timing: "Timing") -> tuple[Process, ...]:
    """Return the caller's process, followed by the other processes of a run in the order of their workers."""
    seen = np.unique(np.concatenate([timing.spans["worker"], timing.tasks["worker"]])).tolist()
    found: dict[tuple[str, int], list[int]] = {}
    for worker in sorted(seen, key=lambda one: (one != COORDINATOR, one)):
        member = timing.crew.get(worker)
        found.setdefault(("", 0) if member is None else (member.host, member.process), []).append(worker)
    return tuple(Process(host, number, tuple(workers)) for (host, number), workers in found.items())


def name_of_worker(worker: int) -> str:
    """Return the name of a worker in a viewer."""
    return "caller" if worker == COORDINATOR else f"worker {worker}"


def by_worker(table: NDArray[np.void]) -> dict[int, NDArray[np.void]]:
    """Return the rows of each worker sorted by start. Rows with the same start are sorted by length, longest first."""
    longest_first = np.iinfo(np.uint64).max - table["stop_ns"]
    table = table[np.lexsort((longest_first, table["start_ns"], table["worker"]))]
    workers, begins = np.unique(table["worker"], return_index=True)
    edges = [*begins.tolist(), len(table)]
    return {worker: table[a:b] for worker, (a, b) in zip(workers.tolist(), pairwise(edges), strict=True)}


def lanes_of(rows: NDArray[np.void]) -> NDArray[np.intp]:
    """Distribute the rows of a worker over lanes, so that rows in the same lane are either disjoint or nested.

    Parameters
    ----------
    rows : ndarray, shape (n_rows,)
        Rows with the fields ``start_ns`` and ``stop_ns``, in the order of `by_worker`.

    Returns
    -------
    ndarray, shape (n_rows,), intp
        Lane of each row. If no rows overlap, it is 0 for all rows.
    """
    lanes = np.zeros(len(rows), np.intp)
    if (rows["stop_ns"][:-1] <= rows["start_ns"][1:]).all():
        return lanes
    ends_of_lanes: list[list[int]] = []  # ends of the open rows of each lane, the innermost last
    for i, (start, stop) in enumerate(zip(rows["start_ns"].tolist(), rows["stop_ns"].tolist(), strict=True)):
        lane = next((n for n, ends in enumerate(ends_of_lanes) if _fits(ends, start, stop)), len(ends_of_lanes))
        if lane == len(ends_of_lanes):
            ends_of_lanes.append([])
        ends_of_lanes[lane].append(stop)
        lanes[i] = lane
    return lanes


def _fits(ends: list[int], start: int, stop: int) -> bool:
    """Return whether a row fits into a lane, after its open rows or within the innermost row. Remove ended rows."""
    while ends and ends[-1] <= start:
        ends.pop()
    return not ends or stop <= ends[-1]
