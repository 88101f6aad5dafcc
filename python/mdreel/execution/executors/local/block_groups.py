"""Groups of blocks. A checkpoint is written after each group."""

from time import monotonic, perf_counter_ns

from mdreel.errors import FormatError, UnsupportedError
from mdreel.execution.choices import Schedule
from mdreel.execution.executors.ordered_merge import OrderedMerge
from mdreel.execution.job import Monitor, Outcome
from mdreel.execution.memory import check_budget
from mdreel.execution.work import Work

GROUP_SECONDS = 2.0
"""Approximate time, in s, that is lost if a run is killed. Threads wait for each other at the end of a group."""


def run_here(work: Work, n_threads: int, schedule: Schedule) -> Outcome | None:
    """Run blocks on threads of this process. With a checkpoint, run one group of blocks after another.

    Parameters
    ----------
    work : Work
        The run.
    n_threads : int
        Number of threads. If it is 1, all computations are carried out on the calling thread.
    schedule : {"demand", "static"}
        How blocks are assigned: each block to the next free thread, or one share of all blocks to each thread.

    Returns
    -------
    Outcome or None
        The outcome, or None if any block of bytes did not begin at a frame.
    """
    check_budget(work, 0)
    if work.checkpoint is None:
        return work.job.run(work.blocks, n_threads, work.monitor, schedule)
    if work.job.source.is_growing:
        raise UnsupportedError(
            "a growing trajectory cannot have a checkpoint, because the file may have changed when it is read again"
        )
    merge = OrderedMerge(work)
    begun_ns = perf_counter_ns()
    n_blocks = n_threads
    while (missing := next(merge.missing(), None)) is not None:
        first, end = missing[0], min(missing[1], missing[0] + n_blocks)
        before, began, began_ns = merge.n_frames, monotonic(), perf_counter_ns()
        monitor = None if work.monitor is None else _Counting(work.monitor, before)
        try:
            part = work.job.map(work.blocks, first, end, n_threads=n_threads, monitor=monitor, schedule=schedule)
        except FormatError:
            if work.blocks.are_of_bytes:
                return None
            raise
        part.shift(began_ns - begun_ns)
        merge.add(part)
        pace = (monotonic() - began) / (end - first)
        n_blocks = max(n_threads, min(2 * n_blocks, int(GROUP_SECONDS / max(pace, 1e-9))))
    return merge.finish()


class _Counting:
    """Monitor that includes the frames of earlier groups."""

    def __init__(self, monitor: Monitor, n_before: int) -> None:
        self._monitor = monitor
        self._n_before = n_before

    def __call__(self, n_frames: int) -> None:
        self._monitor(self._n_before + n_frames)
