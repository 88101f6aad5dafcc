"""Functions and state that mdreel needs in Dask workers."""

from __future__ import annotations

import pickle
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from distributed import WorkerPlugin, get_worker

from mdreel.execution.executors.remote_errors import Failure
from mdreel.timing.workers import Member, Watch

if TYPE_CHECKING:
    from distributed import Worker

    from mdreel._core import Part


@dataclass(frozen=True)
class Host:
    """Host of a worker, and its clock.

    Attributes
    ----------
    name : str
        Name of the host.
    boot : str
        Identifier of the system's last boot. Processes with the same name and boot have the same clock.
    now_ns : int
        `time.perf_counter_ns` of the worker.
    """

    name: str
    boot: str
    now_ns: int

    @classmethod
    def here(cls) -> Host:
        """Describe this host."""
        try:
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        except OSError:
            boot = ""
        return cls(socket.gethostname(), boot, perf_counter_ns())


@dataclass(frozen=True)
class Done:
    """Return value of a task.

    Attributes
    ----------
    part : Part or Failure
        Result of the blocks, or the error that occurred.
    address : str
        Address of the worker.
    thread : int
        Thread of the worker.
    member : Member
        The worker's process.
    begun_ns : int
        Start of the task, as returned by `time.perf_counter_ns` on the worker.
    opened_ns : int
        Time at which the trajectory had been opened, or `begun_ns` if it was already open.
    host : Host
        The worker's host at the end of the task.
    """

    part: Part | Failure
    address: str
    thread: int
    member: Member
    begun_ns: int
    opened_ns: int
    host: Host


class JobPlugin(WorkerPlugin):
    """Job of a run. Dask sends it once to each worker, including workers that join later.

    Parameters
    ----------
    name : str
        Name that tasks use to find the plug-in.
    payload : bytes
        Pickled job and blocks.
    """

    def __init__(self, name: str, payload: bytes) -> None:
        self.name = name
        self._payload = payload
        self._opened: Any = None
        self._lock: Any = None

    def setup(self, worker: Worker) -> None:
        """Prepare the plug-in on a worker, without opening the trajectory."""
        self._lock = threading.Lock()

    def opened(self) -> Any:
        """Return the job and the blocks. The first call opens the trajectory."""
        with self._lock:
            if self._opened is None:
                self._opened = pickle.loads(self._payload)  # noqa: S301 (from the client)
            return self._opened


def open_job(name: str, dask_worker: Worker) -> int | Failure:
    """Open the trajectory on a worker. Return the time at which it was open, or the error."""
    try:
        _plugin(name, dask_worker).opened()
    except Exception as error:  # noqa: BLE001 (the client must know of every error)
        return Failure.of(error)
    return perf_counter_ns()


def run_task(name: str, first: int, end: int) -> Done:
    """Run some blocks on a worker."""
    begun_ns = opened_ns = perf_counter_ns()
    part: Part | Failure
    watch = Watch()
    try:
        job, blocks = _opened(name)
        opened_ns = perf_counter_ns()
        part = job.map(blocks, first, end, monitor=lambda _: watch.look())
    except Exception as error:  # noqa: BLE001 (the client must know of every error)
        part = Failure.of(error)
    address, thread, member = get_worker().address, threading.get_ident(), watch.look().member
    return Done(part, address, thread, member, begun_ns, opened_ns, Host.here())


def _opened(name: str) -> Any:
    try:
        return _plugin(name, get_worker()).opened()
    except Exception as error:
        # A worker that joined late. Even an error of mdreel describes its host here, not the data.
        message = f"cannot begin: {type(error).__name__}: {error}"
        raise RuntimeError(message) from error


def _plugin(name: str, worker: Worker) -> JobPlugin:
    plugin = worker.plugins[name]
    assert isinstance(plugin, JobPlugin)
    return plugin
