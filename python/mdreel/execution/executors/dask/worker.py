"""Functions and state of mdreel in Dask workers."""

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
    """Where a worker runs, and what time it is there.

    Attributes
    ----------
    name : str
        Of the host.
    boot : str
        Differs from one start of a system to another; where name and boot are the same, clocks are the same.
    now_ns : int
        Its `time.perf_counter_ns`.
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
    """What a task gives back.

    Attributes
    ----------
    part : Part or Failure
        What the blocks became, or why they did not.
    address : str
        The worker.
    thread : int
        Its thread.
    member : Member
        Its process.
    begun_ns : int
        When, by the `time.perf_counter_ns` of the worker.
    opened_ns : int
        When it had opened the trajectory, if it had not before.
    host : Host
        The worker's, at the end.
    """

    part: Part | Failure
    address: str
    thread: int
    member: Member
    begun_ns: int
    opened_ns: int
    host: Host


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


def open_job(name: str, dask_worker: Worker) -> int | Failure:
    """Open the trajectory on a worker; return when that was done there, or why it cannot be."""
    try:
        _plugin(name, dask_worker).opened()
    except Exception as error:  # noqa: BLE001 (whatever it is, the client must be told)
        return Failure.of(error)
    return perf_counter_ns()


def do_ticket(name: str, first: int, end: int) -> Done:
    """Run some blocks on a worker."""
    begun_ns = opened_ns = perf_counter_ns()
    part: Part | Failure
    watch = Watch()
    try:
        job, blocks = _opened(name)
        opened_ns = perf_counter_ns()
        part = job.map(blocks, first, end, monitor=lambda _: watch.look())
    except Exception as error:  # noqa: BLE001 (whatever it is, the client must be told)
        part = Failure.of(error)
    address, thread, member = get_worker().address, threading.get_ident(), watch.look().member
    return Done(part, address, thread, member, begun_ns, opened_ns, Host.here())


def _opened(name: str) -> Any:
    try:
        return _plugin(name, get_worker()).opened()
    except Exception as error:
        # Of a worker that has come late. Also mdreel's own errors say something of its host here, not of the data.
        message = f"cannot begin: {type(error).__name__}: {error}"
        raise RuntimeError(message) from error


def _plugin(name: str, worker: Worker) -> JobPlugin:
    plugin = worker.plugins[name]
    assert isinstance(plugin, JobPlugin)
    return plugin
