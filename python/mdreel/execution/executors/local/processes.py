"""Executor with worker processes on this machine."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from mdreel.errors import MismatchError, UnsupportedError, WorkerError
from mdreel.execution.available_cores import available_processors
from mdreel.execution.choices import Schedule
from mdreel.execution.executors.batches import Ticket
from mdreel.execution.executors.coordinator import BlocksDidNotJoin, Coordinator, Worked
from mdreel.execution.executors.local.pipe import Pipe
from mdreel.execution.executors.local.single_process import Alone
from mdreel.execution.executors.remote_errors import Failure
from mdreel.execution.job import Outcome
from mdreel.execution.memory import check_budget
from mdreel.execution.work import Work

_POLL_SECONDS = 0.05
_MOST_FALSE_STARTS = 3
_ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "RAYON_NUM_THREADS",
    ),
    "1",
)


class Processes(Alone):
    """Runs blocks in processes of this machine: what is lost with one is done again by another.

    Parameters
    ----------
    n_workers : int, optional
        Number of processes; by default one for each processor that this process may use.
    schedule : {"demand", "static"}
        Whether whoever is free takes the next blocks, or each process has one share of all.

    Notes
    -----
    The processes are started for each run, as programs of their own: the caller's script needs no guard, and is not
    imported again. Each has one thread. They get the job and the places of the frames, and open the trajectory; the
    topology stays here. They end with this process, however that ends.
    """

    name = "processes"

    def __init__(self, n_workers: int | None = None, schedule: Schedule = "demand") -> None:
        self.n_workers = available_processors() if n_workers is None else int(n_workers)
        if self.n_workers < 1:
            raise MismatchError(f"at least 1 worker is needed, {n_workers} were asked for")
        self.schedule = schedule

    def run(self, work: Work) -> Outcome | None:
        """Run all blocks; see `Executor.run`."""
        if work.job.source.is_growing:
            raise UnsupportedError("a trajectory that grows is read by one process: use the backend threads or serial")
        check_budget(work, self.n_workers)
        coordinator = Coordinator(work, self.n_workers, self.schedule)
        if not coordinator.is_done:
            n_workers = min(self.n_workers, len(work.blocks))
            try:
                _Crew(work, coordinator, n_workers).run()
            except BlocksDidNotJoin:
                return None
        return coordinator.finish()

    def __repr__(self) -> str:
        return f"Processes({self.n_workers})" if self.schedule == "demand" else f"Processes({self.n_workers}, 'static')"


@dataclass
class _Worker:
    """A process, and what it is doing."""

    number: int
    process: subprocess.Popen[bytes]
    pipe: Pipe
    tickets: dict[int, Ticket] = field(default_factory=dict)  # by their numbers, in the order in which it does them
    told: set[int] = field(default_factory=set)  # which of them nobody needs any more
    is_ready: bool = False

    @property
    def where(self) -> str:
        return f"process {self.process.pid}"


@dataclass(frozen=True)
class _Heard:
    """What a worker has said, and when that was here; None if nothing more will be heard of it."""

    worker: _Worker
    message: tuple[Any, ...] | None
    at_ns: int = field(default_factory=perf_counter_ns)


class _Crew:
    """The processes of a run.

    Each has a thread here that listens to it: a process that stops in the middle of what it says keeps nobody waiting.
    """

    def __init__(self, work: Work, coordinator: Coordinator, n_workers: int) -> None:
        self._work = work
        self._coordinator = coordinator
        self._n_workers = n_workers
        self._workers: dict[int, _Worker] = {}
        self._inbox: queue.SimpleQueue[_Heard] = queue.SimpleQueue()
        self._false_starts = 0

    def run(self) -> None:
        """Run until all blocks are there."""
        try:
            for number in range(self._n_workers):
                self._start(number)
            while not self._coordinator.is_done:
                self._hand_out()
                with suppress(queue.Empty):
                    self._take_in(self._inbox.get(timeout=_POLL_SECONDS))
                    while True:
                        self._take_in(self._inbox.get_nowait())
                self._coordinator.report()
        finally:
            self._end()

    def _start(self, number: int) -> None:
        ours, theirs = Pipe.pair()
        with theirs:
            paths = [path or str(Path.cwd()) for path in sys.path]
            environment = {**os.environ, **_ONE_THREAD, "PYTHONPATH": os.pathsep.join(paths)}
            command = [
                sys.executable,
                "-P",
                "-m",
                "mdreel.execution.executors.local.process_worker",
                str(theirs.fileno()),
                str(number),
            ]
            process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], close_fds=True
            )
        worker = _Worker(number, process, ours)
        self._workers[number] = worker
        threading.Thread(target=self._listen, args=(worker,), name=f"mdreel-listener-{number}", daemon=True).start()

    def _listen(self, worker: _Worker) -> None:
        """Send the job to a worker, and pass on what it says, on a thread of its own."""
        try:
            worker.pipe.say((self._work.job, self._work.blocks))
            while True:
                self._inbox.put(_Heard(worker, worker.pipe.hear()))
        except (EOFError, OSError):
            self._inbox.put(_Heard(worker, None))
        except Exception as error:  # noqa: BLE001 (nobody else would hear of it)
            self._inbox.put(_Heard(worker, ("failed", None, Failure.of(error))))

    def _hand_out(self) -> None:
        """Give work to who soon has none, and say so to those whose work is no longer needed."""
        for worker in self._workers.values():
            for number, ticket in worker.tickets.items():
                if number not in worker.told and not self._coordinator.is_wanted(ticket):
                    worker.told.add(number)
                    _say(worker, ("drop", number))
            if worker.is_ready and (new := self._coordinator.take(worker.number)) is not None:
                worker.tickets[new.number] = new
                _say(worker, ("do", new.number, new.first, new.end))

    def _take_in(self, heard: _Heard) -> None:
        """Act on what a worker said, or on its loss."""
        worker, message = heard.worker, heard.message
        if self._workers.get(worker.number) is not worker:
            return
        match message:
            case None:
                self._lose(worker)
            case ("ready", at_ns):
                worker.is_ready = True
                self._coordinator.ready(worker.number, at_ns)
            case ("progress", n_frames):
                self._coordinator.progress(worker.number, n_frames)
            case ("dropped", number):
                del worker.tickets[number]
            case ("done", number, part, begun_ns, ended_ns, member) if number in worker.tickets:
                ticket = worker.tickets.pop(number)
                worked = Worked(begun_ns, ended_ns, heard.at_ns, member)
                self._coordinator.came(worker.number, ticket, part, worked)
            case ("failed", number, failure) if number in worker.tickets:
                ticket = worker.tickets.pop(number)
                self._coordinator.failed(worker.number, ticket, failure, worker.where)
            case ("failed", _, failure):
                raise failure.error
            case _:
                raise WorkerError(f"worker {worker.number} ({worker.where}) said what nobody understands: {message}")

    def _lose(self, worker: _Worker) -> None:
        """Go on without a worker, and start another in its place."""
        worker.pipe.close()
        status = worker.process.wait()
        why = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        if not worker.is_ready:
            self._false_starts += 1
            if self._false_starts >= _MOST_FALSE_STARTS:
                raise WorkerError(f"processes do not start: worker {worker.number} ({worker.where}) {why}")
        self._coordinator.lost(worker.number, [*worker.tickets.values()], worker.where, why)
        self._start(worker.number)

    def _end(self) -> None:
        """End all processes; they hold nothing that is needed."""
        for worker in self._workers.values():
            worker.process.kill()
        for worker in self._workers.values():
            worker.process.wait()
            worker.pipe.close()


def _say(worker: _Worker, message: tuple[Any, ...]) -> None:
    """Tell a worker something; that it is lost will be heard."""
    with suppress(OSError):
        worker.pipe.say(message)
