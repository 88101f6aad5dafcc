"""Commands that start the process of a point, or its MPI ranks on the hosts of an allocation."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from mdreel.errors import UnsupportedError
from mdreel_lab.bench.allocation import Allocation
from mdreel_lab.bench.exchange.nodes import HOST
from mdreel_lab.bench.grid import Point
from mdreel_lab.bench.placement import places_text, spread

_OPEN_MPI_OPTIONS = ("--oversubscribe", "--bind-to", "none")
"""Options that allow more ranks than cores; ranks bound to cores would wait for each other."""

_OPEN_MPI_VARIABLES = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_osc": "^ucx"}
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
_THREAD_LEVEL = "MPI4PY_RC_THREAD_LEVEL"
_PASSED_ON = ("MDREEL_CACHE_DIR", "PYTHONWARNINGS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Variables that Open MPI passes to ranks on other hosts only if it is told to."""

_MPICH_FIRST = (str(Path(sys.executable).with_name("mpiexec")), "mpiexec", "mpirun")

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

_SHELL = """\
#!/bin/sh
# Called as ssh is: a host and a command. The command goes into a file, which all hosts see, because some launchers
# give words to a shell and others run them.
[ "$1" != -x ] || shift
host=$1
shift
order=$(mktemp -p {folder})
printf '%s\\n' "$*" > "$order"
exec {command} sh "$order"
"""


@dataclass(frozen=True)
class Launch:
    """The words before the arguments of the interpreter, further environment variables, and the ranks of each host."""

    words: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)


@contextmanager
def launch_of(point: Point, allocation: Allocation, folder: Path) -> Iterator[Launch]:
    """Yield the command of the interpreter for a point. The folder, which all hosts see, is for temporary files.

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
        yield Launch((sys.executable,))
        return
    python, launchers = _interpreter_of(point)
    places = spread(allocation.hosts, point.n_workers)
    if allocation.ranks:
        yield Launch((*allocation.command_on_ranks(point.n_workers), str(python)), {}, places)
        return
    launcher = next((found for name in launchers if (found := shutil.which(name))), None)
    if launcher is None:
        raise UnsupportedError("there is no MPI launcher (mpiexec, mpirun)")
    ranks = ("-n", str(point.n_workers), str(python))
    with _remote_shell(allocation, folder) as shell:
        if version := _version_of_open_mpi(launcher):
            options, variables = _options_of_open_mpi(version, places, shell)
        else:
            options, variables = _options_of_mpich(places, shell), {}
        yield Launch((launcher, *options, *ranks), variables, places)


def _interpreter_of(point: Point) -> tuple[Path, Sequence[str]]:
    """Return the interpreter of ranks, and the launchers of the MPI that it is made for."""
    beside = Path(sys.executable).parent
    launchers: Sequence[str] = ("mpirun.openmpi", "mpirun", "mpiexec")
    if point.communication == "global-arrays":
        python, what = beside / "python-global-arrays", "an interpreter with Global Arrays"
    elif point.access.startswith("hdf5"):
        python, what = beside.parent / "parallel-hdf5" / "bin" / "python", "an h5py for parallel HDF5"
        if _has_parallel_h5py():
            python = Path(sys.executable)
        if not _uses_open_mpi(python):
            launchers = _MPICH_FIRST
    else:
        python, what = Path(sys.executable), "Python"
        launchers = _MPICH_FIRST
    if not python.exists():
        raise UnsupportedError(f"there is no {python}: {what} was not built (docs/how-to/executors.md)")
    return python, launchers


def _version_of_open_mpi(launcher: str) -> int:
    """Return the major version of the Open MPI that has a launcher; 0 if it is the launcher of a different MPI."""
    done = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False)
    answer = (done.stdout + done.stderr).lower()
    if "prte" in answer:  # the launcher of version 5, with a version of its own
        return 5
    found = re.search(r"\((?:open mpi|openrte)\) (\d+)", answer)
    return int(found[1]) if found else 0


def _options_of_mpich(places: dict[str, int], shell: Path | None) -> tuple[str, ...]:
    """Return the options of hydra, which MPICH and Intel MPI share."""
    reach = () if shell is None else ("-launcher", "ssh", "-launcher-exec", str(shell))
    return (*reach, "-hosts", places_text(places)) if places else ()


def _options_of_open_mpi(
    version: int, places: dict[str, int], shell: Path | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    variables = _OPEN_MPI_VARIABLES | (_AS_ROOT if os.geteuid() == 0 else {})
    if shell is not None:  # of version 5, and of version 4
        variables |= {"PRTE_MCA_plm_ssh_agent": str(shell), "OMPI_MCA_plm_rsh_agent": str(shell)}
        # A batch system would start the daemons by itself.
        variables |= {"PRTE_MCA_plm": "ssh", "OMPI_MCA_plm": "rsh"}
    if not places:
        return _OPEN_MPI_OPTIONS, variables
    if version < 5 and len(places) > 1:  # without remote memory access, its windows work with one thread only
        variables[_THREAD_LEVEL] = os.environ.get(_THREAD_LEVEL, "serialized")
    names = [*_PASSED_ON, *(name for name in os.environ if name == "PYTHONPATH" or name.startswith("UCX_"))]
    passed = [word for name in (*names, *({_THREAD_LEVEL} & variables.keys())) for word in ("-x", name)]
    return (*_OPEN_MPI_OPTIONS, *passed, "--host", places_text(places)), variables


@contextmanager
def _remote_shell(allocation: Allocation, folder: Path) -> Iterator[Path | None]:
    """Yield a program that MPI calls as it calls ssh, made of the launcher of the allocation; None if it has none."""
    if not allocation.launcher or not allocation.hosts:
        yield None
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".launch-", dir=folder) as made:
        place = Path(made).resolve()
        if shlex.quote(str(place)) != str(place):
            raise UnsupportedError(f"{place.parent}: launchers need a path without spaces and special characters")
        words = [_with_host(word) for word in allocation.launcher]
        shell = place / "shell"
        shell.write_text(_SHELL.format(folder=place, command=" ".join(words)))
        shell.chmod(0o700)
        yield shell


def _with_host(word: str) -> str:
    """Quote a word of a launcher for a shell, with the variable ``host`` for its placeholder."""
    parts = re.split(f"({re.escape(HOST)})", word)
    return "".join('"$host"' if part == HOST else shlex.quote(part) for part in parts if part)


def _has_parallel_h5py() -> bool:
    """Return whether the h5py of this interpreter was built for MPI, as on clusters."""
    code = "import h5py, sys; sys.exit(not h5py.get_config().mpi)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def _uses_open_mpi(python: Path) -> bool:
    """Return whether the mpi4py of an interpreter uses Open MPI."""
    if not python.exists():
        return False
    code = "from mpi4py import MPI; print(MPI.Get_library_version())"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return "open mpi" in done.stdout.lower()
