"""RMSD with MDAnalysis and dask.delayed: blocks as tasks of one of Dask's schedulers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import dask.multiprocessing  # noqa: F401 (the scheduler of processes is loaded before the clock)
import numpy as np
from dask.delayed import delayed

from mdreel.execution.span_log import SpanLog
from mdreel.timing.spans import SPAN
from mdreel.timing.timing import Timing
from mdreel.timing.workers import Member, Watch
from mdreel_lab.bench.published.block import compute_block
from mdreel_lab.bench.published.frames import Block, Chosen, bytes_of_blocks
from mdreel_lab.bench.published.on_ranks import Outcome, block_edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdreel.execution.executors.dask.worker import Host
    from mdreel_lab.bench.grid import Point
    from mdreel_lab.bench.workload import Order


Process: TypeAlias = tuple[str, int]
"""Host and process ID of a process."""


class Task(NamedTuple):
    """Times of a task, and where it ran.

    Attributes
    ----------
    log : SpanLog
        Spans of the block, with the worker 0, measured with the clock of the process.
    member : Member
        The process, with its host.
    thread : int
        The thread of the process.
    """

    log: SpanLog
    member: Member
    thread: int

    @property
    def process(self) -> Process:
        """Host and process ID."""
        return self.member.host, self.member.process


class Done(NamedTuple):
    """Result of a task.

    Attributes
    ----------
    rows : ndarray, shape (n_frames, 2), float64
        Time (ps) and RMSD (Å) of each frame.
    task : Task
        Times of the task.
    """

    rows: NDArray[np.float64]
    task: Task


class Scheduler(NamedTuple):
    """One of Dask's schedulers, with workers that have started.

    Attributes
    ----------
    compute : callable
        Computes a delayed value.
    offsets_ns : dict
        Offsets that are added to the clocks of processes on other hosts, ns.
    """

    compute: Callable[[Any], Any]
    offsets_ns: dict[Process, int]


def prepare(order: Order) -> Callable[[], Outcome]:
    """Select the atoms, which is not timed, and return the run."""
    point = order.point
    chosen = Chosen.of(order.topology, order.paths, point.selection)
    edges = block_edges(chosen.n_frames, point.n_parts or point.n_workers)
    sizes = bytes_of_blocks(order.paths, edges)
    blocks = [
        Block(
            order.topology,
            tuple(order.paths),
            chosen.atoms,
            chosen.reference,
            first,
            end,
            n_bytes,
            order.load,
            number,
        )
        for number, ((first, end), n_bytes) in enumerate(zip(pairwise(edges), sizes, strict=True))
        if end > first
    ]

    def run() -> Outcome:
        with _scheduler(point, order.scheduler) as scheduler:
            begun_ns = perf_counter_ns()
            rows, tasks = scheduler.compute(delayed(join)([delayed(compute_task)(block) for block in blocks]))
            ended_ns = perf_counter_ns()
        timing = timing_of(tasks, begun_ns, ended_ns, scheduler.offsets_ns)
        return Outcome(rows, timing, (ended_ns - begun_ns) * 1e-9)

    return run


def compute_task(block: Block) -> Done:
    """Compute a block in a process of the scheduler."""
    rows, log = compute_block(block, 0)
    return Done(rows, Task(log, Watch().look().member, threading.get_ident()))


def describe_process() -> tuple[Process, Host]:
    """Return this process, its host and its clock, after this module has been imported, and with it MDAnalysis."""
    from mdreel.execution.executors.dask.worker import Host

    member = Watch().member
    return (member.host, member.process), Host.here()


def join(done: list[Done]) -> tuple[NDArray[np.float64], list[Task]]:
    """Concatenate the rows of all blocks, as the last task of the graph."""
    return np.vstack([one.rows for one in done]), [one.task for one in done]


@contextmanager
def _scheduler(point: Point, address: str | None) -> Iterator[Scheduler]:
    """Yield the scheduler of a point; a cluster starts before, as in the papers.

    With the address of a Dask scheduler, the point uses as many threads of its workers as it has workers.
    """
    if point.executor == "processes":
        yield Scheduler(lambda value: value.compute(scheduler="processes", num_workers=point.n_workers), {})
    elif address is not None:
        from mdreel_lab.bench.dask_workers import part_of_cluster

        with part_of_cluster(address, point.n_workers) as part:
            yield _scheduler_of(part)
    else:
        from mdreel.execution.executors.dask.cluster import connected

        with connected(None, point.n_workers) as client:
            client.wait_for_workers(point.n_workers)
            yield _scheduler_of(client)


def _scheduler_of(client: Any) -> Scheduler:
    """Return the scheduler of a client, with modules loaded in all workers and their clocks compared."""
    from mdreel.execution.executors.dask.worker import Host

    client.run(describe_process)  # the first call imports modules, which takes long
    here, asked_ns = Host.here(), perf_counter_ns()
    answers = client.run(describe_process)
    middle_ns = (asked_ns + perf_counter_ns()) // 2
    offsets_ns = {
        process: middle_ns - host.now_ns
        for process, host in answers.values()
        if (host.name, host.boot) != (here.name, here.boot)
    }
    return Scheduler(lambda value: client.compute(value).result(), offsets_ns)


def timing_of(tasks: Sequence[Task], begun_ns: int, ended_ns: int, offsets_ns: dict[Process, int]) -> Timing:
    """Join the spans of all blocks, and add those between them.

    A block waits from the submission until it starts. After its last block, a worker waits until all blocks are
    computed; then the results are transferred.

    Parameters
    ----------
    tasks : sequence of Task
        The blocks.
    begun_ns, ended_ns : int
        Start and end of the run, with the clock of this process, ns.
    offsets_ns : dict
        Offsets that are added to the clocks of processes on other hosts, ns. As all blocks are computed between the
        start and the end of the run, this bounds the error of an offset.

    Returns
    -------
    Timing
        Spans and members of all workers, which are numbered in the order of their first blocks.
    """
    own = [task.log.spans(0) for task in tasks]
    bounds = _bounds_of(tasks, own, begun_ns, ended_ns)
    spans = []
    for task in tasks:
        least, most = bounds[task.process]
        spans.append(task.log.spans(begun_ns - max(least, min(offsets_ns.get(task.process, 0), most))))
    order = sorted(range(len(tasks)), key=lambda i: int(spans[i]["start_ns"].min()))
    numbers: dict[tuple[Process, int], int] = {}
    free_ns: dict[int, int] = {}
    crew: dict[int, Member] = {}
    last_ns = max(int(of_block["stop_ns"].max()) for of_block in spans)
    between = SpanLog()
    for i in order:
        task = tasks[i]
        worker = numbers.setdefault((task.process, task.thread), len(numbers))
        spans[i]["worker"] = worker
        between.record("wait", worker, free_ns.get(worker, 0), int(spans[i]["start_ns"].min()), block=i)
        free_ns[worker] = int(spans[i]["stop_ns"].max())
        crew[worker] = max(crew.get(worker, task.member), task.member, key=lambda member: member.peak_bytes)
    for worker, free in free_ns.items():
        between.record("wait", worker, free, last_ns)
        between.record("communicate", worker, last_ns, ended_ns - begun_ns)
    return Timing(np.concatenate([np.empty(0, SPAN), *spans, between.spans(0)]), crew)


def _bounds_of(
    tasks: Sequence[Task], spans: Sequence[NDArray[np.void]], begun_ns: int, ended_ns: int
) -> dict[Process, tuple[int, int]]:
    """Return the least and the largest offset of the clock of each process with which its blocks are within the run."""
    found: dict[Process, tuple[int, int]] = {}
    for task, of_block in zip(tasks, spans, strict=True):
        least, most = begun_ns - int(of_block["start_ns"].min()), ended_ns - int(of_block["stop_ns"].max())
        others = found.get(task.process, (least, most))
        found[task.process] = max(least, others[0]), min(most, others[1])
    return found
