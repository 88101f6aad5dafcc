"""Executor for Dask clusters."""

from __future__ import annotations

import asyncio
import pickle
import queue
import uuid
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MismatchError, UnsupportedError, WorkerError
from mdreel.execution.available_cores import available_processors
from mdreel.execution.choices import Schedule
from mdreel.execution.executors.coordinator import BlocksDidNotJoin, Coordinator, TaskTimes
from mdreel.execution.executors.dask.cluster import START_SECONDS, connected, is_reached, n_threads
from mdreel.execution.executors.local.single_process import SingleProcess
from mdreel.execution.executors.remote_errors import Failure
from mdreel.execution.executors.reraise_signals import reraise_suppressed
from mdreel.execution.executors.tasks import Task
from mdreel.execution.job import Outcome
from mdreel.execution.memory import check_budget
from mdreel.execution.work import Work
from mdreel.foundation.arguments import checked_arguments
from mdreel.timing.spans import TASK

if TYPE_CHECKING:
    from distributed import Client, Future

    from mdreel.execution.executors.dask.worker import Done, Host

_POLL_SECONDS = 0.05
_QUIET_SECONDS = 2.0
"""Time without results after which the executor checks the cluster and its workers, in s."""
_N_CLOCK_LOOKS = 3


class Dask(SingleProcess):
    """Executor that runs blocks as tasks of `dask.distributed`.

    Parameters
    ----------
    n_workers : int, optional
        Number of worker processes in a cluster on this machine, where each process has one thread. By default, we start
        one process per processor. If you pass a client, this should be the number of threads in its cluster, which is
        also the default.
    schedule : {"demand", "static"}
        How to assign blocks. You can give each block to the next free worker, or one share of all blocks to each
        worker.
    client : distributed.Client or str, optional
        A client, or the address of a scheduler. By default, each run starts its own cluster and shuts it down at the
        end.

    Notes
    -----
    Workers receive the job and the frame index once, and open the files that they read. These files have to be
    available under the same paths on all hosts. Each worker thread receives its next task shortly before it completes
    its current task. When a worker is lost, another worker will compute its blocks again.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> alpha = mda.Universe(PSF, DCD).select_atoms("name CA")
    >>> mdreel.RMSD(alpha).run(backend=mdreel.Dask(n_workers=2)).results.rmsd.shape
    (98, 3)

    Use a cluster whose scheduler is already running:

    >>> mdreel.RMSD(alpha).run(backend=mdreel.Dask(client="tcp://10.0.0.1:8786"))  # doctest: +SKIP
    """

    name = "dask"

    @checked_arguments
    def __init__(
        self, n_workers: int | None = None, schedule: Schedule = "demand", *, client: Client | str | None = None
    ) -> None:
        _refuse_without_dask()
        if n_workers is not None and n_workers < 1:
            raise MismatchError(f"n_workers must be at least 1, not {n_workers}")
        self.schedule = schedule
        self._client = client
        self._n_workers = n_workers

    @property
    def n_workers(self) -> int:
        """Number of blocks that run at the same time."""
        if self._client is None:
            return available_processors() if self._n_workers is None else self._n_workers
        with connected(self._client, 0) as client:
            found = n_threads(client)
        if self._n_workers not in (None, found):
            raise MismatchError(f"n_workers is {self._n_workers}, but the cluster has {found} threads")
        return found

    def run(self, work: Work) -> Outcome | None:
        """Run all blocks; see `Executor.run`."""
        if work.job.source.is_growing:
            raise UnsupportedError("only one process can read a growing trajectory: use the backend threads or serial")
        n_workers = self.n_workers
        check_budget(work, n_workers)
        coordinator = Coordinator(work, n_workers, self.schedule)
        tasks = np.empty(0, TASK)
        if not coordinator.is_done:
            payload = pickle.dumps((work.job, work.blocks), protocol=pickle.HIGHEST_PROTOCOL)
            try:
                with reraise_suppressed() as reraise, connected(self._client, n_workers) as client:
                    tasks = _Session(client, payload, coordinator, n_workers).run(reraise)
            except BlocksDidNotJoin:
                return None
        outcome = coordinator.finish()
        return None if outcome is None else replace(outcome, tasks=tasks)

    def __repr__(self) -> str:
        return f"Dask({self._n_workers if self._client is None else self._client!r})"


def _refuse_without_dask() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise UnsupportedError("the backend dask needs dask.distributed: pip install 'mdreel[dask]'") from error


class _Session:
    """Run of a job on a Dask cluster."""

    def __init__(self, client: Client, payload: bytes, coordinator: Coordinator, n_workers: int) -> None:
        self._client = client
        self._payload = payload
        self._coordinator = coordinator
        self._name = f"mdreel-{uuid.uuid4().hex[:12]}"
        self._n_workers = n_workers
        self._slots: list[_Slot] = []
        self._inbox: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._addresses: list[str] = []
        self._hosts: dict[str, str] = {}
        self._offsets_ns: dict[str, int] = {}
        self._numbers: dict[tuple[str, int], int] = {}
        self._done_by: dict[str, tuple[Task, int]] = {}
        self._scheduler = f"the Dask scheduler {client.scheduler_info()['address']}"
        self._heard_at = self._looked_at = perf_counter()
        self._is_direct = False
        self._turn_ns = 0

    def run(self, reraise: Callable[[], None]) -> NDArray[np.void]:
        """Run until the results of all blocks have arrived, and call ``reraise`` regularly.

        Returns
        -------
        ndarray, shape (n_tasks,), TASK
            Tasks as recorded by the scheduler.
        """
        from distributed.comm.core import CommClosedError

        try:
            self._meet()
            self._open()
            while not self._coordinator.is_done:
                reraise()
                self._hand_out()
                self._take_in()
                self._check_cluster()
                self._coordinator.report()
            return self._recorded()
        except CommClosedError as error:
            raise self._scheduler_lost() from error
        finally:
            for slot in self._slots:
                slot.future.release()
            with suppress(Exception):  # the cluster may be gone
                self._client.unregister_worker_plugin(self._name)
                self._client.unregister_scheduler_plugin(self._name)

    def _meet(self) -> None:
        """Record the host and the clock of each worker. Raise an error if mdreel is not installed on a host."""
        from mdreel.execution.executors.dask.worker import Host

        try:
            self._client.run_on_scheduler(Host.here)
        except ImportError as error:
            raise Failure.of(error).blamed_on(f"{self._scheduler} cannot begin") from error
        asked_ns = perf_counter_ns()
        answers = self._client.run(Host.here, on_error="return")
        answered_ns = perf_counter_ns()
        self._is_direct = all(is_reached(address) for address in answers)
        for address, answer in answers.items():
            if isinstance(answer, Host):
                self._add_worker(address, answer, asked_ns, answer.now_ns, answered_ns)
            elif not isinstance(answer, OSError):  # an OSError means that the worker has left
                raise Failure.of(answer).blamed_on(f"worker {address} cannot begin") from answer

    def _add_worker(self, address: str, host: Host, asked_ns: int, begun_ns: int, answered_ns: int) -> None:
        """Record the host name and the clock offset of a worker, using the times of a request and its answer."""
        from mdreel.execution.executors.dask.worker import Host

        here = Host.here()
        is_here = (host.name, host.boot) == (here.name, here.boot)
        self._hosts[address] = host.name
        # The request and the answer are assumed to take the same time.
        self._offsets_ns[address] = 0 if is_here else (asked_ns + answered_ns - begun_ns - host.now_ns) // 2

    def _open(self) -> None:
        """Open the trajectory on every worker."""
        from mdreel.execution.executors.dask.scheduler import TaskPlugin
        from mdreel.execution.executors.dask.worker import JobPlugin, open_job

        self._client.register_plugin(JobPlugin(self._name, self._payload))
        with suppress(ValueError):  # the scheduler does not allow plug-ins and records nothing
            self._client.register_plugin(TaskPlugin(self._name))
        workers = list(self._hosts)
        answers = self._client.run(open_job, self._name, workers=workers, on_error="ignore")
        for address, answer in answers.items():
            if isinstance(answer, Failure):
                raise answer.blamed_on(f"worker {self._where(address)} cannot begin") from answer.error
            for thread in range(self._client.nthreads().get(address, 1)):
                self._addresses.append(address)
                self._coordinator.ready(len(self._addresses) - 1, answer + self._offsets_ns[address])
                del thread
        self._coordinator.all_ready()

    def _where(self, address: str) -> str:
        return f"{address} on {self._hosts[address]}"

    def _hand_out(self) -> None:
        for number in range(self._n_workers):
            if (task := self._coordinator.take(number)) is not None:
                near = self._addresses[number] if number < len(self._addresses) else None
                self._submit(number, task, f"{self._name}-{task.number}", near)

    def _submit(self, number: int, task: Task, key: str, near: str | None) -> None:
        from mdreel.execution.executors.dask.worker import run_task

        future = self._client.submit(
            run_task,
            self._name,
            task.first,
            task.end,
            key=key,
            workers=None if near is None else [near],
            allow_other_workers=near is not None,
            pure=False,
        )
        self._slots.append(_Slot(number, task, future, perf_counter_ns(), near))
        future.add_done_callback(self._inbox.put)

    def _take_in(self) -> None:
        """Wait a moment for results, and handle all results that have arrived."""
        with suppress(queue.Empty):
            arrived = [self._inbox.get(timeout=_POLL_SECONDS)]
            while not self._inbox.empty():
                arrived.append(self._inbox.get_nowait())
            for slot in [slot for slot in self._slots if slot.future in arrived]:
                self._slots.remove(slot)
                self._end(slot)
        for slot in [slot for slot in self._slots if not self._coordinator.is_wanted(slot.task)]:
            slot.future.cancel()  # a running task continues without effect
            self._slots.remove(slot)

    def _check_cluster(self) -> None:
        """Raise an error if the cluster is lost, because Dask itself would wait forever."""
        if self._client.status == "closed":
            raise self._scheduler_lost()
        now = perf_counter()
        if now - max(self._heard_at, self._looked_at) > _QUIET_SECONDS:
            self._looked_at = now
            there = self._client.nthreads()
            if there:
                self._heard_at = now
                self._resubmit_forgotten(there)
            elif now - self._heard_at > START_SECONDS:
                message = f"all workers of {self._scheduler} were lost, and none has joined for {START_SECONDS:.0f} s"
                raise WorkerError(message)

    def _resubmit_forgotten(self, there: Collection[str]) -> None:
        """Resubmit tasks that Dask has forgotten, without a preferred worker.

        Dask assigns the tasks of a lost worker to another worker, but only if there is another worker at this moment.
        """
        under_way = {key for keys in self._client.processing().values() for key in keys}
        for slot in self._slots.copy():
            is_pending = slot.future.status == "pending" and slot.future.key not in under_way
            if is_pending and slot.near is not None and slot.near not in there:
                self._slots.remove(slot)
                slot.future.cancel()
                self._submit(slot.worker, slot.task, f"{slot.future.key}-again", None)

    def _scheduler_lost(self) -> WorkerError:
        return WorkerError(f"{self._scheduler} was lost")

    def _end(self, slot: _Slot) -> None:
        """Handle a task that has ended."""
        self._heard_at = perf_counter()
        if slot.future.status == "error":
            error = slot.future.exception()
            failure = Failure.of(error if isinstance(error, Exception) else RuntimeError(str(error)))
            self._coordinator.failed(slot.worker, slot.task, failure, "Dask cluster")
        elif slot.future.status in ("cancelled", "lost"):
            if self._client.status != "running":
                raise self._scheduler_lost()
            self._coordinator.lost(slot.worker, [slot.task], "Dask cluster", "was lost")
        else:
            done = self._fetched(slot)
            if done is None:
                self._slots.append(slot)
                slot.future.add_done_callback(self._inbox.put)
                return
            self._take(slot, done, perf_counter_ns())
            self._turn_ns = perf_counter_ns()

    def _take(self, slot: _Slot, done: Done, arrived_ns: int) -> None:
        """Handle the return value of a task."""
        if done.address not in self._hosts:  # a worker that joined during the run
            self._add_worker(done.address, done.host, slot.asked_ns, done.begun_ns, arrived_ns)
        if isinstance(done.part, Failure):
            self._coordinator.failed(slot.worker, slot.task, done.part, self._where(done.address))
            return
        n_known = len(self._addresses)
        worker = self._number(done.address, done.thread)
        begun_ns, opened_ns, ended_ns = (
            at + self._offsets_ns[done.address] for at in (done.begun_ns, done.opened_ns, done.host.now_ns)
        )
        if worker >= n_known:
            self._coordinator.ready(worker, opened_ns, begun_ns)
        done.part.done_by(worker)
        self._done_by[str(slot.future.key)] = (slot.task, worker)
        worked = TaskTimes(opened_ns, ended_ns, arrived_ns, done.member, self._turn_ns)
        self._coordinator.came(worker, slot.task, done.part, worked)

    def _fetched(self, slot: _Slot) -> Done | None:
        """Fetch the return value of a task. Return None if its worker was lost and the task therefore runs again."""
        # Directly from the worker if this process can reach it; otherwise through the scheduler.
        gathering = self._client.gather(slot.future, direct=self._is_direct, asynchronous=True)
        loop: Any = self._client.loop
        fetching = asyncio.run_coroutine_threadsafe(gathering, loop.asyncio_loop)
        try:
            done: Done = fetching.result(timeout=START_SECONDS)
        except TimeoutError:
            fetching.cancel()
            return None
        return done

    def _number(self, address: str, thread: int) -> int:
        """Return the number of a worker thread. Threads that joined during the run get a new number."""
        if (address, thread) not in self._numbers:
            taken = set(self._numbers.values())
            free = [n for n, own in enumerate(self._addresses) if own == address and n not in taken]
            if not free:
                free = [len(self._addresses)]
                self._addresses.append(address)
            self._numbers[address, thread] = free[0]
        return self._numbers[address, thread]

    def _recorded(self) -> NDArray[np.void]:
        """Fetch the scheduler's record of the tasks, and convert its times to the clock of this process."""
        from mdreel.execution.executors.dask.scheduler import Record, record_of

        answers = []
        with suppress(Exception):  # the scheduler has no plug-in
            for _ in range(_N_CLOCK_LOOKS):
                asked_ns, record = perf_counter_ns(), self._client.run_on_scheduler(record_of, self._name)
                answers.append((perf_counter_ns() - asked_ns, asked_ns, record))
        # The quickest answer gives the most accurate clock offset.
        taken_ns, asked_ns, record = min(answers, key=lambda answer: answer[0], default=(0, 0, Record()))
        offset_ns = asked_ns + taken_ns // 2 - record.now_ns - self._coordinator.begun_ns
        rows = []
        for key, _, start, stop in record.tasks:
            if key in self._done_by:
                task, worker = self._done_by[key]
                begun, ended = (max(round(1e9 * at) + offset_ns, 0) for at in (start, stop))
                rows.append((task.first, task.end, worker, begun, ended))
        return np.array(rows, TASK)


@dataclass(frozen=True)
class _Slot:
    """A submitted task and its preferred worker."""

    worker: int
    task: Task
    future: Future[Any]
    asked_ns: int
    near: str | None
