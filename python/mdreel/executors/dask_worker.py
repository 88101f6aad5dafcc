"""What mdreel leaves with the workers and the scheduler of a Dask cluster: the job, and who did what when."""

from __future__ import annotations

import os
import pickle
import socket
import threading
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from distributed import SchedulerPlugin, WorkerPlugin, get_worker

from mdreel.executors.failure import Failure

if TYPE_CHECKING:
    from distributed import Scheduler, Worker

    from mdreel._core import Part


@dataclass(frozen=True)
class Host:
    """Where a worker runs, and what time it is there.

    Attributes
    ----------
    name : str
        Of the host.
    boot : str
        Differs from one start of a system to another; where it is the same, clocks are the same.
    process : int
        The worker's process.
    now_ns : int
        Its `time.perf_counter_ns`.
    """

    name: str
    boot: str
    process: int
    now_ns: int

    @classmethod
    def here(cls) -> Host:
        """Describe this host."""
        try:
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        except OSError:
            boot = ""
        return cls(socket.gethostname(), boot, os.getpid(), perf_counter_ns())


@dataclass(frozen=True)
class Done:
    """What a task gives back.

    Attributes
    ----------
    part : Part or Failure
        What the blocks became, or why they did not.
    address : str
        The worker.
    thread : int
        Its thread.
    begun_ns, ended_ns : int
        When, by the `time.perf_counter_ns` of the worker.
    """

    part: Part | Failure
    address: str
    thread: int
    begun_ns: int
    ended_ns: int


class JobPlugin(WorkerPlugin):
    """The job of a run, sent once to every worker, also to those that come later.

    Parameters
    ----------
    name : str
        Under which tasks find it.
    payload : bytes
        The pickled job and blocks.
    """

    def __init__(self, name: str, payload: bytes) -> None:
        self.name = name
        self._payload = payload
        self._opened: Any = None
        self._lock: Any = None

    def setup(self, worker: Worker) -> None:
        """Be brought to a worker; nothing is opened yet."""
        self._lock = threading.Lock()

    def opened(self) -> Any:
        """Return job and blocks; who comes first opens the trajectory."""
        with self._lock:
            if self._opened is None:
                self._opened = pickle.loads(self._payload)  # noqa: S301 (from the client)
            return self._opened


def open_job(name: str, dask_worker: Worker) -> Host | Failure:
    """Open the trajectory on a worker; return where that is, or why it cannot be."""
    try:
        _plugin(name, dask_worker).opened()
    except Exception as error:  # noqa: BLE001 (whatever it is, the client must be told)
        return Failure.of(error)
    return Host.here()


def do_ticket(name: str, first: int, end: int) -> Done:
    """Run some blocks on a worker."""
    begun_ns = perf_counter_ns()
    part: Part | Failure
    try:
        job, blocks = _plugin(name, get_worker()).opened()
        part = job.map(blocks, first, end)
    except Exception as error:  # noqa: BLE001 (whatever it is, the client must be told)
        part = Failure.of(error)
    return Done(part, get_worker().address, threading.get_ident(), begun_ns, perf_counter_ns())


def _plugin(name: str, worker: Worker) -> JobPlugin:
    plugin = worker.plugins[name]
    assert isinstance(plugin, JobPlugin)
    return plugin


@dataclass
class TaskRecorder(SchedulerPlugin):
    """Records on the scheduler which worker did which task of a run, and when.

    Attributes
    ----------
    name : str
        What the keys of the run's tasks begin with.
    tasks : list of tuple
        Key, address of the worker, start and stop in s since 1970, by the clock of the scheduler.
    """

    name: str
    tasks: list[tuple[str, str, float, float]] = field(default_factory=list)

    def transition(self, key: Any, start: Any, finish: Any, *args: Any, **kwargs: Any) -> None:
        """Be told that a task has changed its state."""
        if finish != "memory" or not str(key).startswith(self.name):
            return
        for action in kwargs.get("startstops") or ():
            if action["action"] == "compute":
                self.tasks.append((str(key), str(kwargs.get("worker")), float(action["start"]), float(action["stop"])))


def recorded_tasks(name: str, dask_scheduler: Scheduler) -> list[tuple[str, str, float, float]]:
    """Return what was recorded, on the scheduler."""
    recorder = dask_scheduler.plugins[name]
    assert isinstance(recorder, TaskRecorder)
    return recorder.tasks
