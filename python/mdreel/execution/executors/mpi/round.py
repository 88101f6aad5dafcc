"""One round of work on every rank."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from mdreel.errors import MdreelError
from mdreel.execution.executors.batches import LATE, ticket_size
from mdreel.execution.executors.mpi.assignment import Assignment
from mdreel.execution.executors.mpi.shared_counters import Board
from mdreel.execution.executors.remote_errors import Failure
from mdreel.execution.span_log import SpanLog
from mdreel.timing.workers import Watch

if TYPE_CHECKING:
    from mdreel._core import Blocks, Part
    from mdreel.execution.executors.mpi.rank_readers import Reading
    from mdreel.execution.job import Monitor

_PAUSE_SECONDS = 0.005


@dataclass
class HandedIn:
    """What a rank hands in at the end of a round.

    Attributes
    ----------
    parts : list of (Part, int)
        What it has done, and how many rows of it have gone to rank 0 on another way.
    failures : list of (int, Failure)
        Where it failed: the first block of the ticket, and why.
    log : SpanLog
        What it did besides, by its own clock.
    begun_ns : int
        When the round began, by that.
    where : str
        The rank and its host.
    watch : Watch
        What it keeps of itself.
    """

    where: str
    watch: Watch = field(default_factory=Watch)
    parts: list[tuple[Part, int]] = field(default_factory=list)
    failures: list[tuple[int, Failure]] = field(default_factory=list)
    log: SpanLog = field(default_factory=SpanLog)
    begun_ns: int = 0


class _Dropped(BaseException):
    """Nobody needs what is being done."""


class Round:
    """A rank's part in a round.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm
        The ranks.
    reading : Reading
        What to do with a block, and how the trajectory is read.
    blocks : Blocks
        All blocks of the run.
    assignment : Assignment
        Which of them are done in this round.
    handed_in : HandedIn
        Where what is done is put.
    keep : callable
        Called with each part that is done; returns how many rows it has taken from it.
    monitor : callable, optional
        Called with the number of frames that all ranks have done.
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
        self._board = Board(communicator, assignment.n_blocks)
        communicator.Barrier()
        # All ranks count from here: no clock of one host is compared with that of another.
        handed_in.begun_ns = self.begun_ns = perf_counter_ns()
        self.free_since_ns = self.begun_ns
        self._paces: list[float] = []
        self._n_frames = 0
        self._number = 0

    def run(self) -> None:
        """Do blocks until all are done, here or by others."""
        try:
            for first, end in self._tickets():
                for number, low, high in self._assignment.within(first, end):
                    self._do(number, low, high)
        except _Dropped:
            pass
        except BaseException:
            self._board.stop()
            raise

    def close(self) -> None:
        """Give up what the ranks have in common, together."""
        self._board.close()

    def _tickets(self) -> Iterator[tuple[int, int]]:
        """Give tickets, in numbers of the round."""
        n_blocks, size = self._assignment.n_blocks, self._communicator.size
        if self._assignment.schedule == "static":
            edges = self._blocks.shares(self._assignment.ranges, size)
            yield edges[self._rank], edges[self._rank + 1]
            self._reading.join()
            self._wait()
            return
        seen = 0
        while not self._board.is_stopped():
            pace = median(self._paces) if self._paces else None
            n = 1 if self._assignment.one_by_one else ticket_size(pace, n_blocks - seen, size)
            first = self._board.take(n)
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
        """Wait for a ticket that is late; None when all is done."""
        while not self._board.is_stopped():
            self._look(0)
            useless = self._first_useless()
            there = [row for row in self._board.under_way().tolist() if row[0] < useless]
            waiting = [row for row in there if not self._board.is_finished(row[0])]
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
        """Wait for the others without keeping a core busy."""
        self._board.begin(0, 0, 0)
        while self._board.under_way().size and not self._board.is_stopped():
            self._look(0)
            time.sleep(_PAUSE_SECONDS)

    def _first_useless(self) -> int:
        """Return the first block, in numbers of the round, that nobody needs."""
        end, begun = self._board.end(), 0
        for low, high in self._assignment.ranges:
            if end < high:
                return begun + max(end - low, 0)
            begun += high - low
        return begun

    def _do(self, number: int, first: int, end: int) -> None:
        begun_ns = perf_counter_ns()
        self._number = number
        self._board.begin(number, number + end - first, begun_ns - self.begun_ns)
        self._handed_in.log.record("wait", self._rank, self.free_since_ns, begun_ns, block=first)
        try:
            part = self._reading.job.map(self._blocks, first, end, monitor=self._look, worker=self._rank)
            self._hand_in(part, begun_ns)
        except _Dropped:
            if self._board.is_stopped():
                raise
        except Exception as error:  # noqa: BLE001 (whatever it is, rank 0 must be told)
            self._handed_in.failures.append((first, Failure.of(error)))
            if isinstance(error, MdreelError):
                self._board.end_at(first)
            self._board.finish(number, number + end - first)
        else:
            self._board.finish(number, number + end - first)
            self._paces.append((perf_counter_ns() - begun_ns) * 1e-9 / (end - first))
        self._board.begin(0, 0, 0)
        self.free_since_ns = perf_counter_ns()

    def _hand_in(self, part: Part, begun_ns: int) -> None:
        part.shift(begun_ns - self.begun_ns)
        if part.is_last:
            self._board.end_at(part.end)
        n_frames = part.n_frames
        self._handed_in.watch.look()
        self._handed_in.parts.append((part, self._keep(part)))
        self._n_frames += n_frames

    def _look(self, n_frames: int) -> None:
        """Look up from work, every few milliseconds."""
        self._reading.look()
        self._handed_in.watch.look()
        # Somebody must call MPI here now and then, or what others ask of this rank's memory may have to wait.
        self._communicator.Iprobe()
        self._board.report(self._n_frames + n_frames)
        if self._monitor is not None:
            self._monitor(self._board.n_frames())
        if n_frames and (self._board.is_stopped() or self._board.is_finished(self._number)):
            raise _Dropped
