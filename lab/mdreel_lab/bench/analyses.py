"""Runner of points of analyses, each in a fresh process, on data made on demand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mdreel.errors import UnsupportedError
from mdreel_lab.bench.allocation import Allocation
from mdreel_lab.bench.grid import Point
from mdreel_lab.bench.input_files import InputFiles
from mdreel_lab.bench.launching import launch_of
from mdreel_lab.bench.processes import ProcessError, child_environment, run_process
from mdreel_lab.bench.records import DONE, Kept, find
from mdreel_lab.bench.wanted_ratio import load_of_ratio
from mdreel_lab.bench.workload import Order

TIME_LIMIT = 4 * 3600.0
"""Time limit of one point, s."""


class Analyses:
    """Runner of points of analyses on data in one folder, with records in another, on the hosts of an allocation.

    Attributes
    ----------
    inputs : InputFiles
        Provider of the input files of points.
    """

    def __init__(self, folder: Path, data: Path, log: Callable[[str], object], allocation: Allocation) -> None:
        self._folder = folder
        self._data = data
        self._log = log
        self._allocation = allocation
        self.inputs = InputFiles(data, log)

    def run(self, point: Point) -> Kept[Point]:
        """Run a point; return its record, which its process has kept.

        Raise an `UnsupportedError` if it cannot run here, or a `ProcessError` if its process fails.
        """
        n_cores = self._cores_for(point)
        load = load_of_ratio(point, self._pilot) if point.ratio else point.load
        with launch_of(point, self._allocation, self._folder) as launch:
            order = self._order(point, load, n_cores, launch.places)
            command = [*launch.words, "-m", "mdreel_lab.bench.point_process", order.to_json()]
            run_process(command, child_environment(self._data / "cache", variables=launch.variables), TIME_LIMIT)
        kept = find(self._folder, point)
        if kept is None or kept.status != DONE:
            raise ProcessError("it ended without a record")
        return kept

    def _pilot(self, point: Point) -> Kept[Point]:
        """Return the record of a run that measures a ratio, if it is kept; otherwise, run it."""
        kept = find(self._folder, point)
        if kept is None or kept.status != DONE:
            self._log(f"measuring R_comp/io: {point.series}")
            kept = self.run(point)
        return kept

    def _cores_for(self, point: Point) -> int:
        """Return the number of cores for a point; raise an `UnsupportedError` if it has too many workers for them."""
        allocation, who = self._allocation, (point.program, point.executor)
        n_cores = allocation.n_cores(*who)
        if allocation.uses_scheduler(*who):
            if point.n_workers > n_cores:
                raise UnsupportedError(f"{point.n_workers} workers are more than the {n_cores} threads of the cluster")
        elif point.n_workers > allocation.per_core * n_cores:
            most = f"{allocation.per_core} for each of {n_cores} cores"
            raise UnsupportedError(f"{point.n_workers} workers are more than {most} (--oversubscribe allows more)")
        return n_cores

    def _order(self, point: Point, load: int, n_cores: int, places: dict[str, int]) -> Order:
        """Make the data of a point, and return its order."""
        inputs = self.inputs.of(point)
        facts: dict[str, Any] = {
            "oversubscribed": point.n_workers > n_cores,
            "n_cores": n_cores,
            "allocation": self._allocation.said,
            "load": load,
        }
        if places:
            facts["places"] = places
        if point.stripes:
            facts["stripes"] = point.stripes
        return Order(
            point,
            str(self._folder.absolute()),
            str(inputs.topology),
            str(inputs.reference),
            [str(path) for path in inputs.paths],
            facts,
            load,
            self._allocation.scheduler,
        )
