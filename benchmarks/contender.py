"""Who takes part: a contender is a command that does one job and prints what it took."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from peers.job import Job

if TYPE_CHECKING:
    from mdreel_lab.bench.data import System

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
RUST = HERE / "peers" / "rust"

NEEDS = {
    "mdreel": "python:mdreel",
    "at_once": "python:mdreel",
    "static_blocks": "python:dask",
    "mdtraj_pool": "python:mdtraj",
    "mdanalysis": "python:MDAnalysis",
    "libmdaxdr": "python:MDAnalysis",
    "mdtraj": "python:mdtraj",
    "chemfiles": "python:chemfiles",
    "gmx": "program:gmx",
    "cpptraj": "program:cpptraj",
}
"""What the Python files of peers need."""


@dataclass(frozen=True)
class Contender:
    """One way of doing the job of a case.

    Parameters
    ----------
    key
        Name within the case.
    label
        Name in the full table.
    family
        Contenders of one family are ways of the same reader; the fastest stands for it in the short table.
    command
        What to run.
    cores
        Cores it may use.
    kind
        ``ours``, ``peer`` or ``floor``.
    index
        Whether mdreel finds an index of the frames: ``kept`` or ``none``.
    needs
        What must be there: ``python:MODULE``, ``program:NAME`` or ``file:PATH``.
    """

    key: str
    label: str
    family: str
    command: tuple[str, ...]
    cores: int = 1
    kind: str = "peer"
    index: str = "kept"
    needs: str = ""

    def missing(self) -> str | None:
        """Say what is missing, or return None when the contender can run."""
        sort, _, name = self.needs.partition(":")
        if sort == "python" and importlib.util.find_spec(name) is None:
            return f"the Python package {name} is not installed"
        if sort == "program" and shutil.which(name) is None:
            return f"the program {name} is not installed"
        if sort == "file" and not Path(name).exists():
            return f"{Path(name).name} was not built"
        return None


def build() -> list[str]:
    """Build the Rust peers, and mdreel's own examples, in release mode.

    Returns
    -------
    list of str
        What could not be built, one line each.
    """
    if shutil.which("cargo") is None:
        return ["cargo is not installed: no Rust peers, no floors"]
    builds = {"peers": ["--manifest-path", str(RUST / "Cargo.toml"), "--target-dir", str(RUST / "target"), "--locked"]}
    examples = {"decode": "core", "control": "core", "record_spans": "core", "channel": "channel"}
    for example, crate in examples.items():
        if (REPOSITORY / f"crates/mdreel-{crate}/examples" / f"{example}.rs").exists():
            builds[example] = ["--manifest-path", str(REPOSITORY / "Cargo.toml"), "--package", f"mdreel-{crate}"]
            builds[example] += ["--target-dir", str(REPOSITORY / "target"), "--example", example]
            builds[example] += ["--features", "internals"] if crate == "core" else []
    problems = []
    for name, arguments in builds.items():
        done = subprocess.run(["cargo", "build", "--release", *arguments], check=False, capture_output=True, text=True)
        if done.returncode:
            problems.append(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return problems


def rust(name: str, label: str, way: str, *arguments: str, kind: str = "peer") -> Contender:
    """Return one of the programs of peers/rust."""
    path = RUST / "target/release" / name
    family = "floor" if kind == "floor" else name
    key = f"{name}-{way}" if way else name
    return Contender(key, label, family, (str(path), *arguments), kind=kind, needs=f"file:{path}")


def example(name: str, label: str, *arguments: str, kind: str = "ours") -> Contender:
    """Return one of the examples of our crates."""
    path = REPOSITORY / "target/release/examples" / name
    family = "mdreel-1" if kind == "ours" else "floor"
    return Contender(name, label, family, (str(path), *arguments), kind=kind, needs=f"file:{path}")


def python(module: str, label: str, job: Job, cores: int = 1, family: str = "", needs: str = "") -> Contender:
    """Return one of the Python files of peers."""
    key = "-".join(part for part in (module, job.way, str(cores)) if part)
    command = (sys.executable, "-m", f"peers.{module}", job.to_json())
    needs = needs or NEEDS[module]
    return Contender(key, label, family or module, command, cores=cores, needs=needs)


def job(
    system: System,
    form: str,
    what: str = "rmsd",
    *,
    place: str = "start",
    way: str = "",
    n_workers: int = 1,
    n_times: int = 1,
) -> Job:
    """Return a job on one system."""
    selection = system.start if place == "start" else system.end
    trajectory = str(system.trajectory(form))
    return Job(what, way, n_workers, str(system.topology), str(system.reference), trajectory, str(selection), n_times)


def ours(system: System, form: str, place: str, cores: int, index: str = "kept", *, n_times: int = 1) -> Contender:
    """Return mdreel's RMSD with one thread a core; ``n_times`` says how often the trajectory is read."""
    label = f"mdreel, {cores} thread{'s' if cores > 1 else ''}"
    made = python(
        "mdreel", label, job(system, form, place=place, way="threads", n_workers=cores, n_times=n_times), cores
    )
    made = replace(made, key=f"mdreel-{cores}", family=f"mdreel-{cores}", kind="ours", index=index)
    if index == "none":
        made = replace(made, key=f"{made.key}-first", family="mdreel-first", label=f"{label}, first pass (no index)")
    return made
