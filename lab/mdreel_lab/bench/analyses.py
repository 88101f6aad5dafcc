"""Runner of points of analyses, each in a fresh process, on data made on demand."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mdreel.errors import UnsupportedError
from mdreel.execution.available_cores import available_processors
from mdreel_lab.bench.data import System, make
from mdreel_lab.bench.grid import MOST_WORKERS_PER_CORE, Point
from mdreel_lab.bench.processes import ProcessError, child_environment, last_line, run_process
from mdreel_lab.bench.records import DONE, Kept, find
from mdreel_lab.bench.wanted_ratio import load_of_ratio
from mdreel_lab.bench.workload import Order

TIME_LIMIT = 4 * 3600.0
"""Time limit of one point, s."""

_OPEN_MPI_OPTIONS = ("--oversubscribe", "--bind-to", "none")
"""Options that allow more ranks than cores; ranks bound to cores would wait for each other."""

_OPEN_MPI_VARIABLES = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_osc": "^ucx"}
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

_PACKAGES = {
    ("mdreel", "dask"): "distributed",
    ("mdreel", "mpi"): "mpi4py",
    ("mdanalysis", "dask"): "dask",
    ("mdtraj", "serial"): "mdtraj",
    ("dask", "threads"): "dask",
    ("dask", "processes"): "dask",
    ("dask", "distributed"): "distributed",
    ("dask", "distributed-threads"): "distributed",
    ("published", "mpi"): "mpi4py",
    ("published", "processes"): "dask",
    ("published", "distributed"): "distributed",
}
"""The package that a program and an executor need."""


class Analyses:
    """Runner of points of analyses on data in one folder, with records in another."""

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
        launcher, variables = _launch_of(point)
        load = load_of_ratio(point, self._pilot) if point.ratio else point.load
        order = self._order(point, load)
        command = [*launcher, "-m", "mdreel_lab.bench.point_process", order.to_json()]
        run_process(command, child_environment(self._data / "cache", variables=variables), TIME_LIMIT)
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

    def _order(self, point: Point, load: int) -> Order:
        """Make the data of a point, and return its order."""
        facts: dict[str, Any] = {"oversubscribed": point.n_workers > self._n_cores, "n_cores": self._n_cores}
        facts["load"] = load
        system = System(point.system, point.n_frames, self._data)
        if not system.trajectory(point.format).exists():
            self._log(f"making {system.trajectory(point.format)}: {point.n_frames:,} frames")
        if (what := (point.system, point.n_frames, point.format)) not in self._made:
            make(point.system, point.n_frames, self._data, (point.format,))
            self._made.add(what)
        paths = self._files(point, system)
        if point.stripes:
            paths, facts["stripes"] = [_striped(paths[0], point.stripes)], point.stripes
        names = [str(path) for path in paths]
        return Order(point, str(self._folder), str(system.topology), str(system.reference), names, facts, load)

    def _files(self, point: Point, system: System) -> list[Path]:
        """Return the trajectory, split into the number of files of the point."""
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
    """Return a copy of a file on `n_stripes` Lustre stripes; raise an `UnsupportedError` where they cannot be set."""
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


def _launch_of(point: Point) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the command of the interpreter for a point, and further environment variables.

    Raise an `UnsupportedError` if something is missing for the point.
    """
    package = _PACKAGES.get((point.program, point.executor))
    if package is not None and find_spec(package) is None:
        raise UnsupportedError(f"the package {package} is not installed")
    if point.program == "gmx" and shutil.which("gmx") is None:
        raise UnsupportedError("the program gmx is not installed")
    if point.format == "h5md" and find_spec("h5py") is None:
        raise UnsupportedError("the package h5py is not installed")
    if point.executor != "mpi":
        return (sys.executable,), {}
    return _on_ranks(point)


def _on_ranks(point: Point) -> tuple[tuple[str, ...], dict[str, str]]:
    """Start ranks of the MPI that the interpreter is made for."""
    beside = Path(sys.executable).parent
    if point.communication == "global-arrays":
        python, what = beside / "python-global-arrays", "an interpreter with Global Arrays"
        launchers = ("mpirun.openmpi", "mpirun", "mpiexec")
    elif point.access.startswith("hdf5"):
        python, what = beside.parent / "parallel-hdf5" / "bin" / "python", "an h5py for parallel HDF5"
        launchers = ("mpirun.openmpi", "mpirun", "mpiexec")
        if _has_parallel_h5py():
            python = Path(sys.executable)
    else:
        python, what = Path(sys.executable), "Python"
        launchers = (str(beside / "mpiexec"), "mpiexec", "mpirun")
    if not python.exists():
        raise UnsupportedError(f"there is no {python}: {what} was not built (docs/how-to/executors.md)")
    launcher = next((found for name in launchers if (found := shutil.which(name))), None)
    if launcher is None:
        raise UnsupportedError("there is no MPI launcher (mpiexec, mpirun)")
    ranks = ("-n", str(point.n_workers), str(python))
    done = subprocess.run([launcher, "--version"], capture_output=True, text=True)
    answer = (done.stdout + done.stderr).lower()
    if not any(name in answer for name in ("open mpi", "openrte", "prte")):
        return (launcher, *ranks), {}
    variables = _OPEN_MPI_VARIABLES | (_AS_ROOT if os.geteuid() == 0 else {})
    return (launcher, *_OPEN_MPI_OPTIONS, *ranks), variables


def _has_parallel_h5py() -> bool:
    """Return whether the h5py of this interpreter was built for MPI, as on clusters."""
    code = "import h5py, sys; sys.exit(not h5py.get_config().mpi)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
