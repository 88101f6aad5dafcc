"""The command of a fresh process for a point, and what is missing for it."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from mdreel.errors import UnsupportedError
from mdreel_lab.bench.grid import Point

_OPEN_MPI_OPTIONS = ("--oversubscribe", "--bind-to", "none")
"""There may be more ranks than cores; those bound to cores would wait for each other."""

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
}
"""What else must be installed for a program and an executor."""


Launch: TypeAlias = tuple[tuple[str, ...], dict[str, str]]
"""The command of a Python interpreter, and variables of its environment besides those of this process."""


def launch_of(point: Point) -> Launch:
    """Return how a point is started; raise an `UnsupportedError` if something is missing for it."""
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


def _on_ranks(point: Point) -> Launch:
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
        raise UnsupportedError(f"there is no {python}: {what} was not built (docs/executors.md)")
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
    """Whether the h5py of this interpreter was built for MPI, as clusters have it."""
    code = "import h5py, sys; sys.exit(not h5py.get_config().mpi)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
