"""Scenarios of analyses: the data, the ways of running, and the published values."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from mdreel.errors import MismatchError
from mdreel.execution.access import ACCESSES, MPIIO, PARALLEL_HDF5
from mdreel.foundation.toml_schema import entry
from mdreel_lab.bench.data import FORMS, SELECTION, SYSTEMS

WORKLOADS = ("rmsd", "distance-array", "dihedrals", "empty-tasks", "split")
SIZES = ("small", "full")
SCALINGS = ("strong", "weak")
DEFAULT = "default"
"""Value of settings that leaves the choice to mdreel."""

EXECUTORS: Mapping[str, tuple[str, ...]] = {
    "mdreel": ("serial", "threads", "processes", "dask", "mpi"),
    "mdanalysis": ("serial", "multiprocessing", "dask"),
    "mdtraj": ("serial",),
    "gmx": ("serial",),
    "dask": ("threads", "processes", "distributed", "distributed-threads"),
    "published": ("mpi", "processes", "distributed"),
}
"""The executors of each program.

Those of ``dask`` are its schedulers, for empty tasks. ``published`` is MDAnalysis as the papers ran it: on ranks with
mpi4py, or with ``dask.delayed`` on one of Dask's schedulers.
"""

PEERS = ("mdanalysis", "mdtraj", "gmx", "published")
"""Programs of others."""

QUANTITIES: Mapping[str, str] = {
    "seconds": "t_total (s)",
    "speed-up": "S(N)",
    "efficiency": "E(N)",
    "io": "t_io per frame (ms)",
    "compute": "t_comp per frame (ms)",
    "overhead": "overhead (s)",
    "ratio": "R_comp/io",
    "opening": "t_open (s)",
    "communication": "t_comm (s)",
    "ratio-comm": "R_comp/comm",
    "throughput": "tasks per second",
}
"""Quantities of figures, tables and published values, with their headings."""

FIGURES = (
    *QUANTITIES,
    "stream",
    "ranks",
    "violin",
    "progress",
    "bars",
    "components",
    "split-times",
    "tasks",
    "scheduler-times",
    "speed-up-over-ratio",
    "efficiency-over-ratio",
)
TABLES = (
    "scaling",
    "observables",
    "ratios",
    "tasks-per-worker",
    "scheduler-times",
    "splitting",
    "throughput",
    "peers",
    "stragglers",
    "storage",
)

_ACCESSES = (DEFAULT, *ACCESSES)
_FORMATS_OF_MPIIO = {"xtc", "dcd"}


@dataclass(frozen=True, kw_only=True)
class Data:
    """The data of a scenario."""

    system: str = entry("The system.", "adk", choices=tuple(SYSTEMS))
    topology: str = entry("Your own topology instead of the system, relative to this file.", "")
    trajectory: str = entry("Your own trajectory, in any format that mdreel reads, relative to this file.", "")
    selection: str = entry("The atoms, in MDAnalysis's selection language.", SELECTION)
    cache: str = entry(
        "State of the page cache before a run: the file was read once, is not cached, or is an uncached copy.",
        "warm",
        choices=("warm", "cold", "copy"),
    )
    storage: tuple[str, ...] = entry(
        "Folders on different file systems from which the trajectory is read; each is a series.", ()
    )
    scaling: str = entry(
        "Whether the number of frames is that of the size, or grows with the number of workers.",
        "strong",
        choices=SCALINGS,
    )


@dataclass(frozen=True, kw_only=True)
class Size:
    """The size of the runs of a scenario."""

    factor: tuple[float, ...] = entry(
        "Lengths as multiples of the published trajectory (4,187 frames) or of your own; each is a series.", (1.0,)
    )
    workers: tuple[int, ...] = entry("Numbers of workers.", (1, 2), least=1)
    repeats: int = entry("Number of repeats of each point.", 1, least=1)
    tasks: int = entry("Number of empty tasks.", 100_000, least=1)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Ways of running: each combination of the settings is a series of points over numbers of workers."""

    label: str | None = entry("Name of the series.  [default: the settings that differ from other series]", None)
    program: tuple[str, ...] = entry("The program.", ("mdreel",), choices=tuple(EXECUTORS))
    executor: tuple[str, ...] = entry(
        "The executor.", choices=tuple(dict.fromkeys(name for names in EXECUTORS.values() for name in names))
    )
    format: tuple[str, ...] = entry("Format of the trajectory.", ("xtc",), choices=tuple(FORMS))
    access: tuple[str, ...] = entry("How workers read the file.", (DEFAULT,), choices=_ACCESSES)
    communication: tuple[str, ...] = entry(
        "With mpi, how results reach rank 0.", (DEFAULT,), choices=(DEFAULT, "gather", "window", "global-arrays")
    )
    schedule: tuple[str, ...] = entry("How blocks are assigned to workers.", ("demand",), choices=("demand", "static"))
    parts_per_worker: tuple[int, ...] = entry("Blocks per worker; with 0, mdreel chooses.", (0,), least=0)
    load: tuple[int, ...] = entry("Number of RMSD computations per frame; one result is kept.", (1,), least=1)
    ratio: tuple[float, ...] = entry(
        "R_comp/io of one worker; a pilot run chooses the load that reaches it. With 0, the load is used.",
        (0.0,),
        least=0,
    )
    small_factor: float | None = entry("Length at the small size, instead of its factor.", None)
    frames: tuple[str, ...] = entry(
        "Location of the frames: in a file, or in memory before the clock starts.",
        ("file",),
        choices=("file", "memory"),
    )
    stripes: tuple[int, ...] = entry(
        "Number of stripes on file systems with stripes; 0 for the default.", (0,), least=0
    )
    workers: tuple[int, ...] | None = entry("Numbers of workers, instead of those of the size.", None, least=1)


@dataclass(frozen=True, kw_only=True)
class Published:
    """Published values."""

    source: str = entry("Paper, and the figure, table or section.")
    quantity: str = entry("The quantity.", choices=tuple(QUANTITIES))
    label: str = entry("Name of the series.")
    points: tuple[tuple[float, float], ...] = entry(
        "Pairs of a number of workers (of a ratio: how often the RMSD is computed) and the value."
    )


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A scenario, as described in its file."""

    title: str = entry("Title of the scenario.")
    paper: str = entry("Paper and figures with the published values.", "")
    about: str = entry("Description, with the differences from the paper.", "")
    workload: str = entry("The workload.", "rmsd", choices=WORKLOADS)
    # What these are by default cannot be changed, and neither can what `entry` makes of them.
    data: Data = entry("The data.", Data())  # noqa: RUF009
    small: Size = entry("The small size.", Size())  # noqa: RUF009
    full: Size = entry("The full size.", Size())  # noqa: RUF009
    grid: tuple[Grid, ...] = entry("Grids of settings.")
    published: tuple[Published, ...] = entry("Published values.", ())
    figures: tuple[str, ...] = entry("Figures of the report.", (), choices=FIGURES)
    tables: tuple[str, ...] = entry("Tables of the report.", ("scaling",), choices=TABLES)

    def size(self, name: str) -> Size:
        """Return one of `SIZES`."""
        return {"small": self.small, "full": self.full}[name]

    def with_repeats(self, n: int) -> Self:
        """Return the scenario with this number of repeats at every size."""
        return replace(self, small=replace(self.small, repeats=n), full=replace(self.full, repeats=n))


def check(where: str, scenario: Scenario) -> None:
    """Raise a `MismatchError` if settings contradict each other."""
    for name in SIZES:
        for factor in scenario.size(name).factor:
            if not factor > 0:
                raise MismatchError(f"{where}: {name}: factor must be more than 0, not {factor:g}")
    if bool(scenario.data.topology) != bool(scenario.data.trajectory):
        raise MismatchError(f"{where}: data: topology and trajectory go together")
    for i, grid in enumerate(scenario.grid, 1):
        for problem in _problems(scenario.workload, grid):
            raise MismatchError(f"{where}: grid {i}: {problem}")


def _problems(workload: str, grid: Grid) -> list[str]:
    """Return messages about settings of a grid that contradict each other."""
    found = [problem for program in grid.program for problem in _problems_of(program, workload, grid)]
    is_mpi = set(grid.executor) == {"mpi"}
    if grid.communication != (DEFAULT,) and not is_mpi:
        found.append("communication is for executor = 'mpi'")
    found += _problems_of_access(grid)
    if "memory" in grid.frames and grid.access != (DEFAULT,):
        found.append("frames = 'memory' have no access")
    if "memory" in grid.frames and grid.ratio != (0.0,):
        found.append("frames = 'memory' have no ratio: nothing is read")
    if grid.load != (1,) and grid.ratio != (0.0,):
        found.append("give either load or ratio")
    if grid.small_factor is not None and not grid.small_factor > 0:
        found.append(f"small-factor must be more than 0, not {grid.small_factor:g}")
    if "memory" in grid.frames and "processes" in grid.executor:
        found.append("frames = 'memory' are made before the run, but processes begin with it")
    if workload == "split" and not set(grid.executor) <= {"threads", "mpi"}:
        found.append("the workload split is for executor = 'threads' and 'mpi'")
    return found


def _problems_of_access(grid: Grid) -> list[str]:
    """Return messages about accesses that need the executor mpi."""
    found = []
    is_mpi = set(grid.executor) == {"mpi"}
    parallel = [access for access in grid.access if access in PARALLEL_HDF5]
    if parallel and (not is_mpi or grid.format != ("h5md",)):
        found.append(f"access = {parallel[0]!r} is for executor = 'mpi' and format = 'h5md'")
    through_mpi = [access for access in grid.access if access in MPIIO]
    if through_mpi and not (is_mpi and set(grid.format) <= _FORMATS_OF_MPIIO):
        found.append(f"access = {through_mpi[0]!r} is for executor = 'mpi' and format = 'xtc' or 'dcd'")
    collective = [access for access in grid.access if access.endswith("-collective")]
    if collective and grid.schedule != ("static",):
        found.append(f"access = {collective[0]!r} needs schedule = 'static'")
    return found


def _problems_of(program: str, workload: str, grid: Grid) -> list[str]:
    """Return messages about settings that a program does not support."""
    found = []
    unknown = [name for name in grid.executor if name not in EXECUTORS[program]]
    if unknown:
        found.append(f"{program} has no executor {unknown[0]!r}; it has {', '.join(EXECUTORS[program])}")
    if program == "dask" and workload != "empty-tasks":
        found.append("program = 'dask' is for the workload empty-tasks")
    if program in PEERS and workload != "rmsd":
        found.append(f"program = {program!r} is for the workload rmsd")
    is_repeatable = program in ("mdreel", "published") and workload == "rmsd"
    if grid.load != (1,) and not is_repeatable:
        found.append("load is for the workload rmsd of mdreel and published")
    if grid.ratio != (0.0,) and not is_repeatable:
        found.append("ratio is for the workload rmsd of mdreel and published")
    if "memory" in grid.frames and not is_repeatable:
        found.append("frames = 'memory' is for the workload rmsd of mdreel and published")
    return [*found, *(_problems_of_published(grid) if program == "published" else [])]


def _problems_of_published(grid: Grid) -> list[str]:
    """Return messages about settings that the programs of the papers do not support."""
    found = []
    if grid.schedule != ("static",):
        found.append("program = 'published' needs schedule = 'static': the papers have no other")
    unknown = [one for one in grid.access if one not in (DEFAULT, "shared", "chain", "segments", "hdf5-independent")]
    if unknown:
        found.append(f"program = 'published' has no access = {unknown[0]!r}")
    if "window" in grid.communication:
        found.append("program = 'published' has communication = 'gather' or 'global-arrays'")
    if set(grid.executor) != {"mpi"} and (grid.access != (DEFAULT,) or grid.frames != ("file",)):
        found.append("program = 'published' has access and frames for executor = 'mpi'")
    return found
