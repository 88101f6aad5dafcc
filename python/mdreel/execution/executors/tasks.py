"""Scheduling of tasks on workers. Tasks are groups of consecutive blocks.

The blocks are determined when the run is planned, and are small. A task contains as many blocks as its worker can
complete in about a second. The scheduler measures the speed of each worker, so that slow workers receive smaller tasks.
Towards the end of the run, all tasks become smaller. When no blocks are left, free workers repeat late tasks, and the
result that arrives first is used. If the user has chosen the number of blocks, each block is a separate task, which is
computed only once.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from time import monotonic

TASK_SECONDS = 0.9
"""Intended duration of a task, in s. It is long compared to the cost of sending it, and short compared to a run."""

LEAD_SECONDS = 0.1
"""Time, in s, by which a worker receives its next task before the expected end of its current task."""

LATE = 1.5
"""A task is late if it takes longer than this multiple of the median time for its number of blocks."""

MOST_FAILURES = 2
"""Maximum number of times that a block can fail before it is not tried again."""


@dataclass(frozen=True, order=True)
class Task:
    """Consecutive blocks that a worker computes in one call.

    Attributes
    ----------
    first, end : int
        The first block, and the end of the range.
    number : int
        Number of the task. A copy of the task has a different number.
    """

    first: int
    end: int
    number: int

    def __len__(self) -> int:
        return self.end - self.first


@dataclass
class _Running:
    task: Task
    worker: int
    since: float


class TaskScheduler:
    """Scheduler that assigns the blocks of a run to workers.

    Parameters
    ----------
    ranges : iterable of (int, int)
        Ranges of missing blocks in ascending order, each with the first block and the end.
    n_workers : int
        Number of workers, which are numbered from 0.
    edges : sequence of int, optional
        Start of each worker's share, and the end of the last share, as returned by `Blocks.shares`. By default, the
        next blocks are assigned to the next free worker.
    one_by_one : bool
        Whether each block is a separate task that is never repeated.
    clock : callable
        Monotonic clock in seconds.
    """

    def __init__(
        self,
        ranges: Iterable[tuple[int, int]],
        n_workers: int,
        edges: Sequence[int] | None = None,
        one_by_one: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._n_workers = n_workers
        self._is_static = edges is not None
        self._one_by_one = one_by_one
        self._clock = clock
        self._end: int | None = None
        self._n_numbers = 0
        self._running: dict[int, _Running] = {}
        self._failures: dict[int, int] = {}
        self._seconds_per_block: dict[int, float] = {}
        self._finished: list[float] = []
        ranges = [(first, end) for first, end in ranges if first < end]
        shares = [ranges] if edges is None else _shares(ranges, edges)
        self._waiting = [sorted(share) for share in shares]

    @property
    def is_empty(self) -> bool:
        """Whether no block is waiting and no task is running."""
        return not self._running and not any(self._waiting)

    def take(self, worker: int, may_go_ahead: bool = True) -> Task | None:
        """Return the next task for a worker that is idle or about to complete its task.

        Parameters
        ----------
        worker : int
            The worker.
        may_go_ahead : bool
            Whether new blocks can be started. If not, only the block that the ordered merge needs next can be started.

        Returns
        -------
        Task or None
            The task, or None if there is currently no task for this worker. Unless `is_empty` is true, there can be
            tasks later.
        """
        held = [running for running in self._running.values() if running.worker == worker]
        if held and not self._is_nearly_done(held):
            return None
        waiting = self._waiting[worker if self._is_static else 0]
        if waiting and (may_go_ahead or self._is_first(waiting[0][0])):
            first, end = heapq.heappop(waiting)
            cut = min(end, first + self._n_blocks(worker, waiting, end - first))
            if cut < end:
                heapq.heappush(waiting, (cut, end))
            return self._begin(first, cut, worker)
        late = None if held or self._is_static or self._one_by_one else self._late(worker)
        return None if late is None else self._begin(late.first, late.end, worker)

    def came(self, number: int) -> bool:
        """Record that a task is complete. Return whether its result is used, or a copy has already been completed."""
        done = self._running.pop(number, None)
        if done is None:
            return False
        taken = (self._clock() - done.since) / len(done.task)
        self._seconds_per_block[done.worker] = taken
        self._finished.append(taken)
        for copy in self._copies(done.task):
            del self._running[copy]
        for running in self._running.values():
            if running.worker == done.worker:
                running.since = self._clock()  # the worker starts its next task now
        return True

    def failed(self, number: int) -> int | None:
        """Record that a task has failed or was lost with its worker, and reschedule its blocks one by one.

        Returns
        -------
        int or None
            The block that has failed too many times, if any.
        """
        lost = self._running.pop(number, None)
        if lost is None or self._copies(lost.task):
            return None
        task = lost.task
        waiting = self._waiting[lost.worker if self._is_static else 0]
        for block in range(task.first, task.end):
            self._failures[block] = self._failures.get(block, 0) + 1
            if self._failures[block] >= MOST_FAILURES and len(task) == 1:
                return block
            if self._end is None or block < self._end:
                heapq.heappush(waiting, (block, block + 1))
        return None

    def returned(self, number: int) -> None:
        """Reschedule the blocks of a task that was not started by its worker."""
        back = self._running.pop(number, None)
        if back is not None and not self._copies(back.task):
            waiting = self._waiting[back.worker if self._is_static else 0]
            end = back.task.end if self._end is None else min(back.task.end, self._end)
            if back.task.first < end:
                heapq.heappush(waiting, (back.task.first, end))

    def end_at(self, end: int) -> None:
        """Cancel ``end`` and all following blocks."""
        self._end = end if self._end is None else min(end, self._end)
        for waiting in self._waiting:
            waiting[:] = [(first, min(last, end)) for first, last in waiting if first < end]
            heapq.heapify(waiting)
        for number in [number for number, running in self._running.items() if running.task.first >= end]:
            del self._running[number]

    def is_running(self, number: int) -> bool:
        """Return whether a task is running and still needed."""
        return number in self._running

    def _begin(self, first: int, end: int, worker: int) -> Task:
        task = Task(first, end, self._n_numbers)
        self._n_numbers += 1
        self._running[task.number] = _Running(task, worker, self._clock())
        return task

    def _n_blocks(self, worker: int, waiting: list[tuple[int, int]], available: int) -> int:
        """Return the number of blocks in the next task for a worker."""
        if self._one_by_one:
            return 1
        if self._is_static:
            return available
        return task_size(self._pace(worker), available + sum(end - first for first, end in waiting), self._n_workers)

    def _is_nearly_done(self, held: list[_Running]) -> bool:
        """Return whether a worker has a single task and is about to complete it."""
        pace = self._pace(held[0].worker)
        if len(held) > 1 or pace is None:
            return False
        return self._clock() - held[0].since > pace * len(held[0].task) - LEAD_SECONDS

    def _pace(self, worker: int) -> float | None:
        """Return the time per block for a worker, in s, or None if it has not been measured yet."""
        return self._seconds_per_block.get(worker) or (median(self._finished) if self._finished else None)

    def _is_first(self, block: int) -> bool:
        return all(block < running.task.first for running in self._running.values())

    def _copies(self, task: Task) -> list[int]:
        same = (task.first, task.end)
        return [n for n, running in self._running.items() if (running.task.first, running.task.end) == same]

    def _late(self, worker: int) -> Task | None:
        """Return the latest of all late tasks that are running on a single other worker."""
        if not self._finished:
            return None
        now, pace = self._clock(), median(self._finished)
        late, task = LATE, None
        for running in self._running.values():
            lateness = (now - running.since) / (pace * len(running.task))
            if lateness > late and running.worker != worker and len(self._copies(running.task)) == 1:
                late, task = lateness, running.task
        return task


def task_size(pace: float | None, n_left: int, n_workers: int) -> int:
    """Return the number of blocks in the next task.

    Parameters
    ----------
    pace : float or None
        Time per block, in s, or None before the first measurement.
    n_left : int
        Number of blocks that have not been started by any worker.
    n_workers : int
        Number of workers.
    """
    if pace is None:
        return 1
    # The remaining blocks are shared by all workers, in tasks that become smaller and smaller.
    return max(1, min(int(TASK_SECONDS / max(pace, 1e-9)), math.ceil(n_left / (2 * n_workers))))


def _shares(ranges: list[tuple[int, int]], edges: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Split the ranges of missing blocks at the edges of the shares, in which only missing blocks are counted."""
    shares: list[list[tuple[int, int]]] = [[] for _ in edges[1:]]
    begun = 0
    for first, end in ranges:
        for share, (low, high) in zip(shares, pairwise(edges), strict=True):
            cut = (first + max(low - begun, 0), min(first + high - begun, end))
            if cut[0] < cut[1]:
                share.append(cut)
        begun += end - first
    return shares
