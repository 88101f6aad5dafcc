"""Points of analyses, each run in a fresh process, on data that are made when they are first needed."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mdreel.errors import UnsupportedError
from mdreel.execution.available_cores import available_processors
from mdreel_lab.bench.data import System, describe, make
from mdreel_lab.bench.grid import MOST_WORKERS_PER_CORE, Point
from mdreel_lab.bench.launch import launch_of
from mdreel_lab.bench.processes import ProcessError, child_environment, last_line, run_process
from mdreel_lab.bench.records import DONE, Kept, find
from mdreel_lab.bench.result import Order

TIME_LIMIT = 4 * 3600.0
"""Seconds that one point may take."""


class Analyses:
    """Runs points of analyses on data in one folder, and keeps their records in another."""

    def __init__(self, folder: Path, data: Path, log: Callable[[str], object]) -> None:
        self._folder = folder
        self._data = data
        self._log = log
        self._n_cores = available_processors()
        self._made: set[tuple[str, int, str]] = set()

    def run(self, point: Point) -> Kept[Point]:
        """Run a point; return its record, which its process has kept.

        Raise an `UnsupportedError` if it cannot run here, or a `ProcessError` if its process fails.
        """
        if point.n_workers > MOST_WORKERS_PER_CORE * self._n_cores:
            most = f"{MOST_WORKERS_PER_CORE} for each of {self._n_cores} cores"
            raise UnsupportedError(f"{point.n_workers} workers are more than {most}")
        launcher, variables = launch_of(point)
        order = self._order(point)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "order.json")
            path.write_text(order.to_json(), encoding="utf-8")
            command = [*launcher, "-m", "mdreel_lab.bench.point_process", str(path)]
            run_process(command, child_environment(self._data / "cache", variables=variables), TIME_LIMIT)
        kept = find(self._folder, point)
        if kept is None or kept.status != DONE:
            raise ProcessError("it ended without a record")
        return kept

    def _order(self, point: Point) -> Order:
        """Make what a point reads."""
        facts: dict[str, Any] = {"oversubscribed": point.n_workers > self._n_cores, "n_cores": self._n_cores}
        system = describe(point.system, point.n_frames, self._data)
        if not system.trajectory(point.format).exists():
            self._log(f"making {system.trajectory(point.format)}: {point.n_frames:,} frames")
        if (what := (point.system, point.n_frames, point.format)) not in self._made:
            make(point.system, point.n_frames, self._data, (point.format,))
            self._made.add(what)
        paths = self._files(point, system)
        if point.stripes:
            paths, facts["stripes"] = [_striped(paths[0], point.stripes)], point.stripes
        files = [str(path) for path in (self._folder, system.topology, system.reference)]
        return Order(point, *files, [str(path) for path in paths], facts)

    def _files(self, point: Point, system: System) -> list[Path]:
        """Return the trajectory, cut into as many files as the point wants."""
        path = system.trajectory(point.format)
        if point.n_segments == 1:
            return [path]
        from mdreel.trajectory.split import split

        folder = path.with_name(f"{path.stem}-{point.format}-in-{point.n_segments}")
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=path.parent) as made:
                parts = Path(made, "parts")
                parts.mkdir()
                split(path, parts / f"part{path.suffix}", n_parts=point.n_segments)
                parts.rename(folder)
        return sorted(folder.glob(f"part-*{path.suffix}"))


def _striped(path: Path, n_stripes: int) -> Path:
    """Return a copy of a file on so many stripes; raise an `UnsupportedError` where they cannot be set."""
    from mdreel.foundation.file_system import mount_of, stripes

    if not stripes(path):
        mount = mount_of(path)
        kind = "of the data" if mount is None else mount.kind
        raise UnsupportedError(f"the file system {kind} has no stripes, as Lustre has")
    copy = path.with_name(f"{path.stem}-on-{n_stripes}{path.suffix}")
    if copy.exists():
        return copy
    if shutil.which("lfs") is None:
        raise UnsupportedError("stripes are set with the program lfs, which is not installed")
    part = copy.with_name(f"{copy.stem}.part{copy.suffix}")
    done = subprocess.run(["lfs", "setstripe", "-c", str(n_stripes), str(part)], capture_output=True, text=True)
    if done.returncode:
        raise UnsupportedError(f"lfs setstripe: {last_line(done.stderr)}")
    with path.open("rb") as source, part.open("r+b") as target:
        shutil.copyfileobj(source, target, 1 << 24)
    part.replace(copy)
    return copy
