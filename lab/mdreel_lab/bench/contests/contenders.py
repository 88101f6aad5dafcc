"""Commands of contenders, and the packages and programs that they need."""

import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from mdreel_lab.bench.contests.cases import Case, Contender
from mdreel_lab.bench.data import System
from mdreel_lab.bench.environment import REPOSITORY, RUST
from mdreel_lab.bench.peers.job import Job

EXAMPLES = {"decode": "core", "control": "core", "record_spans": "core", "channel": "channel"}
"""Examples that take part, with the crate of each."""

_CRATE = ("molly", "xdrfile", "floor")
_NEEDS = {
    "mdreel": "python:mdreel",
    "mdanalysis": "python:MDAnalysis",
    "mdtraj": "python:mdtraj",
    "chemfiles": "python:chemfiles",
    "freud": "python:freud",
    "scikit-learn": "python:sklearn",
    "gmx": "program:gmx",
    "cpptraj": "program:cpptraj",
    "straggler": "file:/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
}
_GATHERING = {
    "mmap": "gather the selected values from a memory map",
    "span": "read first to last selected value of each array",
    "frame": "read whole frames, 1 MiB at a time, and gather",
}


@dataclass(frozen=True)
class Entrant:
    """A contender with its command."""

    contender: Contender
    command: tuple[str, ...]

    def missing(self) -> str | None:
        """Return a message about a missing package, program or file; None if the contender can run."""
        sort, _, name = self.contender.needs.partition(":")
        if sort == "python" and find_spec(name) is None:
            return f"the Python package {name} is not installed"
        if sort == "program" and shutil.which(name) is None:
            return f"the program {name} is not installed"
        if sort == "file" and not Path(name).exists():
            return f"{Path(name).name} was not built"
        return None


def build() -> list[str]:
    """Build the Rust peers and the examples of the core; return what could not be built, one line each."""
    if shutil.which("cargo") is None:
        return ["cargo is not installed: no Rust peers, no floors"]
    if not RUST.is_dir():
        return [f"{RUST} is not there: no Rust peers, no floors; set PYTHONPATH to the folder lab of a checkout"]
    builds = {"peers": ["--manifest-path", str(RUST / "Cargo.toml"), "--target-dir", str(RUST / "target"), "--locked"]}
    for example, crate in EXAMPLES.items():
        builds[example] = ["--manifest-path", str(REPOSITORY / "Cargo.toml"), "--package", f"mdreel-{crate}"]
        builds[example] += ["--target-dir", str(REPOSITORY / "target"), "--example", example]
        builds[example] += ["--features", "internals"] if crate == "core" else []
    problems = []
    for name, arguments in builds.items():
        done = subprocess.run(["cargo", "build", "--release", *arguments], check=False, capture_output=True, text=True)
        if done.returncode:
            problems.append(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return problems


def program_of(name: str) -> Path:
    """Return the place of a Rust program."""
    return (RUST / "target/release" if name in _CRATE else REPOSITORY / "target/release/examples") / name


def job_of(case: Case, contender: Contender, system: System, times: int) -> Job:
    """Return the job of a contender of a case."""
    return Job(
        what=contender.what or case.what,
        way=contender.way,
        n_workers=contender.workers or contender.cores,
        topology=str(system.topology),
        reference=str(system.reference),
        trajectory=str(system.trajectory(case.format)),
        selection=str(system.selection(case.place)),
        n_times=times // contender.share,
        step=case.step,
    )


def entrants_of(case: Case, contenders: list[Contender], system: System, times: int) -> list[Entrant]:
    """Return all entrants of a case: contenders, then floors, then the control pass."""
    own = [entrant_of(contender, job_of(case, contender, system, times)) for contender in contenders]
    floors = _floors(case, system) if case.floors else []
    control = [one for one in own if one.contender.program == "control"]
    return [*(one for one in own if one not in control), *floors, *control]


def entrant_of(contender: Contender, job: Job) -> Entrant:
    """Return a contender with the command that does its job."""
    name = contender.program
    family = contender.family or contender.key
    if name in (*_CRATE, *EXAMPLES):
        words = {"molly": (job.trajectory, "all" if job.what == "read" else job.selection, job.way)}
        found = _rust(contender, *words.get(name, (job.trajectory,)))
        return replace(found, contender=replace(found.contender, family=family))
    command = [sys.executable, "-m", "mdreel_lab.bench.peers.process", name, job.to_json()]
    if job.way == "mpi":
        command = [str(Path(sys.executable).with_name("mpiexec")), "-n", str(job.n_workers), *command]
    needs = contender.needs or _NEEDS.get(name, "")
    return Entrant(replace(contender, needs=needs, family=family), tuple(command))


def _rust(contender: Contender, *arguments: str) -> Entrant:
    path = program_of(contender.program)
    return Entrant(replace(contender, needs=f"file:{path}"), (str(path), *arguments))


def _floors(case: Case, system: System) -> list[Entrant]:
    """Return the floors: reading the bytes from the page cache, copying as many, and gathering the selected values."""
    path = system.trajectory(case.format)

    def floor(way: str, text: str, *arguments: str) -> Entrant:
        made = Contender(
            key=f"floor-{way}", label=f"floor: {text}", program="floor", way=way, kind="floor", family="floor"
        )
        return _rust(made, *arguments)

    made = [
        floor("pread", "read the whole file from the page cache", "pread", str(path)),
        floor("memcpy", "memcpy of as many bytes", "memcpy", str(path.stat().st_size)),
    ]
    layouts = {"dcd": _dcd_layout, "ncdf": _netcdf_layout}
    if case.format in layouts:
        layout = map(str, layouts[case.format](system))
        words = (str(path), str(system.selection("start")), *layout)
        made += [floor(way, text, "gather", way, *words) for way, text in _GATHERING.items()]
    return made


def _dcd_layout(system: System) -> tuple[int, ...]:
    """Return the layout of the frames of a DCD file made by `mdreel_lab.bench.data`.

    The layout contains the position of the first frame and the distance between frames, in bytes. It also contains the
    number of adjacent values of an atom, and the positions of x, y and z within a frame, in bytes.
    """
    cell, axis = 4 + 48 + 4, 4 + 4 * _n_atoms(system) + 4
    stride = cell + 3 * axis
    first = system.trajectory("dcd").stat().st_size - system.n_frames * stride
    return (first, stride, 1, *(cell + 4 + axis * which for which in range(3)))


def _netcdf_layout(system: System) -> tuple[int, ...]:
    """Return the layout of the frames of a NetCDF file; see `_dcd_layout`."""
    size, stride = system.trajectory("ncdf").stat().st_size, 4 + 12 * _n_atoms(system)  # the atoms, and the time
    if size >= system.n_frames * (stride + 48):
        stride += 48  # a cell
    return (size - system.n_frames * stride, stride, 3, 0)


def _n_atoms(system: System) -> int:
    return system.reference.read_text(encoding="utf-8").count("\nATOM")
