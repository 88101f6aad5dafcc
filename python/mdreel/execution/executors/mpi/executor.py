"""Executor for MPI ranks."""

from __future__ import annotations

import pickle
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from itertools import pairwise
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, get_args

import numpy as np

from mdreel.errors import ArgumentError, MismatchError, UnsupportedError, WorkerError
from mdreel.execution.checkpoint.file import Checkpoint
from mdreel.execution.choices import Communication, Schedule
from mdreel.execution.executors.mpi.assignment import Assignment
from mdreel.execution.executors.mpi.broadcast import Kind, Message, receive, send
from mdreel.execution.executors.mpi.calls import RankCalls, meet, take_part
from mdreel.execution.executors.mpi.launcher import launched
from mdreel.execution.executors.mpi.progress_thread import progress_thread
from mdreel.execution.executors.mpi.rank_readers import JobTogether, job_of_ranks, open_reading
from mdreel.execution.executors.mpi.result_transfer import (
    ResultTransfer,
    check_communication,
    open_transfer,
    suitable_communication,
)
from mdreel.execution.executors.mpi.results import Results
from mdreel.execution.executors.mpi.round import HandedIn, Round
from mdreel.execution.executors.mpi.windows import NoWindowError
from mdreel.execution.executors.remote_errors import Failure
from mdreel.execution.job import Outcome
from mdreel.execution.memory import check_budget
from mdreel.execution.serving_processes import among_processes
from mdreel.execution.span_log import SpanLog
from mdreel.execution.work import Work
from mdreel.foundation.arguments import checked_arguments, shown

if TYPE_CHECKING:
    from mdreel._core import Part
    from mdreel.execution.job import Monitor

T = TypeVar("T")

_SERVED: ContextVar[tuple[Any, ...]] = ContextVar("communicators whose other ranks serve rank 0", default=())
"""Communicators whose other ranks serve this rank."""


_AFTER_THE_LOOP = ("communicate", "wait", "communicate")
"""Kinds of the spans after the last block of a rank: it packs its results, waits for the other ranks, and sends."""


class _Packed(NamedTuple):
    """Pickled record of a rank (empty on rank 0), and the times at which pickling started and ended."""

    content: bytes
    begun_ns: int
    ended_ns: int


class Mpi:
    """Executor that runs blocks on all MPI ranks, including rank 0.

    Parameters
    ----------
    n_workers : int, optional
        Number of ranks. If you set it, it must be equal to the size of the communicator.
    schedule : {"demand", "static"}
        How to assign blocks. You can give each block to the next free rank, or one share of all blocks to each rank.
    communication : {"gather", "window", "global-arrays"}
        How to transfer results to rank 0. ``"gather"`` uses Gatherv at the end. ``"window"`` uses one-sided
        communication to put results into an array on rank 0. ``"global-arrays"`` uses a global array that is
        distributed over all ranks, and requires an interpreter with Global Arrays. The default is ``"window"`` on a
        single node if the frame index is known, and ``"gather"`` otherwise.
    communicator : mpi4py.MPI.Comm, optional
        The ranks. By default, all ranks are used.

    Raises
    ------
    UnsupportedError
        If you did not start this process using an MPI launcher, or mpi4py is not installed.
    WorkerError
        If your launcher and your MPI library belong to different MPI implementations.

    Notes
    -----
    You need to call ``run`` of an analysis on all ranks, which will then all receive the results. When your trajectory
    consists of several files, these are divided among the ranks. Only rank 0 plans the run, and sends the job and the
    frame index to the other ranks. For other work that should be done by one rank for all ranks (such as reading the
    topology), you can use `share`. Ranks obtain their next block from a counter in the memory of rank 0. Each rank uses
    a single thread.

    Examples
    --------
    Start the script with ``mpirun -n 4 python script.py``:

    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> alpha = mda.Universe(PSF, DCD).select_atoms("name CA")
    >>> executor = mdreel.Mpi(communication="window")  # doctest: +SKIP
    >>> mdreel.RMSD(alpha).run(backend=executor).results.rmsd.shape  # doctest: +SKIP
    (98, 3)
    """

    name = "mpi"

    @checked_arguments
    def __init__(
        self,
        n_workers: int | None = None,
        schedule: Schedule = "demand",
        *,
        communication: Communication | None = None,
        communicator: Any = None,
    ) -> None:
        if communication not in (None, *(known := get_args(Communication))):
            raise UnsupportedError(f"unknown communication {communication!r}; known: {', '.join(known)}")
        if communicator is not None and not (hasattr(communicator, "size") and hasattr(communicator, "bcast")):
            raise ArgumentError(f"communicator must be an mpi4py communicator or None, not {shown(communicator)}")
        self._communicator = world() if communicator is None else communicator
        self.n_workers: int = self._communicator.size
        if n_workers not in (None, self.n_workers):
            raise MismatchError(f"n_workers is {n_workers}, but the launcher has started {self.n_workers} ranks")
        self.schedule = schedule
        self.communication: Communication | None = communication

    def share(self, compute: Callable[[], T]) -> T:
        """Call a function on rank 0 while other ranks serve it. Return its value on all ranks; see `Executor.share`."""
        if self._communicator.rank != 0:
            result, failure = self._serve(Kind.END).read()
            if failure is not None:
                raise failure.error
            shared: T = result
            return shared
        if self._communicator in _SERVED.get():
            return compute()  # a nested call: the other ranks already serve
        try:
            with self.served():
                result = compute()
        except Exception as error:
            send(self._communicator, Kind.END, (None, Failure.of(error)))
            raise
        except BaseException:
            send(self._communicator, Kind.END, (None, Failure(RuntimeError("rank 0 was interrupted"), "")))
            raise
        send(self._communicator, Kind.END, (result, None))
        return result

    @contextmanager
    def served(self) -> Iterator[None]:
        """Record on rank 0 that the other ranks are in `share` or `serve`, and therefore serve this rank."""
        token = _SERVED.set((*_SERVED.get(), self._communicator))
        try:
            with among_processes(RankCalls(self._communicator)):
                yield
        finally:
            _SERVED.reset(token)

    def serve(self) -> NoReturn:
        """Serve the runs of rank 0 until rank 0 calls `leave`, and then exit with the exit code from this call."""
        sys.exit(self._serve(Kind.LEAVE).read())

    def leave(self, code: int) -> None:
        """End `serve` on all other ranks, which then exit with this exit code."""
        send(self._communicator, Kind.LEAVE, code)

    def run(self, work: Work) -> Outcome | None:
        """Run all blocks; see `Executor.run`. Call this on rank 0 while the other ranks are in `share` or `serve`."""
        if work.job.source.is_growing:
            raise UnsupportedError("only one process can read a growing trajectory: use the backend threads or serial")
        check_communication(self.communication, self._communicator)
        check_budget(work, self.n_workers)
        if self.communication not in (None, "gather") and work.blocks.are_of_bytes:
            return None  # the number of each frame must be known in advance
        job = job_of_ranks(work)
        results = Results(work)
        while results.is_of_use and (ranges := results.missing()):
            assignment = Assignment(ranges, self.schedule, work.one_by_one, self.communication)
            kept = None if work.checkpoint is None else (work.checkpoint.path, work.checkpoint.identity)
            send(self._communicator, Kind.ROUND, (job, work.blocks, assignment, kept))
            monitor = None if work.monitor is None else _counting(work.monitor, results.n_frames)
            self._round(job, work.blocks, assignment, work.checkpoint, monitor, results, perf_counter_ns())
        return results.finish()

    def __repr__(self) -> str:
        return f"Mpi({self.n_workers}, {self.schedule!r}, communication={self.communication!r})"

    def _serve(self, until: Kind) -> Message:
        """Process messages from rank 0 until a message of this kind arrives. Rank 0 handles Ctrl-C for all ranks."""
        previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with among_processes():
                while True:
                    kind, message = receive(self._communicator)
                    if kind is until:
                        return message
                    if kind is Kind.ROUND:
                        self._serve_round(message)
                    elif kind is Kind.CALL:
                        take_part(self._communicator, message)
        except SystemExit as error:  # a scheduler sends SIGTERM to all ranks
            self._communicator.Abort(int(error.code or 0))
            raise
        except BaseException:  # the other ranks would wait forever
            traceback.print_exc()
            self._communicator.Abort(1)
            raise
        finally:
            signal.signal(signal.SIGINT, previous)

    def _serve_round(self, message: Message) -> None:
        """Compute a round for which rank 0 has sent a message."""
        since_ns = perf_counter_ns()
        job, blocks, assignment, kept = _order_in(message, self._communicator)
        checkpoint = None
        if kept is not None:
            path, identity = kept
            checkpoint = Checkpoint.of_rank(path, identity, self._communicator.rank, blocks)
        # Rank 0 raises a NoWindowError, too, and reports it.
        with suppress(NoWindowError), nullcontext() if checkpoint is None else closing(checkpoint):
            self._round(job, blocks, assignment, checkpoint, None, None, since_ns)

    def _round(
        self,
        job: Any,
        blocks: Any,
        assignment: Any,
        checkpoint: Checkpoint | None,
        monitor: Monitor | None,
        results: Results | None,
        since_ns: int,
    ) -> None:
        """Compute a round together with the other ranks. Only rank 0 passes `results`, which is then filled."""
        ranks = self._communicator
        handed_in = HandedIn(f"rank {ranks.rank} ({socket.gethostname()})")
        log = handed_in.log
        log.record("open", ranks.rank, since_ns)
        if not self._hosts(job if isinstance(job, Failure) else None, log):
            return
        stopped: BaseException | None = None
        with ExitStack() as stack:
            since_ns = perf_counter_ns()
            reading = stack.enter_context(open_reading(job, ranks, blocks, assignment))
            log.record("open", ranks.rank, since_ns)
            hosts = self._hosts(reading.failure, log)
            if not hosts:
                return
            since_ns = perf_counter_ns()
            communication = assignment.communication or suitable_communication(hosts, blocks)
            width = job.kernel.row_width
            transfer = stack.enter_context(open_transfer(communication, ranks, blocks, width))

            def keep(part: Part) -> int:
                if checkpoint is not None:
                    checkpoint.add(part)
                put_ns = perf_counter_ns()
                n_rows = transfer.put(part)
                log.record("communicate", ranks.rank, put_ns, n_frames=n_rows, n_bytes=8 * width * n_rows)
                return n_rows

            round_ = Round(ranks, reading, blocks, assignment, handed_in, keep, monitor)
            log.record("communicate", ranks.rank, since_ns, round_.begun_ns)
            with progress_thread(ranks) if ranks.rank == 0 and len(set(hosts)) > 1 else nullcontext():
                try:
                    if results is not None:
                        results.make_room()
                        round_.free_since_ns = log.record("communicate", ranks.rank, round_.begun_ns)
                    round_.run()
                except BaseException as error:  # noqa: BLE001 (raised after all ranks have met)
                    stopped = error
                reading.join()
                # What a rank can do alone comes before the meeting, so that only the transfer itself comes after it.
                packed = _packed(handed_in, transfer, ranks.rank, log.record("wait", ranks.rank, round_.free_since_ns))
                stopped = meet(self._communicator) or stopped
            met_ns = perf_counter_ns()
            round_.close()
            transfer.settle()
            gathered = self._gather(handed_in, packed, met_ns)
            if stopped is not None:
                raise stopped
            if results is not None:  # while the transfer is open
                results.take_in(round_.begun_ns, gathered, transfer)

    def _hosts(self, failure: Failure | None, log: SpanLog) -> list[str]:
        """Return the host of each rank. If a rank cannot begin, rank 0 raises its error, and other ranks return []."""
        since_ns = perf_counter_ns()
        answers = self._communicator.allgather((socket.gethostname(), failure))
        log.record("wait", self._communicator.rank, since_ns)
        for rank, (host, found) in enumerate(answers):
            if found is not None:
                if self._communicator.rank == 0:
                    raise found.blamed_on(f"rank {rank} ({host}) cannot begin") from found.error
                return []
        return [host for host, _ in answers]

    def _gather(self, handed_in: HandedIn, packed: _Packed, met_ns: int) -> list[HandedIn]:
        """Gather the records of all ranks on rank 0, and add spans for the time since each record was packed."""
        from mpi4py import MPI

        ranks = self._communicator
        content = np.frombuffer(packed.content, np.uint8)
        sizes = ranks.gather(len(content))
        if ranks.rank != 0:
            ranks.Gatherv([content, MPI.BYTE], None)
            ranks.gather((packed.begun_ns, packed.ended_ns, met_ns, perf_counter_ns()))
            return []
        starts = np.concatenate([[0], np.cumsum(sizes)])
        everything = np.empty(starts[-1], np.uint8)
        ranks.Gatherv([content, MPI.BYTE], [everything, (sizes, starts[:-1].tolist()), MPI.BYTE])
        others = [everything[a:b] for a, b in pairwise(starts)][1:]
        gathered = [handed_in, *(pickle.loads(content.data) for content in others)]  # noqa: S301 (from our own ranks)
        times = ranks.gather((packed.begun_ns, packed.ended_ns, met_ns, perf_counter_ns()))
        for rank, edges in enumerate(times):
            for kind, (begun_ns, ended_ns) in zip(_AFTER_THE_LOOP, pairwise(edges), strict=True):
                gathered[rank].log.record(kind, rank, begun_ns, ended_ns)
        return gathered


def world() -> Any:
    """Return the communicator of all ranks that the launcher has started.

    Raises
    ------
    UnsupportedError
        If you did not start this process using an MPI launcher, or mpi4py is not installed.
    WorkerError
        If your launcher and your MPI library belong to different MPI implementations.
    """
    expected = launched()
    if expected is None:
        message = "no MPI launcher has started this process: use mpirun -n 4 mdreel ..., or another backend"
        raise UnsupportedError(f"the backend mpi: {message}")
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise UnsupportedError("the backend mpi needs mpi4py: pip install 'mdreel[mpi]'") from error
    if expected.size != MPI.COMM_WORLD.size:
        library = MPI.Get_library_version().split("\n")[0].strip("\0 ")
        raise WorkerError(
            f"the launcher has started {expected.size} ranks, but the MPI library sees {MPI.COMM_WORLD.size}: "
            f"use the launcher of the same MPI; the library is {library}"
        )
    return MPI.COMM_WORLD


def _packed(handed_in: HandedIn, transfer: ResultTransfer, rank: int, since_ns: int) -> _Packed:
    """Prepare the results of a rank, so that they can be sent immediately."""
    transfer.prepare()
    content = b"" if rank == 0 else pickle.dumps(handed_in, protocol=pickle.HIGHEST_PROTOCOL)
    return _Packed(content, since_ns, perf_counter_ns())


def _counting(monitor: Monitor, n_before: int) -> Monitor:
    return lambda n_frames: monitor(n_before + n_frames)


def _order_in(message: Message, communicator: Any) -> tuple[Any, Any, Any, Any]:
    """Return the job, blocks, assignment and checkpoint of a message. The job can be a `Failure` of this rank."""
    try:
        job, blocks, assignment, kept = message.read()
        check_communication(assignment.communication, communicator)
        if isinstance(job, JobTogether):
            job.file.check()
    except Exception as error:  # noqa: BLE001 (rank 0 must know of every error)
        return Failure.of(error), None, None, None
    return job, blocks, assignment, kept
