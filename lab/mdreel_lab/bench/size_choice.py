"""Choice of the size of a scenario: one of its file, or the largest one that this machine can run in a given time."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mdreel.errors import MdreelError, UnsupportedError
from mdreel.foundation.usable_memory import usable_memory
from mdreel_lab.bench.allocation import Allocation
from mdreel_lab.bench.analyses import Analyses
from mdreel_lab.bench.exchange import scenario as exchange
from mdreel_lab.bench.exchange.exchanges import Exchanges
from mdreel_lab.bench.exchange.points import exchange_points_of
from mdreel_lab.bench.grid import Point, points_of
from mdreel_lab.bench.largest import Cost, Limits, largest_exchange, largest_size
from mdreel_lab.bench.plans import ScenarioPoint, chosen_before, keep_plan, plan
from mdreel_lab.bench.records import DONE, find
from mdreel_lab.bench.scenario import Scenario, Size
from mdreel_lab.bench.scenario_files import read_scenario

LARGEST = "largest"
"""The size that is chosen for a machine, besides those of the files."""

_USED_SHARE = 0.9
"""Share of the free disk and of the free memory that is used."""


class SizeChoice:
    """Choice of the points of scenarios in a folder of records.

    Parameters
    ----------
    seconds : float
        Time of each scenario at the size `LARGEST`.
    repeats : int or None
        Number of repeats of each point at the other sizes, or None for that of the scenario.
    """

    def __init__(
        self,
        folder: Path,
        seconds: float,
        allocation: Allocation,
        analyses: Analyses,
        exchanges: Exchanges,
        log: Callable[[str], object],
        repeats: int | None = None,
    ) -> None:
        self._folder = folder
        self._seconds = seconds
        self._allocation = allocation
        self._analyses = analyses
        self._exchanges = exchanges
        self._log = log
        self._repeats = repeats

    def points(self, path: Path, size: str) -> list[ScenarioPoint]:
        """Return the points of a scenario, given by its file, and keep the plan for the report.

        For the size `LARGEST`, a run with the fewest workers at the small size measures the time of each series. If the
        folder contains a plan for the same time, the method uses the size of this plan.
        """
        scenario, name = read_scenario(path), path.stem
        if size != LARGEST:
            points = list(plan(name, scenario, size, self._repeats))
            keep_plan(self._folder, name, path, size, points)
            return points
        before = chosen_before(self._folder, name, size)
        known = before["size"] if before and before["seconds"] == self._seconds else None
        if isinstance(scenario, exchange.Exchange):
            found = exchange.Size(**_tuples(known)) if known else self._largest_exchange(name, scenario)
            points = list(exchange_points_of(name, scenario, found))
            chosen: Any = found
        else:
            chosen = Size(**_tuples(known)) if known else self._largest_size(name, scenario)
            # Grids compare whether they are asked for the small size.
            points = list(points_of(name, scenario, scenario.small if chosen == scenario.small else chosen))
        keep_plan(self._folder, name, path, size, points, {"seconds": self._seconds, "size": asdict(chosen)})
        self._log(f"{name}: {len(points)} points, {_words(chosen)}")
        return points

    def _largest_size(self, name: str, scenario: Scenario) -> Size:
        limits = self._limits(self._allocation.n_cores("mdreel", "mpi"))
        return largest_size(name, scenario, limits, self._cost_of)

    def _largest_exchange(self, name: str, scenario: exchange.Exchange) -> exchange.Size:
        limits = self._limits(self._allocation.n_cores("mdreel", "threads"))
        return largest_exchange(name, scenario, limits, self._exchanges.can_run)

    def _limits(self, n_cores: int) -> Limits:
        room = self._analyses.inputs.room()
        return Limits(self._seconds, n_cores, _USED_SHARE * room, _USED_SHARE * usable_memory())

    def _cost_of(self, point: Point) -> Cost | None:
        """Run a point, unless it is kept, and return its cost; None if it cannot run here, or fails."""
        kept = find(self._folder, point)
        if kept is None or kept.status != DONE:
            self._log(f"measuring the time of a frame: {point}")
            try:
                kept = self._analyses.run(point)
            except UnsupportedError:
                return None
            except (MdreelError, OSError, RuntimeError):
                return None
        n_atoms, n_selected = self._atoms_of(point)
        return Cost(kept.seconds / (point.n_tasks or point.n_frames), n_atoms, n_selected)

    def _atoms_of(self, point: Point) -> tuple[int, int]:
        import MDAnalysis as mda

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            universe = mda.Universe(str(self._analyses.inputs.of(point).topology))
            return universe.atoms.n_atoms, universe.select_atoms(point.selection).n_atoms


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a size that were written as JSON."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _words(size: Size | exchange.Size) -> str:
    repeats = f"{size.repeats} repeat{'s' if size.repeats > 1 else ''}"
    if isinstance(size, exchange.Size):
        return f"{size.frames} frames a pair, {repeats}"
    return f"{' and '.join(f'{one:g}' for one in size.factor)} times the published trajectory, {repeats}"
