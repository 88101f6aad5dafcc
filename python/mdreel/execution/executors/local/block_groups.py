"""Groups of blocks between two writes of a checkpoint."""

from time import monotonic, perf_counter_ns

from mdreel.errors import FormatError, UnsupportedError
from mdreel.execution.choices import Schedule
from mdreel.execution.executors.ordered_merge import Gathering
from mdreel.execution.job import Monitor, Outcome
from mdreel.execution.memory import check_budget
from mdreel.execution.work import Work

STRETCH_SECONDS = 2.0
"""How much of a run may be lost when it is killed, about; all threads wait for each other at the end of a stretch."""


def run_here(work: Work, n_threads: int, schedule: Schedule) -> Outcome | None:
    """Run blocks on threads of this process; with a checkpoint, some after others.

    Parameters
    ----------
    work : Work
        The run.
    n_threads : int
        How many threads; with 1 the calling thread does everything.
    schedule : {"demand", "static"}
        Which thread takes which block.

    Returns
    -------
    Outcome or None
        None when blocks of bytes did not join.
    """
    check_budget(work, 0)
    if work.checkpoint is None:
        return work.job.run(work.blocks, n_threads, work.monitor, schedule)
    if work.job.source.is_growing:
        raise UnsupportedError(
            "a trajectory that grows cannot have a checkpoint: it may be another when it is read again"
        )
    gathering = Gathering(work)
    begun_ns = perf_counter_ns()
    n_blocks = n_threads
    while (stretch := next(gathering.missing(), None)) is not None:
        first, end = stretch[0], min(stretch[1], stretch[0] + n_blocks)
        before, began, began_ns = gathering.n_frames, monotonic(), perf_counter_ns()
        monitor = None if work.monitor is None else _Counting(work.monitor, before)
        try:
            part = work.job.map(work.blocks, first, end, n_threads=n_threads, monitor=monitor, schedule=schedule)
        except FormatError:
            if work.blocks.are_of_bytes:
                return None
            raise
        part.shift(began_ns - begun_ns)
        gathering.add(part)
        pace = (monotonic() - began) / (end - first)
        n_blocks = max(n_threads, min(2 * n_blocks, int(STRETCH_SECONDS / max(pace, 1e-9))))
    return gathering.finish()


class _Counting:
    """Adds the frames that were done before."""

    def __init__(self, monitor: Monitor, n_before: int) -> None:
        self._monitor = monitor
        self._n_before = n_before

    def __call__(self, n_frames: int) -> None:
        self._monitor(self._n_before + n_frames)
