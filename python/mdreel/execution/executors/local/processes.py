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
from mdreel.execution.executors.coordinator import BlocksDidNotJoin, Coordinator, TaskTimes
from mdreel.execution.executors.local.pipe import Pipe
from mdreel.execution.executors.local.single_process import SingleProcess
from mdreel.execution.executors.remote_errors import Failure
from mdreel.execution.executors.tasks import Task
from mdreel.execution.job import Outcome
from mdreel.execution.memory import check_budget
from mdreel.execution.work import Work
from mdreel.foundation.arguments import checked_arguments

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


class Processes(SingleProcess):
    """Executor that runs blocks in worker processes on this machine.

    Parameters
    ----------
    n_workers : int, optional
        Number of processes. By default, there is one per processor that is available to this process.
    schedule : {"demand", "static"}
        How to assign blocks. You can give each block to the next free process, or one share of all blocks to each
        process.

    Attributes
    ----------
    n_requested : int or None
        The argument `n_workers`, or None for the default.

    Notes
    -----
    Each run starts its own processes. You do not need ``if __name__ == "__main__"`` in your script, because the
    processes do not import it. Each process has a single thread, receives the job and the frame index, and opens the
    files that it reads. The topology does not need to be sent to the processes. When a process is lost, another process
    will compute its blocks again. The processes will exit when the calling process ends, even if it is killed.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> alpha = mda.Universe(PSF, DCD).select_atoms("name CA")
    >>> mdreel.RMSD(alpha).run(backend=mdreel.Processes(2)).results.rmsd.shape
    (98, 3)
    """

    name = "processes"

    @checked_arguments
    def __init__(self, n_workers: int | None = None, schedule: Schedule = "demand") -> None:
        self.n_requested = n_workers
        self.n_workers = available_processors() if n_workers is None else int(n_workers)
        if self.n_workers < 1:
            raise MismatchError(f"n_workers must be at least 1, not {n_workers}")
        self.schedule = schedule

    def run(self, work: Work) -> Outcome | None:
        """Run all blocks; see `Executor.run`."""
        if work.job.source.is_growing:
            raise UnsupportedError("only one process can read a growing trajectory: use the backend threads or serial")
        check_budget(work, self.n_workers)
        coordinator = Coordinator(work, self.n_workers, self.schedule)
        if not coordinator.is_done:
            n_workers = min(self.n_workers, len(work.blocks))
            try:
                _WorkerPool(work, coordinator, n_workers).run()
            except BlocksDidNotJoin:
                return None
        return coordinator.finish()

    def __repr__(self) -> str:
        return f"Processes({self.n_workers})" if self.schedule == "demand" else f"Processes({self.n_workers}, 'static')"


@dataclass
class _Worker:
    """A process and its tasks."""

    number: int
    process: subprocess.Popen[bytes]
    pipe: Pipe
    tasks: dict[int, Task] = field(default_factory=dict)  # by number, in the order of computation
    cancelled: set[int] = field(default_factory=set)  # numbers of tasks that are no longer needed
    is_ready: bool = False

    @property
    def where(self) -> str:
        return f"process {self.process.pid}"


@dataclass(frozen=True)
class _Received:
    """Message from a worker and its time of arrival. After the worker has ended, the message is None."""

    worker: _Worker
    message: tuple[Any, ...] | None
    at_ns: int = field(default_factory=perf_counter_ns)


class _WorkerPool:
    """The processes of a run.

    The messages of each process are received by a separate thread. Therefore, a process that stops in the middle of a
    message does not block anything else.
    """

    def __init__(self, work: Work, coordinator: Coordinator, n_workers: int) -> None:
        self._work = work
        self._coordinator = coordinator
        self._n_workers = n_workers
        self._workers: dict[int, _Worker] = {}
        self._inbox: queue.SimpleQueue[_Received] = queue.SimpleQueue()
        self._false_starts = 0

    def run(self) -> None:
        """Run until the results of all blocks have arrived."""
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
        """Send the job to a worker, and put its messages into the inbox. Each worker has its own thread for this."""
        try:
            worker.pipe.send((self._work.job, self._work.blocks))
            while True:
                self._inbox.put(_Received(worker, worker.pipe.receive()))
        except (EOFError, OSError):
            self._inbox.put(_Received(worker, None))
        except Exception as error:  # noqa: BLE001 (the main thread must know of every error)
            self._inbox.put(_Received(worker, ("failed", None, Failure.of(error))))

    def _hand_out(self) -> None:
        """Send tasks to workers that need one, and cancel tasks that are no longer needed."""
        for worker in self._workers.values():
            for number, task in worker.tasks.items():
                if number not in worker.cancelled and not self._coordinator.is_wanted(task):
                    worker.cancelled.add(number)
                    _send(worker, ("drop", number))
            if worker.is_ready and (new := self._coordinator.take(worker.number)) is not None:
                worker.tasks[new.number] = new
                _send(worker, ("do", new.number, new.first, new.end))

    def _take_in(self, received: _Received) -> None:
        """Handle a message from a worker, or the loss of a worker."""
        worker, message = received.worker, received.message
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
                del worker.tasks[number]
            case ("done", number, part, begun_ns, ended_ns, member) if number in worker.tasks:
                task = worker.tasks.pop(number)
                worked = TaskTimes(begun_ns, ended_ns, received.at_ns, member)
                self._coordinator.came(worker.number, task, part, worked)
            case ("failed", number, failure) if number in worker.tasks:
                task = worker.tasks.pop(number)
                self._coordinator.failed(worker.number, task, failure, worker.where)
            case ("failed", _, failure):
                raise failure.error
            case _:
                raise WorkerError(f"worker {worker.number} ({worker.where}) sent an unknown message: {message}")

    def _lose(self, worker: _Worker) -> None:
        """Replace a worker that has ended."""
        worker.pipe.close()
        status = worker.process.wait()
        why = f"was ended by signal {-status}" if status < 0 else f"ended with exit code {status}"
        if not worker.is_ready:
            self._false_starts += 1
            if self._false_starts >= _MOST_FALSE_STARTS:
                raise WorkerError(f"worker processes do not start: worker {worker.number} ({worker.where}) {why}")
        self._coordinator.lost(worker.number, [*worker.tasks.values()], worker.where, why)
        self._start(worker.number)

    def _end(self) -> None:
        """Kill all processes. They do not contain anything that is still needed."""
        for worker in self._workers.values():
            worker.process.kill()
        for worker in self._workers.values():
            worker.process.wait()
            worker.pipe.close()


def _send(worker: _Worker, message: tuple[Any, ...]) -> None:
    """Send a message to a worker. If the worker has ended, this is reported by its thread."""
    with suppress(OSError):
        worker.pipe.send(message)
