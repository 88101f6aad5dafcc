"""A round of work on each rank."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from mdreel.errors import MdreelError
from mdreel.execution.executors.mpi.assignment import Assignment
from mdreel.execution.executors.mpi.shared_counters import SharedCounters
from mdreel.execution.executors.remote_errors import Failure
from mdreel.execution.executors.tasks import LATE, task_size
from mdreel.execution.span_log import SpanLog
from mdreel.timing.workers import Watch

if TYPE_CHECKING:
    from mdreel._core import Blocks, Part
    from mdreel.execution.executors.mpi.rank_readers import Reading
    from mdreel.execution.job import Monitor

_PAUSE_SECONDS = 0.005


@dataclass
class HandedIn:
    """Record of a rank, which rank 0 gathers at the end of a round.

    Attributes
    ----------
    parts : list of (Part, int)
        Results, and the number of rows that were taken by a `ResultTransfer`.
    failures : list of (int, Failure)
        Errors, together with the first block of their tasks.
    log : SpanLog
        Spans of all other activities, measured with the clock of the rank.
    begun_ns : int
        Start of the round, measured with the same clock.
    where : str
        Rank and host.
    watch : Watch
        Memory and processor time used by the rank.
    """

    where: str
    watch: Watch = field(default_factory=Watch)
    parts: list[tuple[Part, int]] = field(default_factory=list)
    failures: list[tuple[int, Failure]] = field(default_factory=list)
    log: SpanLog = field(default_factory=SpanLog)
    begun_ns: int = 0


class _Cancelled(BaseException):
    """Raised if the current task is no longer needed."""


class Round:
    """Computation of a single rank in a round.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm
        The ranks.
    reading : Reading
        Access to the frames, including the job.
    blocks : Blocks
        All blocks of the run.
    assignment : Assignment
        Blocks of this round.
    handed_in : HandedIn
        Record that receives the results of this rank.
    keep : callable
        Function that is called with each complete part. It returns the number of rows that it has taken.
    monitor : callable, optional
        Function that is called with the number of frames that all ranks have analysed.
    """

    def __init__(
        self,
        communicator: Any,
        reading: Reading,
        blocks: Blocks,
        assignment: Assignment,
        handed_in: HandedIn,
        keep: Callable[[Part], int],
        monitor: Monitor | None,
    ) -> None:
        self._communicator = communicator
        self._rank = communicator.rank
        self._reading = reading
        self._blocks = blocks
        self._assignment = assignment
        self._handed_in = handed_in
        self._keep = keep
        self._monitor = monitor
        self._counters = SharedCounters(communicator, assignment.n_blocks)
        communicator.Barrier()
        # All ranks count time from here, so that no clocks of different hosts are compared.
        handed_in.begun_ns = self.begun_ns = perf_counter_ns()
        self.free_since_ns = self.begun_ns
        self._paces: list[float] = []
        self._n_frames = 0
        self._number = 0

    def run(self) -> None:
        """Compute blocks until all ranks have completed all blocks."""
        try:
            for first, end in self._tasks():
                for number, low, high in self._assignment.within(first, end):
                    self._do(number, low, high)
        except _Cancelled:
            pass
        except BaseException:
            self._counters.stop()
            raise

    def close(self) -> None:
        """Free the shared counters collectively."""
        self._counters.close()

    def _tasks(self) -> Iterator[tuple[int, int]]:
        """Yield the first block and the end of each task, numbered within the round."""
        n_blocks, size = self._assignment.n_blocks, self._communicator.size
        if self._assignment.schedule == "static":
            edges = self._blocks.shares(self._assignment.ranges, size)
            yield edges[self._rank], edges[self._rank + 1]
            self._reading.join()
            self._wait()
            return
        seen = 0
        while not self._counters.is_stopped():
            pace = median(self._paces) if self._paces else None
            n = 1 if self._assignment.one_by_one else task_size(pace, n_blocks - seen, size)
            first = self._counters.take(n)
            seen = first + n
            if first >= min(n_blocks, self._first_useless()):
                break
            yield first, min(first + n, n_blocks)
        if self._assignment.one_by_one:
            self._wait()
            return
        while (late := self._late()) is not None:
            yield late

    def _late(self) -> tuple[int, int] | None:
        """Wait for a late task. Return None when all blocks are complete."""
        while not self._counters.is_stopped():
            self._look(0)
            useless = self._first_useless()
            there = [row for row in self._counters.under_way().tolist() if row[0] < useless]
            waiting = [row for row in there if not self._counters.is_finished(row[0])]
            if not waiting:
                return None
            held = [(first, end) for first, end, _ in waiting]
            pace = median(self._paces) if self._paces else None
            now_ns = perf_counter_ns() - self.begun_ns
            for first, end, since_ns in sorted(waiting, key=lambda row: row[2]):
                is_late = pace is not None and now_ns - since_ns > LATE * pace * (end - first) * 1e9
                if is_late and held.count((first, end)) == 1:
                    return first, end
            time.sleep(_PAUSE_SECONDS)
        return None

    def _wait(self) -> None:
        """Wait for the other ranks without keeping a core busy."""
        self._counters.begin(0, 0, 0)
        while not (self._counters.is_stopped() or self._is_complete()):
            self._look(0)
            time.sleep(_PAUSE_SECONDS)

    def _is_complete(self) -> bool:
        """Return whether all required blocks are complete. A rank may not yet have begun its first block."""
        if self._counters.under_way().size:
            return False
        return self._counters.are_finished(min(self._assignment.n_blocks, self._first_useless()))

    def _first_useless(self) -> int:
        """Return the first block that is not needed, numbered within the round."""
        end, begun = self._counters.end(), 0
        for low, high in self._assignment.ranges:
            if end < high:
                return begun + max(end - low, 0)
            begun += high - low
        return begun

    def _do(self, number: int, first: int, end: int) -> None:
        begun_ns = perf_counter_ns()
        self._number = number
        self._counters.begin(number, number + end - first, begun_ns - self.begun_ns)
        self._handed_in.log.record("wait", self._rank, self.free_since_ns, begun_ns, block=first)
        try:
            part = self._reading.job.map(self._blocks, first, end, monitor=self._look, worker=self._rank)
            self._hand_in(part, begun_ns)
        except _Cancelled:
            if self._counters.is_stopped():
                raise
        except Exception as error:  # noqa: BLE001 (rank 0 must know of every error)
            self._handed_in.failures.append((first, Failure.of(error)))
            if isinstance(error, MdreelError):
                self._counters.end_at(first)
            self._counters.finish(number, number + end - first)
        else:
            self._counters.finish(number, number + end - first)
            self._paces.append((perf_counter_ns() - begun_ns) * 1e-9 / (end - first))
        self._counters.begin(0, 0, 0)
        self.free_since_ns = perf_counter_ns()

    def _hand_in(self, part: Part, begun_ns: int) -> None:
        part.shift(begun_ns - self.begun_ns)
        if part.is_last:
            self._counters.end_at(part.end)
        n_frames = part.n_frames
        self._handed_in.watch.look()
        self._handed_in.parts.append((part, self._keep(part)))
        self._n_frames += n_frames

    def _look(self, n_frames: int) -> None:
        """Report progress and check for cancellation. It is called every few milliseconds during a computation."""
        self._reading.look()
        self._handed_in.watch.look()
        # Calling MPI lets one-sided requests of other ranks make progress.
        self._communicator.Iprobe()
        self._counters.report(self._n_frames + n_frames)
        if self._monitor is not None:
            self._monitor(self._counters.n_frames())
        if n_frames and (self._counters.is_stopped() or self._counters.is_finished(self._number)):
            raise _Cancelled
