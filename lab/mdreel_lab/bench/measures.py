"""Measures of a scenario, computed from its records."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mdreel.timing.observables import Observables
from mdreel.timing.stragglers import stragglers_of
from mdreel_lab.bench.grid import Point
from mdreel_lab.bench.records import DONE, Kept
from mdreel_lab.bench.scenario import PEERS


@dataclass(frozen=True)
class Spread:
    """A mean and its standard deviation (of a sample; 0 of a single value), in the unit of the values."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        """Return the mean and the standard deviation of values."""
        several = np.array(list(values), np.float64)
        if not len(several):
            return cls(math.nan, math.nan)
        return cls(float(several.mean()), float(several.std(ddof=1)) if len(several) > 1 else 0.0)


@dataclass(frozen=True)
class Measured:
    """One repeat of a point."""

    kept: Kept[Point]

    @cached_property
    def observables(self) -> Observables | None:
        """The observables of each rank; None without spans."""
        timing = self.kept.timing
        return None if timing is None else timing.observables

    @property
    def seconds(self) -> float:
        """The time of the slowest rank, s; without ranks, and of splitting, the time that the caller saw."""
        if self.observables is None or self.kept.point.workload == "split":
            return self.kept.seconds
        return self.observables.t_total

    @property
    def wall(self) -> float:
        """The time that the caller saw, s."""
        return self.kept.seconds

    @property
    def io(self) -> float:
        """Time to bring a frame into memory, mean over frames, ms; NaN without a recording."""
        return math.nan if self.observables is None else 1e3 * self._a_frame(float(self.observables.t_io.sum()))

    @property
    def compute(self) -> float:
        """Time to compute a frame, mean over frames, ms; NaN without a recording."""
        return math.nan if self.observables is None else 1e3 * self._a_frame(float(self.observables.t_comp.sum()))

    @property
    def overhead(self) -> float:
        """``t_total - n_frames/N (t_io + t_comp)``, s."""
        point = self.kept.point
        return self.seconds - point.n_frames / point.n_workers * (self.io + self.compute) * 1e-3

    @property
    def ratio(self) -> float:
        """R_comp/io, which is defined for serial runs."""
        return math.nan if self.observables is None else self.observables.ratio_comp_io

    @property
    def opening(self) -> float:
        """t_open, mean over ranks, s; NaN without a recording."""
        return math.nan if self.observables is None else float(self.observables.t_open.mean())

    @property
    def communication(self) -> float:
        """t_comm as published, mean over ranks, s; NaN of one worker, which sends nothing."""
        found = self.observables
        return math.nan if found is None or self.kept.point.n_workers == 1 else float(found.t_comm.mean())

    @property
    def ratio_comm(self) -> float:
        """R_comp/comm as published; NaN of one worker."""
        found = self.observables
        return math.nan if found is None or self.kept.point.n_workers == 1 else found.ratio_comp_comm

    @property
    def throughput(self) -> float:
        """Empty tasks per second; NaN for other workloads."""
        return self.kept.point.n_tasks / self.kept.seconds if self.kept.point.n_tasks else math.nan

    @property
    def n_stragglers(self) -> int:
        """Ranks that took more than 1.5 times the median."""
        return 0 if self.observables is None else len(stragglers_of(self.observables))

    def _a_frame(self, seconds: float) -> float:
        return seconds / max(self.kept.point.n_frames, 1)


@dataclass(frozen=True)
class Cell:
    """All repeats of a series with one number of workers."""

    n_workers: int
    repeats: list[Measured] = field(default_factory=list)

    @property
    def observables(self) -> list[Observables]:
        """The observables of the repeats that have spans."""
        return [one.observables for one in self.repeats if one.observables is not None]

    @property
    def is_oversubscribed(self) -> bool:
        """Whether the run had more workers than cores."""
        return any(one.kept.facts.get("oversubscribed") for one in self.repeats)

    def spread(self, quantity: str) -> Spread:
        """Mean and deviation of one of the properties of `Measured`."""
        return Spread.of(getattr(one, quantity.replace("-", "_")) for one in self.repeats)


@dataclass(frozen=True)
class Series:
    """Points that differ in nothing but the number of workers and the repeat; cells by ascending number of workers."""

    name: str
    cells: list[Cell]

    @property
    def is_of_peer(self) -> bool:
        """Whether a different program than mdreel was run."""
        return self.cells[0].repeats[0].kept.point.program in PEERS

    @property
    def is_weak(self) -> bool:
        """Whether the number of frames is proportional to the number of workers."""
        return self.cells[0].repeats[0].kept.point.scaling == "weak"

    @property
    def load(self) -> int:
        """Number of RMSDs computed for each frame; a pilot run chooses it for scenarios with a ratio."""
        kept = self.cells[0].repeats[0].kept
        return int(kept.facts.get("load", kept.point.load))

    def cell(self, n_workers: int) -> Cell | None:
        """Return the cell of a number of workers, if it was measured."""
        return next((cell for cell in self.cells if cell.n_workers == n_workers), None)

    def spread(self, quantity: str, cell: Cell) -> Spread:
        """Mean and deviation of one of `QUANTITIES`; NaN where it is unknown.

        Speed-ups are those of each repeat against the mean of one worker of the same series. With weak scaling, N
        workers have N times the frames, so that the speed-up is N times the ratio of the times.
        """
        if quantity not in ("speed-up", "efficiency"):
            return cell.spread(quantity)
        alone = self.cell(1)
        if alone is None:
            return Spread(math.nan, math.nan)
        share = cell.n_workers if quantity == "efficiency" else 1
        work = cell.n_workers if self.is_weak else 1
        reference = alone.spread("seconds").mean
        return Spread.of(work * reference / max(one.seconds, 1e-9) / share for one in cell.repeats)


def series_of(records: Sequence[Kept[Point]]) -> list[Series]:
    """Group the records of completed points into series, in order of first occurrence."""
    found: dict[str, dict[int, Cell]] = {}
    for kept in records:
        if kept.status == DONE:
            cells = found.setdefault(kept.point.series, {})
            cell = cells.setdefault(kept.point.n_workers, Cell(kept.point.n_workers))
            cell.repeats.append(Measured(kept))
    return [Series(name, [cells[n] for n in sorted(cells)]) for name, cells in found.items()]
