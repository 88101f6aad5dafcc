"""Workloads that mdreel computes at a point."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mdreel_lab.bench.grid import Point
from mdreel_lab.bench.in_memory import InMemory, load_frames
from mdreel_lab.bench.records import JsonLine, point_of
from mdreel_lab.bench.scenario import DEFAULT

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel.analysis.base.analysis import Analysis
    from mdreel.execution.executors.executor import Executor
    from mdreel.timing.timing import Timing
    from mdreel.trajectory.opener import Trajectory

CONTACT_CUTOFF = 8.0
"""Distance below which two atoms are in contact, Å. With a cutoff, only sums are kept, not all distances."""


@dataclass(frozen=True)
class Order(JsonLine):
    """The order of the process of a point.

    Attributes
    ----------
    facts : dict
        Facts that are known before the run and go into the record.
    load : int
        Number of RMSDs computed for each frame.
    scheduler : str or None
        Address of a Dask scheduler whose workers a point with Dask uses; without it, the point starts its own cluster.
    """

    point: Point
    folder: str
    topology: str
    reference: str
    paths: list[str]
    facts: dict[str, Any] = field(default_factory=dict)
    load: int = 1
    scheduler: str | None = None

    @classmethod
    def of_json(cls, text: str) -> Self:
        """Return the object of a line that `to_json` has written."""
        values = json.loads(text)
        return cls(point_of(Point, values.pop("point")), **values)


@dataclass(frozen=True)
class Result:
    """The time of a point, s, a number to which all of the result contributes, its spans, and facts."""

    seconds: float
    check: float | None = None
    timing: Timing | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def analyse(order: Order) -> Result:
    """Run an analysis; the clock starts after the topology is read and the executor is ready."""
    import MDAnalysis as mda

    from mdreel.analysis.base.one_pass import run
    from mdreel.analysis.topology.topology_file import open_topology

    point = order.point
    began = perf_counter()
    atoms = open_topology(order.topology).select_atoms(point.selection)
    topology_seconds = perf_counter() - began
    trajectory: Trajectory = order.paths
    with executor_of(point, order.scheduler) as found:
        executor: Any = found
        if point.frames == "memory":
            chosen = np.unique(atoms.ix).astype(np.uint32)
            trajectory = load_frames(order.paths, chosen)
            executor = InMemory(found, order.paths, chosen)
            atoms = mda.Universe.empty(len(chosen)).atoms
            run([analysis_of(order, atoms, trajectory)], backend=executor, stop=1)  # each worker makes its frames
        analysis = analysis_of(order, atoms, trajectory)
        is_default = point.access == DEFAULT or (point.access == "chain" and point.n_segments == 1)
        access: Any = None if is_default else point.access  # one file alone is no chain
        began = perf_counter()
        run([analysis], backend=executor, n_parts=point.n_parts, access=access)
        seconds = perf_counter() - began
    return Result(seconds, _check(point, analysis), analysis.timing, {"topology_seconds": topology_seconds})


def split(order: Order) -> Result:
    """Cut the trajectory into as many files as there are workers."""
    from mdreel.trajectory.split import split as split_trajectory

    point, path = order.point, Path(*order.paths)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        if point.executor == "mpi":
            from mdreel_lab.bench.rank_splitting import split_on_ranks

            seconds, n_frames, facts = split_on_ranks(path, Path(folder), point.n_workers)
            return Result(seconds, float(n_frames), None, facts)
        began = perf_counter()
        written = split_trajectory(
            path, Path(folder, f"part{path.suffix}"), n_parts=point.n_workers, n_workers=point.n_workers
        )
        seconds = perf_counter() - began
    return Result(seconds, float(written.n_frames), written.timing)


def analysis_of(order: Order, atoms: AtomGroup, trajectory: Trajectory) -> Analysis:
    """Return the analysis of an order."""
    from mdreel.analysis.dihedrals import Dihedrals
    from mdreel.analysis.distances import DistanceArray
    from mdreel.analysis.rmsd import RMSD

    if order.point.workload == "dihedrals":
        return Dihedrals(atoms, features="cos_sin", complete=True, trajectory=trajectory)
    if order.point.workload == "distance-array":
        return DistanceArray(atoms, reference=atoms, cutoff=CONTACT_CUTOFF, trajectory=trajectory)
    if order.load > 1:
        from mdreel_lab.bench.repeated_rmsd import RepeatedRMSD

        return RepeatedRMSD(atoms, order.load, trajectory=trajectory)
    return RMSD(atoms, trajectory=trajectory)


@contextmanager
def executor_of(point: Point, scheduler: str | None = None) -> Iterator[Executor]:
    """Yield the executor of a point; a cluster of Dask starts before the clock, as in the papers.

    With the address of a Dask scheduler, the executor uses as many threads of its workers as the point has workers.
    """
    from mdreel.execution.executors.dask.cluster import connected
    from mdreel.execution.executors.resolve_executor import executor_class

    schedule: Any = point.schedule
    make = executor_class(point.executor)
    if point.executor == "dask" and scheduler is not None:
        from mdreel_lab.bench.dask_workers import part_of_cluster

        with part_of_cluster(scheduler, point.n_workers) as part:
            yield make(schedule=schedule, client=part)
    elif point.executor == "dask":
        with connected(None, point.n_workers) as client:
            client.wait_for_workers(point.n_workers)
            yield make(schedule=schedule, client=client)
    elif point.executor == "mpi":
        communication: Any = None if point.communication == DEFAULT else point.communication
        yield make(point.n_workers, schedule, communication=communication)
    else:
        yield make(point.n_workers, schedule)


def _check(point: Point, analysis: Analysis) -> float:
    """Return the mean of the results."""
    results = analysis.results
    if point.workload == "rmsd":
        return float(results.rmsd[:, 2].mean())
    return float((results.mean if point.workload == "distance-array" else np.abs(results.angles)).mean())
