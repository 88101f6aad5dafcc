"""RMSD with MDAnalysis and dask.delayed: blocks as tasks of one of Dask's schedulers."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

import dask.multiprocessing  # noqa: F401 (the scheduler of processes is loaded before the clock)
import numpy as np
from dask.delayed import delayed

from mdreel.execution.span_log import SpanLog
from mdreel.timing.spans import SPAN
from mdreel.timing.timing import Timing
from mdreel_lab.bench.published.block import compute_block
from mdreel_lab.bench.published.frames import Block, Chosen, bytes_of_blocks
from mdreel_lab.bench.published.on_ranks import Outcome, block_edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdreel_lab.bench.grid import Point
    from mdreel_lab.bench.workload import Order


class Done(NamedTuple):
    """Result of a task.

    Attributes
    ----------
    rows : ndarray, shape (n_frames, 2), float64
        Time (ps) and RMSD (Å) of each frame.
    log : SpanLog
        Spans of the block, with the worker 0.
    process : tuple of str and int
        Host and process that computed the block.
    """

    rows: NDArray[np.float64]
    log: SpanLog
    process: tuple[str, int]


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
        with _scheduler(point) as compute:
            begun_ns = perf_counter_ns()
            rows, done = compute(delayed(join)([delayed(compute_task)(block) for block in blocks]))
            ended_ns = perf_counter_ns()
        return Outcome(rows, _timing_of(done, begun_ns, ended_ns), (ended_ns - begun_ns) * 1e-9)

    return run


def compute_task(block: Block) -> Done:
    """Compute a block in a process of the scheduler."""
    rows, log = compute_block(block, 0)
    return Done(rows, log, (socket.gethostname(), os.getpid()))


def load() -> None:
    """Do nothing: a process that receives this function has imported this module, and with it MDAnalysis."""


def join(done: list[Done]) -> tuple[NDArray[np.float64], list[tuple[SpanLog, tuple[str, int]]]]:
    """Concatenate the rows of all blocks, as the last task of the graph."""
    return np.vstack([one.rows for one in done]), [(one.log, one.process) for one in done]


@contextmanager
def _scheduler(point: Point) -> Iterator[Callable[[Any], Any]]:
    """Yield a function that computes a delayed value; a cluster starts before, as in the papers."""
    if point.executor == "processes":
        yield lambda value: value.compute(scheduler="processes", num_workers=point.n_workers)
        return
    from mdreel.execution.executors.dask.cluster import connected

    with connected(None, point.n_workers) as client:
        client.wait_for_workers(point.n_workers)
        client.run(load)
        yield lambda value: client.compute(value).result()


def _timing_of(done: list[tuple[SpanLog, tuple[str, int]]], begun_ns: int, ended_ns: int) -> Timing:
    """Join the spans of all blocks, and add those between them.

    A block waits from the submission until it starts. After its last block, a worker waits until all blocks are
    computed; then the results are transferred.
    """
    spans = [log.spans(begun_ns) for log, _ in done]
    order = sorted(range(len(done)), key=lambda i: int(spans[i]["start_ns"].min()))
    workers = {process: number for number, process in enumerate(dict.fromkeys(done[i][1] for i in order))}
    free_ns = dict.fromkeys(workers.values(), 0)
    last_ns = max(int(of_block["stop_ns"].max()) for of_block in spans)
    between = SpanLog()
    for i in order:
        worker = workers[done[i][1]]
        spans[i]["worker"] = worker
        between.record("wait", worker, free_ns[worker], int(spans[i]["start_ns"].min()), block=i)
        free_ns[worker] = int(spans[i]["stop_ns"].max())
    for worker, free in free_ns.items():
        between.record("wait", worker, free, last_ns)
        between.record("communicate", worker, last_ns, ended_ns - begun_ns)
    return Timing(np.concatenate([np.empty(0, SPAN), *spans, between.spans(0)]))
