"""The coordinator: what the process that hands out blocks does, whoever its workers are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter_ns
from typing import TYPE_CHECKING

import numpy as np

from mdreel.errors import FormatError, MdreelError, WorkerError
from mdreel.executors.failure import Failure
from mdreel.executors.gathering import Gathering
from mdreel.executors.tickets import Ticket, Tickets
from mdreel.spans import KINDS, NO_BLOCK, SPAN

if TYPE_CHECKING:
    from mdreel._core import Part
    from mdreel.crew import Member
    from mdreel.executors.job import Outcome, Schedule
    from mdreel.executors.work import Work

BYTES_AHEAD = 256 << 20
"""What results may take that wait for those of a frame before them, unless memory is given."""

BYTES_PER_FRAME = 40
"""What a waiting frame takes beside its row: its share of spans."""


class BlocksDidNotJoin(Exception):  # noqa: N818 (it is no error: the run is planned anew)
    """A block of bytes met what is no frame."""


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
        self._spans: list[tuple[int, int, int, int, int, int, int]] = []
        self._free_since_ns: dict[int, int] = {}
        self._crew: dict[int, Member] = {}
        ahead = BYTES_AHEAD if work.memory is None else work.memory // 4
        self._frames_ahead = max(ahead // (8 * work.job.kernel.row_width + BYTES_PER_FRAME), 1)

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

    def ready(self, worker: int, at_ns: int) -> None:
        """Say that a worker has opened the trajectory; times are of this process's `time.perf_counter_ns`."""
        self._span("open", NO_BLOCK, worker, self.begun_ns, at_ns)
        self._free_since_ns[worker] = at_ns

    def progress(self, worker: int, n_frames: int) -> None:
        """Say how many frames of its ticket a worker has done."""
        self._under_way[worker] = n_frames

    def came(self, worker: int, ticket: Ticket, part: Part, begun_ns: int, ended_ns: int, member: Member) -> None:
        """Take the part that a ticket became, which was worked on from one moment to another, by a process."""
        self._under_way.pop(worker, None)
        known = self._crew.get(worker, member)
        self._crew[worker] = member if known.peak_bytes <= member.peak_bytes else known
        if not self._tickets.came(ticket.number):
            return  # a copy of it came before
        self._span("wait", ticket.first, worker, self._free_since_ns.get(worker, begun_ns), begun_ns)
        self._free_since_ns[worker] = ended_ns
        part.shift(begun_ns - self.begun_ns)
        if part.is_last:
            self._tickets.end_at(part.end)
        self._gathering.add(part)

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
        self._free_since_ns.pop(worker, None)
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
        spans = np.concatenate([outcome.spans, np.array(self._spans, SPAN)])
        return replace(outcome, spans=spans, crew=self._crew)

    def _span(self, kind: str, block: int, worker: int, begun_ns: int, ended_ns: int) -> None:
        begun, ended = (max(at - self.begun_ns, 0) for at in (begun_ns, ended_ns))
        self._spans.append((KINDS.index(kind), block, worker, begun, max(begun, ended), 0, 0))
