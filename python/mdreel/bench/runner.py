"""Running: each point of a scenario in a fresh process, what is done already left as it is."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from mdreel.bench.data import System, describe, make
from mdreel.bench.grid import MOST_WORKERS_PER_CORE, Point, is_too_many, points_of
from mdreel.bench.kept import DONE, FAILED, LEFT_OUT, Kept, find, keep, keep_plan
from mdreel.bench.launch import environment_of_child, launch_of
from mdreel.bench.point_process import write_order
from mdreel.bench.result import Order
from mdreel.bench.scenario import read_scenario
from mdreel.errors import MdreelError, MismatchError, UnsupportedError
from mdreel.executors.processors import available_processors

TIME_LIMIT = 4 * 3600.0
"""Seconds that one point may take."""

_LAST_WORDS_SECONDS = 10.0

Log = Callable[[str], object]


@dataclass
class Counts:
    """How many points became what.

    Attributes
    ----------
    n_done, n_kept, n_left_out : int
        Run now; run before; not possible here.
    failed : list of Point
        Run, and failed.
    """

    n_done: int = 0
    n_kept: int = 0
    n_left_out: int = 0
    failed: list[Point] = field(default_factory=list)


class Runner:
    """Runs scenarios into a folder.

    Parameters
    ----------
    folder : Path
        Where records go.
    data : Path, optional
        Where trajectories are made and kept; by default within that folder.
    log : callable
        Takes progress, a line at a time.

    Notes
    -----
    A point is done when its record is there, which is written when it is whole: after Ctrl-C, a kill or a crash the
    same call goes on where it was. What failed, or was not possible, is tried again.
    """

    def __init__(self, folder: Path, data: Path | None = None, log: Log = lambda line: None) -> None:
        self._folder = folder
        self._data = folder / "data" if data is None else data
        self._log = log
        self._n_cores = available_processors()
        self._made: set[tuple[str, int, str]] = set()

    def run(self, scenarios: Sequence[Path], size: str) -> Counts:
        """Run scenarios, given by their files, at a size.

        Raises
        ------
        MismatchError, OSError
            If a scenario cannot be read, or the folder not be written; nothing is run then.
        """
        planned: list[tuple[Path, list[Point]]] = []
        for path in scenarios:
            if path.stem in (other.stem for other, _ in planned):
                raise MismatchError(f"two scenarios are called {path.stem}")
            scenario = read_scenario(path)
            planned.append((path, points_of(path.stem, scenario, scenario.size(size))))
        self._folder.mkdir(parents=True, exist_ok=True)
        for path, points in planned:
            keep_plan(self._folder, path.stem, path, size, points)
        counts, began = Counts(), monotonic()
        points = [point for _, points in planned for point in points]
        wanted = [point for point in points if not self._is_done(point)]
        counts.n_kept = len(points) - len(wanted)
        for i, point in enumerate(wanted, 1):
            kept = self._run(point)
            self._count(counts, kept)
            self._log(f"[{i}/{len(wanted)}] {point}: {_said(kept)}{_left(began, i, len(wanted) - i)}")
        return counts

    def _is_done(self, point: Point) -> bool:
        before = find(self._folder, point)
        return before is not None and before.status == DONE

    def _run(self, point: Point) -> Kept:
        """Run a point; return its record, which is kept."""
        launch = launch_of(point)
        missing = launch.missing
        if is_too_many(point, self._n_cores):
            most = f"{MOST_WORKERS_PER_CORE} for each of {self._n_cores} cores"
            missing = f"{point.n_workers} workers are more than {most}"
        if missing:
            return self._keep(Kept(point, LEFT_OUT, missing))
        try:
            order = self._order(point)
        except UnsupportedError as error:
            return self._keep(Kept(point, LEFT_OUT, str(error)))
        except (MdreelError, OSError) as error:
            return self._keep(Kept(point, FAILED, str(error)))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "order.json")
            write_order(order, path)
            command = [*launch.command, "-m", "mdreel.bench.point_process", str(path)]
            problem = _executed(command, environment_of_child(launch, self._data / "cache"))
        kept = find(self._folder, point)
        if not problem and kept is not None and kept.status == DONE:
            return kept
        return self._keep(Kept(point, FAILED, problem or "it ended without a record"))

    def _keep(self, kept: Kept) -> Kept:
        keep(self._folder, kept)
        return kept

    def _count(self, counts: Counts, kept: Kept) -> None:
        if kept.status == DONE:
            counts.n_done += 1
        elif kept.status == LEFT_OUT:
            counts.n_left_out += 1
        else:
            counts.failed.append(kept.point)

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
        return Order(point, self._folder, system.topology, system.reference, paths, facts)

    def _files(self, point: Point, system: System) -> list[Path]:
        """Return the trajectory, cut into as many files as the point wants."""
        path = system.trajectory(point.format)
        if point.n_segments == 1:
            return [path]
        from mdreel.storage.split import split

        folder = path.with_name(f"{path.stem}-{point.format}-in-{point.n_segments}")
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=path.parent) as made:
                parts = Path(made, "parts")
                parts.mkdir()
                split(path, parts / f"part{path.suffix}", n_parts=point.n_segments)
                parts.rename(folder)
        return sorted(folder.glob(f"part-*{path.suffix}"))


def _striped(path: Path, n_stripes: int) -> Path:
    """Return a copy of a file on so many stripes.

    Raises
    ------
    UnsupportedError
        If the file system has none, or they cannot be set.
    """
    from mdreel.sources.place import mount_of, stripes

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
        raise UnsupportedError(f"lfs setstripe: {_last_line(done.stderr)}")
    with path.open("rb") as source, part.open("r+b") as target:
        shutil.copyfileobj(source, target, 1 << 24)
    part.replace(copy)
    return copy


def _executed(command: list[str], environment: dict[str, str]) -> str:
    """Run a process; return what went wrong, or nothing. It ends with us when we are interrupted."""
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        try:
            output, _ = process.communicate(timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired:
            _end(process)
            return f"it took more than {TIME_LIMIT:,.0f} s"
        except BaseException:
            _end(process)
            raise
    if process.returncode:
        last = _last_line(output.decode(errors="replace"))
        return f"exit code {process.returncode}: {last}"
    return ""


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process, with those that it has started: a launcher passes on that it shall end."""
    process.terminate()
    try:
        process.wait(_LAST_WORDS_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _last_line(output: str) -> str:
    """Return the last line that names an error, of what several ranks may have said; or else the last."""
    lines = [line.strip() for line in output.splitlines() if any(map(str.isalpha, line))]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return (errors or lines or ["it said nothing"])[-1]


def _said(kept: Kept) -> str:
    return f"{kept.seconds:.3g} s" if kept.status == DONE else f"{kept.status}: {kept.message}"


def _left(began: float, n_done: int, n_left: int) -> str:
    """Say how long the rest takes if it takes as long as what was done."""
    if not n_left or not n_done:
        return ""
    minutes, seconds = divmod(round((monotonic() - began) / n_done * n_left), 60)
    return f" (about {minutes}:{seconds:02} min left)"
