"""Rate at which schedulers hand out empty tasks.

The executors of mdreel hand out blocks of one frame, and each worker reads one atom of its frame.
The tasks of Dask do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from mdreel_lab.bench.workload import Order, Result, executor_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdreel_lab.bench.grid import Point

_N_POINTS = 200
"""Largest number of points of the curve of tasks done over time."""


def hand_out(order: Order) -> Result:
    """Time empty tasks."""
    return _blocks(order) if order.point.program == "mdreel" else _of_dask(order.point, order.scheduler)


def nothing(number: int = 0) -> None:
    """Do nothing."""
    del number


def _blocks(order: Order) -> Result:
    """Run blocks of one frame with an executor of mdreel."""
    from mdreel._core import FrameSet, Pass, rmsd
    from mdreel.execution.job import Job
    from mdreel.execution.pipeline import run
    from mdreel.timing.spans import KINDS
    from mdreel.trajectory.open import open as open_trajectory

    point = order.point
    source = open_trajectory(order.paths)
    numbers = np.resize(np.arange(source.n_frames, dtype=np.uint64), point.n_tasks)
    atoms = np.zeros(1, np.uint32)
    reference = np.array(source.read(FrameSet.range(0, 1, 1), atoms).positions[0], np.float64)
    job = Job(source, atoms, Pass.of(rmsd(reference, None, False)))
    with executor_of(point, order.scheduler) as executor:
        began = perf_counter()
        outcome = executor.share(lambda: run(job, FrameSet.list(numbers), executor, n_parts=point.n_tasks))
        seconds = perf_counter() - began
    spans = outcome.spans[outcome.spans["kind"] == KINDS.index("compute")]
    return Result(seconds, float(len(outcome.rows)), facts={"progress": _curve(spans["stop_ns"] * 1e-9)})


def _of_dask(point: Point, scheduler: str | None) -> Result:
    """Run tasks with one of Dask's schedulers."""
    if point.executor in ("threads", "processes"):
        scheduled = _locally(point)
    elif point.executor == "distributed" and scheduler is not None:
        scheduled = _on_running_cluster(point, scheduler)
    else:
        scheduled = _on_cluster(point)
    with scheduled as (submit, done_ns):
        began_ns = perf_counter_ns()
        n_done = submit()
        seconds = (perf_counter_ns() - began_ns) * 1e-9
    since = (np.array(done_ns, np.float64) - began_ns) * 1e-9
    return Result(seconds, float(n_done), facts={"progress": _curve(since)})


Submitted = tuple[Callable[[], int], list[int]]
"""A function that submits the tasks and waits for them, and the list of the times when each was done."""


@contextmanager
def _locally(point: Point) -> Iterator[Submitted]:
    """Yield Dask's scheduler of threads or processes, with tasks that exist before the clock starts."""
    dask: Any = import_module("dask")
    callbacks: Any = import_module("dask.callbacks")

    tasks = [dask.delayed(nothing, pure=False)(number) for number in range(point.n_tasks)]
    done_ns: list[int] = []
    with callbacks.Callback(posttask=lambda *_: done_ns.append(perf_counter_ns())):
        yield (
            lambda: len(dask.compute(*tasks, scheduler=point.executor, num_workers=point.n_workers)),
            done_ns,
        )


@contextmanager
def _on_running_cluster(point: Point, scheduler: str) -> Iterator[Submitted]:
    """Yield workers of a running cluster. Their tasks are not timed one by one: that would need a plug-in there."""
    from mdreel_lab.bench.dask_workers import part_of_cluster

    with part_of_cluster(scheduler, point.n_workers) as part:
        client: Any = part
        yield lambda: len(client.gather(client.map(nothing, range(point.n_tasks), pure=False))), []


@contextmanager
def _on_cluster(point: Point) -> Iterator[Submitted]:
    """Yield a cluster with a process for each worker, or a process with a thread for each worker."""
    from distributed import Client, SchedulerPlugin

    from mdreel.execution.executors.dask.cluster import local_cluster

    done_ns: list[int] = []

    class Watching(SchedulerPlugin):
        """A plug-in that records when tasks are done."""

        def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
            """Record the time when a task is done."""
            if finish == "memory":
                done_ns.append(perf_counter_ns())

    n_processes = 1 if point.executor == "distributed-threads" else point.n_workers
    n_threads = point.n_workers // n_processes
    with (
        local_cluster(n_processes, n_threads) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(n_processes)
        assert cluster.scheduler is not None
        cluster.scheduler.add_plugin(Watching(), name="watching")
        yield lambda: len(client.gather(client.map(nothing, range(point.n_tasks), pure=False))), done_ns


def _curve(seconds: NDArray[np.float64] | Sequence[float]) -> dict[str, list[float]]:
    """Return the number of completed tasks over time, with at most `_N_POINTS` points."""
    ordered = np.sort(np.asarray(seconds, np.float64))
    if not len(ordered):
        return {"seconds": [], "tasks": []}
    places = np.unique(np.linspace(1, len(ordered), min(_N_POINTS, len(ordered))).astype(int))
    return {"seconds": ordered[places - 1].tolist(), "tasks": places.astype(float).tolist()}
