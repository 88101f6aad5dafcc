"""Main loop of a worker process."""

from __future__ import annotations

import signal
import sys
from collections import deque
from time import monotonic, perf_counter_ns

from mdreel.execution.executors.local.pipe import Pipe
from mdreel.timing.workers import Member, Watch

_PROGRESS_SECONDS = 0.2


class _Cancelled(BaseException):
    """Raised if the current task is no longer needed."""


class _Tasks:
    """Tasks of this worker. New messages can arrive during a computation.

    Parameters
    ----------
    pipe : Pipe
        Pipe to the coordinator.
    """

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._waiting: deque[tuple[int, int, int]] = deque()
        self._watch = Watch()
        self._number: int | None = None
        self._reported = monotonic()

    def next(self) -> tuple[int, int, int]:
        """Wait for a task, and return its number, first block and end."""
        while not self._waiting:
            self._receive()
        task = self._waiting.popleft()
        self._number = task[0]
        return task

    def look(self, n_frames: int) -> None:
        """Read messages and report progress. This method is called every few milliseconds during a computation."""
        self._watch.look()
        while self._pipe.has_message():
            self._receive()
        if monotonic() - self._reported > _PROGRESS_SECONDS:
            self._reported = monotonic()
            self._pipe.send(("progress", n_frames))

    def member(self) -> Member:
        """Return the memory and the processor time of this process."""
        return self._watch.look().member

    def _receive(self) -> None:
        match self._pipe.receive():
            case ("do", number, first, end):
                self._waiting.append((number, first, end))
            case ("drop", number) if number == self._number:
                raise _Cancelled
            case ("drop", number):
                kept = [task for task in self._waiting if task[0] != number]
                if len(kept) < len(self._waiting):  # otherwise the task is complete
                    self._waiting = deque(kept)
                    self._pipe.send(("dropped", number))


def serve(pipe: Pipe, worker: int) -> None:
    """Compute tasks until the pipe is closed.

    Parameters
    ----------
    pipe : Pipe
        Pipe to the coordinator. The first message from the coordinator is the job.
    worker : int
        Number of this worker.
    """
    from mdreel.execution.executors.remote_errors import Failure

    try:
        job, blocks = pipe.receive()
    except EOFError:
        raise
    except Exception as error:  # noqa: BLE001 (the parent must know of every error)
        pipe.send(("failed", None, Failure.of(error)))
        return
    tasks = _Tasks(pipe)
    pipe.send(("ready", perf_counter_ns()))
    while True:
        number, first, end = tasks.next()
        begun_ns = perf_counter_ns()
        try:
            part = job.map(blocks, first, end, monitor=tasks.look, worker=worker)
        except _Cancelled:
            pipe.send(("dropped", number))
        except Exception as error:  # noqa: BLE001 (the parent must know of every error)
            pipe.send(("failed", number, Failure.of(error)))
        else:
            pipe.send(("done", number, part, begun_ns, perf_counter_ns(), tasks.member()))


def main() -> None:
    """Serve the process that started this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends this process
    with Pipe.of(int(sys.argv[1])) as pipe:
        try:
            serve(pipe, int(sys.argv[2]))
        except (EOFError, OSError):
            sys.exit(1)  # the parent is gone


if __name__ == "__main__":
    main()
