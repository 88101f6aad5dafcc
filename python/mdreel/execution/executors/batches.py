"""Scheduling of batches of blocks on workers.

Blocks are small, and fixed by the plan. A ticket is some consecutive blocks, as many as a worker does in a fraction of
a second: how many that are is learned from the tickets that came back, for each worker, so that a slow one gets less.
The tickets get smaller towards the end. When there are none left, those that are late are handed out once more, and the
copy that comes back first counts. Where the user has said how many blocks there are, each is done once.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from time import monotonic

TICKET_SECONDS = 0.9
"""How long a ticket should take: long against what handing it out costs, short against a run."""

LEAD_SECONDS = 0.1
"""So long before a worker is expected to be done with a ticket it is handed the next: it need not wait then."""

LATE = 1.5
"""A ticket is late when it takes more than this many times the median time for so many blocks."""

MOST_FAILURES = 2
"""A block that fails so often is not tried again."""


@dataclass(frozen=True, order=True)
class Ticket:
    """Consecutive blocks, done in one go.

    Attributes
    ----------
    first, end : int
        The first block, and the first behind them.
    number : int
        Its number; a copy has another.
    """

    first: int
    end: int
    number: int

    def __len__(self) -> int:
        return self.end - self.first


@dataclass
class _Running:
    ticket: Ticket
    worker: int
    since: float


class Tickets:
    """Hands out blocks.

    Parameters
    ----------
    ranges : iterable of (int, int)
        The blocks to be done: first and end of consecutive ones, ascending.
    n_workers : int
        How many workers there are; they are numbered from 0.
    edges : sequence of int, optional
        Where the share of each worker begins, and behind them where the last one ends, as `Blocks.shares` gives them.
        By default whoever is free takes the next ones.
    one_by_one : bool
        Whether each block is a ticket of its own, of which no copy is handed out.
    clock : callable
        Gives seconds that never run backwards.
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
        """Whether nothing is left to hand out, and nothing is being done."""
        return not self._running and not any(self._waiting)

    def take(self, worker: int, may_go_ahead: bool = True) -> Ticket | None:
        """Hand a worker its next ticket, if it has none, or will soon be done with the one that it has.

        Parameters
        ----------
        worker : int
            Who asks.
        may_go_ahead : bool
            Whether more may be begun; if not, only what others wait for.

        Returns
        -------
        Ticket or None
            None when there is nothing for it now; there may be later, as long as not `is_empty`.
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
        """Say that a ticket came back; return whether it counts, or a copy of it came before."""
        done = self._running.pop(number, None)
        if done is None:
            return False
        taken = (self._clock() - done.since) / len(done.ticket)
        self._seconds_per_block[done.worker] = taken
        self._finished.append(taken)
        for copy in self._copies(done.ticket):
            del self._running[copy]
        for running in self._running.values():
            if running.worker == done.worker:
                running.since = self._clock()  # it begins with it now
        return True

    def failed(self, number: int) -> int | None:
        """Say that a ticket failed, or was lost with its worker.

        Returns
        -------
        int or None
            The block that has failed too often, if one has; its blocks are handed out again otherwise, each alone.
        """
        lost = self._running.pop(number, None)
        if lost is None or self._copies(lost.ticket):
            return None
        ticket = lost.ticket
        waiting = self._waiting[lost.worker if self._is_static else 0]
        for block in range(ticket.first, ticket.end):
            self._failures[block] = self._failures.get(block, 0) + 1
            if self._failures[block] >= MOST_FAILURES and len(ticket) == 1:
                return block
            if self._end is None or block < self._end:
                heapq.heappush(waiting, (block, block + 1))
        return None

    def returned(self, number: int) -> None:
        """Say that a ticket will not be done by who has it, and was not begun."""
        back = self._running.pop(number, None)
        if back is not None and not self._copies(back.ticket):
            waiting = self._waiting[back.worker if self._is_static else 0]
            end = back.ticket.end if self._end is None else min(back.ticket.end, self._end)
            if back.ticket.first < end:
                heapq.heappush(waiting, (back.ticket.first, end))

    def end_at(self, end: int) -> None:
        """Say that no block from ``end`` on is needed."""
        self._end = end if self._end is None else min(end, self._end)
        for waiting in self._waiting:
            waiting[:] = [(first, min(last, end)) for first, last in waiting if first < end]
            heapq.heapify(waiting)
        for number in [number for number, running in self._running.items() if running.ticket.first >= end]:
            del self._running[number]

    def is_running(self, number: int) -> bool:
        """Whether somebody is needed to do a ticket, and does."""
        return number in self._running

    def _begin(self, first: int, end: int, worker: int) -> Ticket:
        ticket = Ticket(first, end, self._n_numbers)
        self._n_numbers += 1
        self._running[ticket.number] = _Running(ticket, worker, self._clock())
        return ticket

    def _n_blocks(self, worker: int, waiting: list[tuple[int, int]], available: int) -> int:
        """How many blocks a worker should take."""
        if self._one_by_one:
            return 1
        if self._is_static:
            return available
        return ticket_size(self._pace(worker), available + sum(end - first for first, end in waiting), self._n_workers)

    def _is_nearly_done(self, held: list[_Running]) -> bool:
        """Whether a worker has one ticket, of which little is left."""
        pace = self._pace(held[0].worker)
        if len(held) > 1 or pace is None:
            return False
        return self._clock() - held[0].since > pace * len(held[0].ticket) - LEAD_SECONDS

    def _pace(self, worker: int) -> float | None:
        """How many seconds a worker takes for a block, if that is known."""
        return self._seconds_per_block.get(worker) or (median(self._finished) if self._finished else None)

    def _is_first(self, block: int) -> bool:
        return all(block < running.ticket.first for running in self._running.values())

    def _copies(self, ticket: Ticket) -> list[int]:
        same = (ticket.first, ticket.end)
        return [n for n, running in self._running.items() if (running.ticket.first, running.ticket.end) == same]

    def _late(self, worker: int) -> Ticket | None:
        """Return the ticket that is late by most, of those that only one other worker has."""
        if not self._finished:
            return None
        now, pace = self._clock(), median(self._finished)
        late, ticket = LATE, None
        for running in self._running.values():
            lateness = (now - running.since) / (pace * len(running.ticket))
            if lateness > late and running.worker != worker and len(self._copies(running.ticket)) == 1:
                late, ticket = lateness, running.ticket
        return ticket


def ticket_size(pace: float | None, n_left: int, n_workers: int) -> int:
    """How many blocks a ticket should have.

    Parameters
    ----------
    pace : float or None
        Seconds that a block takes, if that is known.
    n_left : int
        Blocks that nobody has begun.
    n_workers : int
        How many workers there are.
    """
    if pace is None:
        return 1
    # What is left when the last tickets are handed out is done by all workers, in ever smaller pieces.
    return max(1, min(int(TICKET_SECONDS / max(pace, 1e-9)), math.ceil(n_left / (2 * n_workers))))


def _shares(ranges: list[tuple[int, int]], edges: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Cut ranges of blocks where shares end, which are counted among these blocks."""
    shares: list[list[tuple[int, int]]] = [[] for _ in edges[1:]]
    begun = 0
    for first, end in ranges:
        for share, (low, high) in zip(shares, pairwise(edges), strict=True):
            cut = (first + max(low - begun, 0), min(first + high - begun, end))
            if cut[0] < cut[1]:
                share.append(cut)
        begun += end - first
    return shares
