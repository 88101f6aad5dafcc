"""Simulated scheduling on demand: free ranks take the next blocks, and copies of late tasks.

The rules are those of `mdreel.execution.executors.tasks`, in simulated time.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mdreel.execution.executors.tasks import LATE, task_size
from mdreel_lab.prediction.communication import connect_to_root
from mdreel_lab.prediction.fluid import Flow
from mdreel_lab.prediction.opening import Steps
from mdreel_lab.prediction.stage import Stage
from mdreel_lab.prediction.working import enter, frame_cost

if TYPE_CHECKING:
    from simpy import Event

BLOCKS_PER_RANK = 16
"""Number of blocks of a trajectory for each rank."""

_PAUSE_SECONDS = 0.005


@dataclass(eq=False)
class Task:
    """Blocks that a rank runs.

    Attributes
    ----------
    n_blocks, n_frames : int
        Numbers of blocks and frames.
    since : float
        Start, s.
    done : simpy.Event
        Event that the first rank to finish the task triggers.
    """

    n_blocks: int
    n_frames: int
    since: float
    done: "Event"


class Demand:
    """Scheduler of a simulated run.

    Parameters
    ----------
    stage : Stage
        The run.

    Attributes
    ----------
    n_copies : int
        Number of copies of late tasks.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        n_frames = stage.workload.n_frames
        self._n_blocks = min(BLOCKS_PER_RANK * stage.n_ranks, n_frames)
        self._next = 0
        self._running: dict[Task, int] = {}
        self._idle: list[Event] = []
        self._all_done = stage.environment.event()
        self._block_seconds, self._n_finished = 0.0, 0
        self._n_opened, self._all_opened = 0, stage.environment.event()
        self.n_copies = 0

    def loop(self, rank: int) -> Steps:
        """Run the loop of a rank, after it has opened the trajectory, until all blocks are done."""
        stage, environment = self._stage, self._stage.environment
        yield from self._meet()
        stage.ledger.loop_began[rank] = environment.now
        yield from connect_to_root(stage, rank)
        stage.ledger.waited_in_loop[rank] = environment.now - stage.ledger.loop_began[rank]
        asking_s = 2 * stage.cluster.interconnect.latency_s if stage.is_away(rank) else 0.0
        while (task := self._take()) is not None:
            yield environment.timeout(asking_s)
            stage.ledger.waited_in_loop[rank] += asking_s
            yield from self._do(rank, task)
        while not self._all_done.triggered:
            began = environment.now
            late = yield from self._wait_for_late()
            stage.ledger.waited_in_loop[rank] += environment.now - began
            if late is not None and not late.done.triggered:
                yield from self._do(rank, late)

    def _meet(self) -> Steps:
        """Wait at a barrier until all ranks have opened the trajectory."""
        self._n_opened += 1
        if self._n_opened == self._stage.n_ranks:
            self._all_opened.succeed()
        yield self._all_opened

    def _take(self) -> Task | None:
        """Take the next blocks."""
        stage = self._stage
        if self._next >= self._n_blocks:
            return None
        pace = self._block_seconds / self._n_finished if self._n_finished else None
        n_blocks = min(task_size(pace, self._n_blocks - self._next, stage.n_ranks), self._n_blocks - self._next)
        first, end = (stage.workload.n_frames * at // self._n_blocks for at in (self._next, self._next + n_blocks))
        self._next += n_blocks
        task = Task(n_blocks, end - first, stage.environment.now, stage.environment.event())
        self._running[task] = 1
        if self._next >= self._n_blocks and stage.scheme.has_copies:
            for running in self._running:
                stage.environment.process(self._watch(running))
        return task

    def _do(self, rank: int, task: Task) -> Steps:
        """Run a task, or stop it when another rank has finished its copy."""
        stage, began = self._stage, self._stage.environment.now
        cost = frame_cost(stage, rank)
        seconds = task.n_frames * (cost.read_s + cost.rest_s)
        flow: Flow = stage.network.start(stage.cluster.node_of(rank), seconds, task.n_frames * cost.n_bytes)
        yield flow.done | task.done
        if flow.is_over and not task.done.triggered:
            enter(stage, rank, cost, task.n_frames, stage.environment.now - began)
            self._finish(task, stage.environment.now - began)
        else:
            stage.network.stop(flow)
            stage.ledger.waited_in_loop[rank] += stage.environment.now - began

    def _finish(self, task: Task, seconds: float) -> None:
        self._block_seconds += seconds
        self._n_finished += task.n_blocks
        del self._running[task]
        task.done.succeed()
        if not self._running and self._next >= self._n_blocks:
            self._all_done.succeed()

    def _watch(self, task: Task) -> Steps:
        """Give a copy of a task to an idle rank when the task is late."""
        environment = self._stage.environment
        while task in self._running and self._running[task] == 1:
            pace = self._block_seconds / self._n_finished if self._n_finished else None
            due = environment.now if pace is None else task.since + LATE * pace * task.n_blocks
            if pace is not None and due <= environment.now and self._idle:
                self._running[task] += 1
                self.n_copies += 1
                self._idle.pop(0).succeed(task)
                return
            # No rank is idle, or the task is not late yet: ranks check again every few milliseconds.
            yield environment.timeout(max(due - environment.now, _PAUSE_SECONDS))

    def _wait_for_late(self) -> "Generator[Event, Any, Task | None]":
        """Wait until a task is late and return it, or return None when all tasks are done."""
        called = self._stage.environment.event()
        self._idle.append(called)
        yield called | self._all_done
        if called.triggered:
            late: Task | None = called.value
            return late
        return None
