"""Coordinator that distributes blocks to workers in other processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import TYPE_CHECKING

import numpy as np

from mdreel.errors import FormatError, MdreelError, WorkerError
from mdreel.execution.executors.batches import Ticket, Tickets
from mdreel.execution.executors.ordered_merge import Gathering
from mdreel.execution.executors.remote_errors import Failure
from mdreel.execution.span_log import SpanLog
from mdreel.timing.spans import COORDINATOR

if TYPE_CHECKING:
    from mdreel._core import Part
    from mdreel.execution.choices import Schedule
    from mdreel.execution.job import Outcome
    from mdreel.execution.work import Work
    from mdreel.timing.workers import Member

BYTES_AHEAD = 256 << 20
"""What results may take that wait for those of a frame before them, unless memory is given."""

BYTES_PER_FRAME = 40
"""What a waiting frame takes beside its row: its share of spans."""


class BlocksDidNotJoin(Exception):  # noqa: N818 (it is no error: the run is planned anew)
    """A block of bytes met what is no frame."""


@dataclass(frozen=True)
class Worked:
    """When a ticket was done, and by whom; times are of the coordinator's `time.perf_counter_ns`.

    Attributes
    ----------
    begun_ns, ended_ns : int
        From when to when the worker worked on it.
    arrived_ns : int
        When what it became was here.
    member : Member
        The worker's process.
    turn_ns : int
        Since when nothing else was on its way in its place, where results come one after another.
    """

    begun_ns: int
    ended_ns: int
    arrived_ns: int
    member: Member
    turn_ns: int = 0


class Coordinator:
    """Hands out the blocks of a run and gathers what comes back.

    Parameters
    ----------
    work : Work
        The run.
    n_workers : int
        How many workers there are, numbered from 0.
    schedule : {"demand", "static"}
        Who takes which block.

    Attributes
    ----------
    begun_ns : int
        When the run began, by `time.perf_counter_ns`.
    """

    def __init__(self, work: Work, n_workers: int, schedule: Schedule) -> None:
        self._work = work
        self.begun_ns = perf_counter_ns()
        self._gathering = Gathering(work)
        missing = list(self._gathering.missing())
        edges = work.blocks.shares(missing, n_workers) if schedule == "static" else None
        self._tickets = Tickets(missing, n_workers, edges, work.one_by_one)
        self._under_way: dict[int, int] = {}
        self._log = SpanLog()
        self._travelling: dict[int, tuple[Worked, int]] = {}
        self._free_since_ns: dict[int, int] = {}
        self._lost_ns: dict[int, int] = {}
        self._crew: dict[int, Member] = {}
        self._row_bytes = 8 * work.job.kernel.row_width
        ahead = BYTES_AHEAD if work.memory is None else work.memory // 4
        self._frames_ahead = max(ahead // (self._row_bytes + BYTES_PER_FRAME), 1)

    @property
    def is_done(self) -> bool:
        """Whether all blocks that are needed have come."""
        return self._gathering.is_complete

    def take(self, worker: int) -> Ticket | None:
        """Hand a worker its next ticket; None when there is nothing for it now."""
        return self._tickets.take(worker, self._gathering.n_waiting_frames < self._frames_ahead)

    def is_wanted(self, ticket: Ticket) -> bool:
        """Whether what a worker does is still needed."""
        return self._tickets.is_running(ticket.number)

    def ready(self, worker: int, at_ns: int, since_ns: int | None = None) -> None:
        """Say that a worker has opened the trajectory, and since when, if not since the run began or one was lost.

        Times are of this process's `time.perf_counter_ns`.
        """
        since_ns = self._lost_ns.get(worker, self.begun_ns) if since_ns is None else since_ns
        self._free_since_ns[worker] = self._log.record("open", worker, since_ns, at_ns)

    def all_ready(self) -> None:
        """Say that nothing was handed out before all workers were ready: those who were first waited for the last."""
        last_ns = max(self._free_since_ns.values(), default=0)
        for worker, since_ns in self._free_since_ns.items():
            self._free_since_ns[worker] = self._log.record("wait", worker, since_ns, last_ns)

    def progress(self, worker: int, n_frames: int) -> None:
        """Say how many frames of its ticket a worker has done."""
        self._under_way[worker] = n_frames

    def came(self, worker: int, ticket: Ticket, part: Part, worked: Worked) -> None:
        """Take the part that a ticket became."""
        self._under_way.pop(worker, None)
        known = self._crew.get(worker, worked.member)
        self._crew[worker] = worked.member if known.peak_bytes <= worked.member.peak_bytes else known
        if not self._tickets.came(ticket.number):
            return  # a copy of it came before
        self._arrived(worker, worked.begun_ns)
        free_since_ns = self._free_since_ns.get(worker, worked.begun_ns)
        self._log.record("wait", worker, free_since_ns, worked.begun_ns, block=ticket.first)
        self._free_since_ns[worker] = worked.ended_ns
        self._travelling[worker] = (worked, part.n_frames)
        part.shift(worked.begun_ns - self.begun_ns)
        if part.is_last:
            self._tickets.end_at(part.end)
        since_ns, n_frames = perf_counter_ns(), part.n_frames
        self._gathering.add(part)
        self._log.record("reduce", COORDINATOR, since_ns, n_frames=n_frames)

    def failed(self, worker: int, ticket: Ticket, failure: Failure, where: str) -> None:
        """Take the error that a ticket met.

        What mdreel says of the data is the same wherever it is said: it is raised, once all blocks before it are done.
        Anything else may be the fault of the place: the blocks are tried once more.

        Raises
        ------
        WorkerError
            If a block has failed too often.
        BlocksDidNotJoin
            If the blocks are ranges of bytes, and one met what is no frame.
        """
        self._under_way.pop(worker, None)
        if not self._tickets.is_running(ticket.number):
            return
        if isinstance(failure.error, MdreelError):
            if isinstance(failure.error, FormatError) and self._work.blocks.are_of_bytes:
                raise BlocksDidNotJoin
            self._tickets.end_at(ticket.first)
            self._gathering.fail(ticket.first, failure.error)
            return
        block = self._tickets.failed(ticket.number)
        if block is not None:
            last = f"block {block} failed twice, the last time on worker {worker} ({where})"
            raise failure.blamed_on(last) from failure.error

    def lost(self, worker: int, tickets: Sequence[Ticket], where: str, why: str) -> None:
        """Take the loss of a worker and of the tickets that it had, of which it had begun the first alone.

        Raises
        ------
        WorkerError
            If a block has taken a worker with it before.
        """
        self._under_way.pop(worker, None)
        self._arrived(worker)
        self._free_since_ns.pop(worker, None)
        self._lost_ns[worker] = perf_counter_ns()
        for ticket in tickets[1:]:
            self._tickets.returned(ticket.number)
        block = self._tickets.failed(tickets[0].number) if tickets else None
        if block is not None:
            raise WorkerError(
                f"block {block} was lost twice, the last time with worker {worker} ({where}), which {why}"
            )

    def report(self) -> None:
        """Tell the monitor how far the run is."""
        if self._work.monitor is not None:
            self._work.monitor(self._gathering.n_frames + sum(self._under_way.values()))

    def finish(self) -> Outcome | None:
        """Return the outcome; None when blocks of bytes did not join."""
        outcome = self._gathering.finish()
        if outcome is None:
            return None
        for worker in list(self._travelling):
            self._arrived(worker)
        spans = np.concatenate([outcome.spans, self._log.spans(self.begun_ns)])
        return replace(outcome, spans=spans, crew=self._crew)

    def _arrived(self, worker: int, until_ns: int | None = None) -> None:
        """Record the way of a worker's last result, as far as the worker had nothing else to do meanwhile."""
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
