"""Flows that share links and a pool (processor sharing), updated when a flow begins or ends.

A flow is work that takes a known time alone and moves bytes, or makes requests, at a constant rate. If the flows of a
link together exceed its capacity, the link slows all of them down by the same factor. The pool does the same for the
flows that pass through it. The larger of both factors applies to a flow.

The clock of a link runs at the speed of its flows. A flow ends when the clock of its link has advanced by the time that
the flow takes alone. An update therefore costs O(log(number of flows)), and a flow needs none between start and end.
Flows that could each fill a link alone share it evenly, as in queueing theory.
"""

import heapq
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from simpy import Environment, Event

_TOLERANCE = 1e-14  # relative; larger than the spacing of floating-point numbers, so that time advances


class Flow:
    """A running flow.

    Attributes
    ----------
    done : simpy.Event
        Event at the end of the flow.
    """

    __slots__ = ("demand", "done", "is_over", "link", "row")

    def __init__(self, done: "Event", row: int, link: int, demand: float) -> None:
        self.done = done
        self.row = row
        self.link = link
        self.demand = demand
        self.is_over = False


class Fluid:
    """Links and a pool.

    Parameters
    ----------
    environment : simpy.Environment
        Environment of the simulation.
    n_links : int
        Number of links.
    link_per_s, pool_per_s : float
        Capacity of a link and of the pool, bytes/s or requests/s.

    Attributes
    ----------
    moved : float
        Sum over all flows so far, bytes or requests.
    """

    def __init__(self, environment: "Environment", n_links: int, link_per_s: float, pool_per_s: float) -> None:
        self._environment = environment
        self._link_per_s = link_per_s
        self._pool_per_s = pool_per_s
        # Row 0 holds the flows through the pool, row 1 the others.
        self._clock = np.zeros((2, n_links))
        self._rate = np.ones((2, n_links))
        self._next = np.full((2, n_links), np.inf)
        self._demand = np.zeros((2, n_links))
        self._flows: list[list[list[tuple[float, int, Flow]]]] = [[[] for _ in range(n_links)] for _ in range(2)]
        self._numbers = count()
        self._since = 0.0
        self._is_changed = False
        self._n_timers = 0
        self.moved = 0.0

    def start(self, link: int, seconds: float, amount: float, through_pool: bool = True) -> Flow:
        """Begin a flow.

        Parameters
        ----------
        link : int
            Number of the link.
        seconds : float
            Time that the flow takes alone, s.
        amount : float
            Amount that the flow moves, bytes or requests.
        through_pool : bool
            Whether the flow also passes through the pool.
        """
        flow = Flow(self._environment.event(), 0 if through_pool else 1, link, amount / seconds if seconds else 0.0)
        if seconds <= 0:
            flow.is_over = True
            self.moved += amount
            flow.done.succeed()
            return flow
        self._advance()
        at = flow.row, link
        over = float(self._clock[at]) + seconds
        heapq.heappush(self._flows[flow.row][link], (over, next(self._numbers), flow))
        self._demand[at] += flow.demand
        self._next[at] = self._flows[flow.row][link][0][0]
        self._change()
        return flow

    def stop(self, flow: Flow) -> None:
        """End a flow early, without triggering its event."""
        if not flow.is_over:
            self._advance()
            flow.is_over = True
            self._demand[flow.row, flow.link] -= flow.demand
            self._change()

    def _change(self) -> None:
        """Schedule one update after all events of the current time."""
        if not self._is_changed:
            self._is_changed = True
            self._at(0.0, self._settle)

    def _at(self, delay: float, action: Callable[[], None]) -> None:
        def call(_: Any) -> None:
            action()

        timeout = self._environment.timeout(delay)
        assert timeout.callbacks is not None, "it has not happened yet"
        timeout.callbacks.append(call)

    def _advance(self) -> None:
        """Advance the clocks to the current time."""
        passed = self._environment.now - self._since
        if passed > 0:
            self._clock += passed * self._rate
            self.moved += passed * float((self._rate * self._demand).sum())
            self._since = self._environment.now

    def _settle(self) -> None:
        """End the flows whose time is over, and update the rates of the others."""
        self._is_changed = False
        self._advance()
        tolerance = _TOLERANCE * max(self._environment.now, 1.0)
        for row, link in np.argwhere(self._next <= self._clock + tolerance).tolist():
            self._end(row, link, float(self._clock[row, link]) + tolerance)
        load = self._demand.sum(axis=0) / self._link_per_s
        pool = float(self._demand[0].sum()) / self._pool_per_s
        self._rate[0] = 1.0 / np.maximum(np.maximum(load, pool), 1.0)
        self._rate[1] = 1.0 / np.maximum(load, 1.0)
        delay = float(((self._next - self._clock) / self._rate).min())
        self._n_timers += 1
        if np.isfinite(delay):
            self._at(max(delay, 0.0), partial(self._wake, self._n_timers))

    def _wake(self, number: int) -> None:
        if number == self._n_timers:  # the rates are the same as when the timer was set
            self._settle()

    def _end(self, row: int, link: int, until: float) -> None:
        """End the flows of a link whose time is over, and remove stopped flows."""
        flows = self._flows[row][link]
        while flows and (flows[0][0] <= until or flows[0][2].is_over):
            flow = heapq.heappop(flows)[2]
            if not flow.is_over:
                flow.is_over = True
                self._demand[row, link] -= flow.demand
                flow.done.succeed()
        if not flows:
            self._demand[row, link] = 0.0  # remove rounding errors
        self._next[row, link] = flows[0][0] if flows else np.inf
