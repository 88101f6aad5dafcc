"""Coordinator that distributes blocks to workers in other processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import TYPE_CHECKING

import numpy as np

from mdreel.errors import FormatError, MdreelError, WorkerError
from mdreel.execution.executors.ordered_merge import OrderedMerge
from mdreel.execution.executors.remote_errors import Failure
from mdreel.execution.executors.tasks import Task, TaskScheduler
from mdreel.execution.span_log import SpanLog
from mdreel.timing.spans import COORDINATOR

if TYPE_CHECKING:
    from mdreel._core import Part
    from mdreel.execution.choices import Schedule
    from mdreel.execution.job import Outcome
    from mdreel.execution.work import Work
    from mdreel.timing.workers import Member

BYTES_AHEAD = 256 << 20
"""Memory limit for results that wait for the results of earlier frames, unless the user specifies a limit."""

BYTES_PER_FRAME = 40
"""Memory that each waiting frame needs for spans, in addition to its row."""


class BlocksDidNotJoin(Exception):  # noqa: N818 (not an error: the run is planned again)
    """Raised if a block of bytes does not begin at a frame."""


@dataclass(frozen=True)
class TaskTimes:
    """Times of a task (measured by the coordinator's `time.perf_counter_ns`), and the process that computed it.

    Attributes
    ----------
    begun_ns, ended_ns : int
        Start and end times of the computation.
    arrived_ns : int
        Time at which the result arrived at the coordinator.
    member : Member
        The worker's process.
    turn_ns : int
        Time at which the transfer of the result could start if results are transferred one after another.
    """

    begun_ns: int
    ended_ns: int
    arrived_ns: int
    member: Member
    turn_ns: int = 0


class Coordinator:
    """Coordinator that assigns the blocks of a run to workers and merges the results.

    Parameters
    ----------
    work : Work
        The run.
    n_workers : int
        Number of workers, which are numbered from 0.
    schedule : {"demand", "static"}
        How blocks are assigned: each block to the next free worker, or one share of all blocks to each worker.

    Attributes
    ----------
    begun_ns : int
        Start of the run, as returned by `time.perf_counter_ns`.
    """

    def __init__(self, work: Work, n_workers: int, schedule: Schedule) -> None:
        self._work = work
        self.begun_ns = perf_counter_ns()
        self._merge = OrderedMerge(work)
        missing = list(self._merge.missing())
        edges = work.blocks.shares(missing, n_workers) if schedule == "static" else None
        self._tasks = TaskScheduler(missing, n_workers, edges, work.one_by_one)
        self._under_way: dict[int, int] = {}
        self._log = SpanLog()
        self._travelling: dict[int, tuple[TaskTimes, int]] = {}
        self._free_since_ns: dict[int, int] = {}
        self._lost_ns: dict[int, int] = {}
        self._crew: dict[int, Member] = {}
        self._row_bytes = 8 * work.job.kernel.row_width
        ahead = BYTES_AHEAD if work.memory is None else work.memory // 4
        self._frames_ahead = max(ahead // (self._row_bytes + BYTES_PER_FRAME), 1)

    @property
    def is_done(self) -> bool:
        """Whether the results of all needed blocks have arrived."""
        return self._merge.is_complete

    def take(self, worker: int) -> Task | None:
        """Return the next task for a worker, or None if there is currently no task for this worker."""
        return self._tasks.take(worker, self._merge.n_waiting_frames < self._frames_ahead)

    def is_wanted(self, task: Task) -> bool:
        """Return whether the result of a task is still needed."""
        return self._tasks.is_running(task.number)

    def ready(self, worker: int, at_ns: int, since_ns: int | None = None) -> None:
        """Record that a worker has opened the trajectory.

        `since_ns` is the time at which the worker began to open it. By default, this is the start of the run, or the
        time at which its predecessor was lost. Times are measured with `time.perf_counter_ns` of this process.
        """
        since_ns = self._lost_ns.get(worker, self.begun_ns) if since_ns is None else since_ns
        self._free_since_ns[worker] = self._log.record("open", worker, since_ns, at_ns)

    def all_ready(self) -> None:
        """Record that all workers have waited until the last worker was ready."""
        last_ns = max(self._free_since_ns.values(), default=0)
        for worker, since_ns in self._free_since_ns.items():
            self._free_since_ns[worker] = self._log.record("wait", worker, since_ns, last_ns)

    def progress(self, worker: int, n_frames: int) -> None:
        """Record how many frames of its current task a worker has analysed."""
        self._under_way[worker] = n_frames

    def came(self, worker: int, task: Task, part: Part, worked: TaskTimes) -> None:
        """Merge the result of a task."""
        self._under_way.pop(worker, None)
        known = self._crew.get(worker, worked.member)
        self._crew[worker] = worked.member if known.peak_bytes <= worked.member.peak_bytes else known
        if not self._tasks.came(task.number):
            return  # a copy of the task was complete before
        self._arrived(worker, worked.begun_ns)
        free_since_ns = self._free_since_ns.get(worker, worked.begun_ns)
        self._log.record("wait", worker, free_since_ns, worked.begun_ns, block=task.first)
        self._free_since_ns[worker] = worked.ended_ns
        self._travelling[worker] = (worked, part.n_frames)
        part.shift(worked.begun_ns - self.begun_ns)
        if part.is_last:
            self._tasks.end_at(part.end)
        since_ns, n_frames = perf_counter_ns(), part.n_frames
        self._merge.add(part)
        self._log.record("reduce", COORDINATOR, since_ns, n_frames=n_frames)

    def failed(self, worker: int, task: Task, failure: Failure, where: str) -> None:
        """Handle an error that occurred in a task.

        mdreel errors are caused by the data, so every worker would raise the same error. In this case, the run raises
        the error after all earlier blocks are complete. Any other error could be caused by the worker, so the blocks
        are tried once more.

        Raises
        ------
        WorkerError
            If a block has failed too many times.
        BlocksDidNotJoin
            If the blocks are ranges of bytes, and a block did not begin at a frame.
        """
        self._under_way.pop(worker, None)
        if not self._tasks.is_running(task.number):
            return
        if isinstance(failure.error, MdreelError):
            if isinstance(failure.error, FormatError) and self._work.blocks.are_of_bytes:
                raise BlocksDidNotJoin
            self._tasks.end_at(task.first)
            self._merge.fail(task.first, failure.error)
            return
        block = self._tasks.failed(task.number)
        if block is not None:
            last = f"block {block} failed twice, the last time on worker {worker} ({where})"
            raise failure.of_block(last)

    def lost(self, worker: int, tasks: Sequence[Task], where: str, why: str) -> None:
        """Handle the loss of a worker and its tasks. Of these, the worker had only started the first task.

        Raises
        ------
        WorkerError
            If another worker has already been lost with the same block.
        """
        self._under_way.pop(worker, None)
        self._arrived(worker)
        self._free_since_ns.pop(worker, None)
        self._lost_ns[worker] = perf_counter_ns()
        for task in tasks[1:]:
            self._tasks.returned(task.number)
        block = self._tasks.failed(tasks[0].number) if tasks else None
        if block is not None:
            raise WorkerError(
                f"block {block} was lost twice, the last time with worker {worker} ({where}), which {why}"
            )

    def report(self) -> None:
        """Report the number of analysed frames to the monitor."""
        if self._work.monitor is not None:
            self._work.monitor(self._merge.n_frames + sum(self._under_way.values()))

    def finish(self) -> Outcome | None:
        """Return the outcome, or None if any block of bytes did not begin at a frame."""
        outcome = self._merge.finish()
        if outcome is None:
            return None
        for worker in list(self._travelling):
            self._arrived(worker)
        spans = np.concatenate([outcome.spans, self._log.spans(self.begun_ns)])
        return replace(outcome, spans=spans, crew=self._crew)

    def _arrived(self, worker: int, until_ns: int | None = None) -> None:
        """Record the transfer of a worker's last result, until the time at which the worker started another task."""
        if worker not in self._travelling:
            return
        worked, n_frames = self._travelling.pop(worker)
        stop_ns = worked.arrived_ns if until_ns is None else min(worked.arrived_ns, until_ns)
        since_ns = self._free_since_ns[worker]
        if worked.turn_ns > since_ns:
            since_ns = self._log.record("wait", worker, since_ns, min(worked.turn_ns, stop_ns))
        n_bytes = n_frames * self._row_bytes
        since_ns = self._log.record("communicate", worker, since_ns, stop_ns, n_frames=n_frames, n_bytes=n_bytes)
        self._free_since_ns[worker] = since_ns
