"""The largest size of a scenario that a machine can run in a given time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from mdreel_lab.bench.data import bytes_of_frame
from mdreel_lab.bench.exchange import scenario as exchange
from mdreel_lab.bench.exchange.catalogue import SERIALISED
from mdreel_lab.bench.exchange.points import ExchangePoint, exchange_points_of
from mdreel_lab.bench.grid import Point, points_of
from mdreel_lab.bench.scenario import Scenario, Size

_LENGTHS = (600, 300, 200, 100, 50, 20, 10, 5, 2, 1)
"""Candidates for the length, in published trajectories. The papers used 50 to 600."""

_LEAST_REPEATS = 2
_SECONDS_PER_START = 1.5
_SECONDS_PER_EXCHANGED_FRAME = 0.01
_COPIED_BYTES_PER_SECOND = 1e9


@dataclass(frozen=True)
class Limits:
    """Limits of a scenario: time of all points in s, cores, free bytes on the disk, and bytes of memory."""

    seconds: float
    n_cores: int
    disk: float
    memory: float


@dataclass(frozen=True)
class Cost:
    """Cost of the points of a series.

    Attributes
    ----------
    seconds : float
        Time for each frame, or for each empty task, measured with the fewest workers at the small size.
    n_atoms : int
        Number of atoms in the files.
    n_selected : int
        Number of atoms that are analysed.
    """

    seconds: float
    n_atoms: int = 0
    n_selected: int = 0

    def time_of(self, point: Point) -> float:
        """Estimate the time of a point, s, without a speed-up by more workers."""
        copied = self.bytes_on_disk(point) / 2 if point.cache == "copy" else 0.0
        return _SECONDS_PER_START + (point.n_tasks or point.n_frames) * self.seconds + copied / _COPIED_BYTES_PER_SECOND

    def bytes_on_disk(self, point: Point) -> float:
        """Estimate the size of all files that a point needs at the same time."""
        n_copies = 1 + (point.cache == "copy") + (point.n_segments > 1 or point.workload == "split")
        return n_copies * point.n_frames * bytes_of_frame(point.format, self.n_atoms)

    def bytes_in_memory(self, point: Point) -> float:
        """Estimate the bytes that frames and results of a point take in the memory of all workers.

        Without I/O, each process of mdreel holds the selected atoms of all frames, and the first one holds two more
        copies while it reads. The processes of the papers' program share the frames, with all atoms. Dihedrals have
        four numbers for each residue, which are in the blocks, in the gathered blocks, and in the results.
        """
        if point.frames == "memory":
            n_each = 2 * self.n_atoms if point.program == "published" else self.n_selected * (point.n_workers + 2)
            return 12.0 * n_each * point.n_frames
        return 3.0 * 8 * 4 * self.n_selected * point.n_frames if point.workload == "dihedrals" else 0.0


def largest_size(name: str, scenario: Scenario, limits: Limits, cost_of: Callable[[Point], Cost | None]) -> Size:
    """Return the largest size of a scenario of analyses within limits.

    The numbers of workers are those of the full and of the small size that the cores allow. The length is the largest
    of 1 to 600 published trajectories with which two repeats are within the limits. If no such length is larger than
    the small size, the small size is returned. The number of repeats is the largest that the time allows, at most that
    of the full size.

    Parameters
    ----------
    cost_of : callable
        Runs a point of the small size, and returns its cost, or None if the point cannot run here.
    """
    small, full = scenario.small, scenario.full
    pilots: dict[str, Point] = {}
    for point in points_of(name, scenario, small):
        if point.series not in pilots or point.n_workers < pilots[point.series].n_workers:
            pilots[point.series] = point
    found = {series: cost_of(point) for series, point in pilots.items()}
    costs = {series: cost for series, cost in found.items() if cost is not None}
    known = sorted({*small.workers, *full.workers})
    workers = tuple(n for n in known if n <= limits.n_cores) or (known[0],)
    for size in _candidates(scenario, replace(full, workers=workers, repeats=1)):
        points = [(point, costs[point.series]) for point in points_of(name, scenario, size) if point.series in costs]
        if any(
            cost.bytes_on_disk(point) > limits.disk or cost.bytes_in_memory(point) > limits.memory
            for point, cost in points
        ):
            continue
        seconds = sum(cost.time_of(point) for point, cost in points)
        if seconds * min(_LEAST_REPEATS, full.repeats) <= limits.seconds:
            return replace(size, repeats=_repeats(seconds, limits.seconds, full.repeats))
    return small


def _candidates(scenario: Scenario, size: Size) -> Iterator[Size]:
    """Yield sizes from the largest to the smallest that is above the small one."""
    small, full = scenario.small, scenario.full
    if scenario.workload == "empty-tasks":
        yield from (replace(size, tasks=n) for n in (full.tasks // k for k in (1, 2, 5, 10, 20, 50)) if n > small.tasks)
    else:
        most, least = max(full.factor), max(small.factor)
        yield from (replace(size, factor=(float(one),)) for one in _LENGTHS if least < one <= most)


def largest_exchange(
    name: str, scenario: exchange.Exchange, limits: Limits, can_run: Callable[[ExchangePoint], bool]
) -> exchange.Size:
    """Return the largest size of a scenario of exchange within limits.

    Simulations have the published period. There are at most as many pairs as cores. If the time does not allow one
    repeat with the published number of frames, there are fewer frames, but never fewer than at the small size.
    """
    small, full = scenario.small, scenario.full
    known = sorted({*small.pairs, *full.pairs})
    pairs = tuple(n for n in known if n <= limits.n_cores) or (known[0],)
    if scenario.over != "pairs":
        pairs = pairs[-1:]
    per_node = full.pairs_per_node if set(pairs) & set(full.pairs) else small.pairs_per_node
    size = replace(full, pairs=pairs, pairs_per_node=per_node, repeats=1)
    points = [point for point in exchange_points_of(name, scenario, size) if can_run(point)]
    per_frame = sum(_period(point) for point in points)
    starts = _SECONDS_PER_START * len(points)
    if starts + per_frame * full.frames <= limits.seconds:
        return replace(size, repeats=_repeats(starts + per_frame * full.frames, limits.seconds, full.repeats))
    n_frames = int((limits.seconds - starts) / per_frame) if per_frame else full.frames
    return replace(size, frames=min(max(n_frames, small.frames), full.frames))


def _period(point: ExchangePoint) -> float:
    """Return the time of a frame: with the published barrier, simulation and analysis take turns."""
    n_turns = 1 + point.analysis if point.synchronisation == SERIALISED else 1
    return n_turns * point.period + _SECONDS_PER_EXCHANGED_FRAME


def _repeats(seconds: float, limit: float, most: int) -> int:
    return max(1, min(most, int(limit / seconds))) if seconds else most
