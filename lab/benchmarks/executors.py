"""The cases of executors: how fast each is with 2 workers, what that is of the machine, what a slow worker costs."""

from __future__ import annotations

import math
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cases import Case, Goal, Plan
from contender import Contender, job, python
from measure import launch
from peers.straggler import QUOTA_US, SLOWED_QUOTA_US

if TYPE_CHECKING:
    from mdreel_lab.bench.data import System

N_WORKERS = 4
LEFT = (N_WORKERS - 1 + SLOWED_QUOTA_US / QUOTA_US) / N_WORKERS
"""What is left of the capacity of all workers when one of them is slowed."""

STRAGGLER_TIMES = 3
"""How often the file is read where a worker is slowed: a run of some seconds on two cores."""

SERIAL_SECONDS = 35.0
"""How long one worker should take where an efficiency is learned: long against what starting takes."""

BACKENDS = {"threads": "threads", "processes": "processes", "mpi": "ranks of MPI", "dask": "workers of Dask"}
"""Backends that have several workers, and what those are called."""

EFFICIENCY = {"threads": 0.95, "processes": 0.95, "mpi": 0.95, "dask-cluster": 0.90}
"""What is aimed at, of the backends with their workers; ranks and clusters are there before the clock starts."""


def on_backend(system: System, backend: str, n_workers: int, n_times: int = 1) -> Contender:
    """Return mdreel's RMSD on a backend."""
    work = job(system, "xtc", way=backend, n_workers=n_workers, n_times=n_times)
    names = BACKENDS | {"dask-cluster": "workers of a Dask cluster that is there"}
    text = "mdreel, serial" if backend == "serial" else f"mdreel, {n_workers} {names[backend]}"
    needs = {"mpi": "python:mpi4py", "dask": "python:distributed", "dask-cluster": "python:distributed"}.get(
        backend, ""
    )
    made = replace(python("mdreel", text, work, n_workers, needs=needs), key=backend, family=backend, kind="ours")
    if backend == "mpi":
        launcher = (str(Path(sys.executable).with_name("mpiexec")), "-n", str(n_workers))
        made = replace(made, command=(*launcher, *made.command))
    return made


def _backends(system: System, name: str) -> Case:
    contenders = [on_backend(system, "serial", 1), *(on_backend(system, backend, 2) for backend in BACKENDS)]
    for way in ("multiprocessing", "dask"):
        work = job(system, "xtc", way=way, n_workers=2)
        contenders.append(python("mdanalysis", f'MDAnalysis, backend="{way}", 2 processes', work, 2))
    work = job(system, "xtc", n_workers=2)
    contenders.append(python("static_blocks", "dask.delayed over MDAnalysis, a static block a process", work, 2))
    contenders.append(python("mdtraj_pool", "mdtraj, iterload in a pool of 2 processes", work, 2))
    return Case(name, "Cα RMSD from XTC with 2 workers", system, "xtc", tuple(contenders), ())


def _times(system: System) -> int:
    """Say how often the file is to be read, an even number, so that one worker takes long enough."""
    with tempfile.TemporaryDirectory() as cache:
        seconds: float = launch(on_backend(system, "serial", 1), Path(cache))["seconds"]
    return 2 * math.ceil(SERIAL_SECONDS / seconds / 2)


def _efficiency(system: System, name: str) -> Case:
    # The file several times, one after the other. The processes of the floor read half of that each, at the same time.
    n_times = _times(system)
    several = replace(system, n_frames=n_times * system.n_frames)
    half = job(system, "xtc", way="threads", n_workers=2, n_times=n_times // 2)
    floor = python("at_once", "floor: 2 processes that know nothing of each other, half each", half, 2, family="floor")
    contenders = (
        on_backend(system, "serial", 1, n_times),
        *(on_backend(system, backend, 2, n_times) for backend in (*BACKENDS, "dask-cluster")),
        replace(floor, kind="floor"),
    )
    goals = [
        Goal(f"2 workers of {backend} against serial: twice E(2) of {bound:.2f}", ("serial",), (backend,), 2 * bound)
        for backend, bound in EFFICIENCY.items()
    ]
    title = "Efficiency of 2 workers: Cα RMSD from a long XTC, read as segments"
    return Case(name, title, several, "xtc", contenders, tuple(goals))


def _stragglers(system: System, name: str) -> Case:
    def contender(way: str, text: str) -> Contender:
        work = job(system, "xtc", way=way, n_workers=N_WORKERS, n_times=STRAGGLER_TIMES)
        needs = "file:/sys/fs/cgroup/cpu/cpu.cfs_quota_us"
        return replace(python("straggler", text, work, 2, way, needs), kind="ours", key=way)

    several = replace(system, n_frames=STRAGGLER_TIMES * system.n_frames)
    contenders = (
        contender("demand", "on demand, no worker slowed"),
        contender("demand-slowed", "on demand, 1 of 4 workers at a tenth"),
        contender("static-slowed", "static blocks, 1 of 4 workers at a tenth"),
        contender("oversubscribed-slowed", "3 blocks a worker, 1 of 4 workers at a tenth"),
    )
    ideal = f"against no worker slowed (ideal {1 / LEFT:.2f})"
    bound = round(1.15 / LEFT, 2)
    goals = (Goal(f"on demand, {ideal}", ("demand-slowed",), ("demand",), bound, at_least=False),)
    title = "A straggler: 4 worker processes with half a core each, of which one is slowed ten-fold"
    return Case(name, title, several, "xtc", contenders, goals)


EXECUTORS = {
    "backends": Plan("adk", ("xtc",), _backends, long=True),
    "efficiency": Plan("adk", ("xtc",), _efficiency, long=True),
    "stragglers": Plan("adk", ("xtc",), _stragglers, long=True),
}
"""The cases by name, in the order in which they run."""
