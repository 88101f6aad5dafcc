"""Main loop of a worker process."""

from __future__ import annotations

import signal
import sys
from collections import deque
from time import monotonic, perf_counter_ns

from mdreel.execution.executors.local.pipe import Pipe
from mdreel.timing.workers import Member, Watch

_PROGRESS_SECONDS = 0.2


class _Dropped(BaseException):
    """Nobody needs what is being done."""


class _Tickets:
    """The tickets of this worker: what it is told comes while it works.

    Parameters
    ----------
    pipe : Pipe
        To the process that hands them out.
    """

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._waiting: deque[tuple[int, int, int]] = deque()
        self._watch = Watch()
        self._number: int | None = None
        self._said = monotonic()

    def next(self) -> tuple[int, int, int]:
        """Wait for a ticket; return its number, first block and end."""
        while not self._waiting:
            self._hear()
        ticket = self._waiting.popleft()
        self._number = ticket[0]
        return ticket

    def look(self, n_frames: int) -> None:
        """Be called every few milliseconds, with the number of frames of a ticket that are done."""
        self._watch.look()
        while self._pipe.is_spoken_to():
            self._hear()
        if monotonic() - self._said > _PROGRESS_SECONDS:
            self._said = monotonic()
            self._pipe.say(("progress", n_frames))

    def member(self) -> Member:
        """Say what this process has taken."""
        return self._watch.look().member

    def _hear(self) -> None:
        match self._pipe.hear():
            case ("do", number, first, end):
                self._waiting.append((number, first, end))
            case ("drop", number) if number == self._number:
                raise _Dropped
            case ("drop", number):
                kept = [ticket for ticket in self._waiting if ticket[0] != number]
                if len(kept) < len(self._waiting):  # it may be done
                    self._waiting = deque(kept)
                    self._pipe.say(("dropped", number))


def serve(pipe: Pipe, worker: int) -> None:
    """Do tickets until the pipe is closed.

    Parameters
    ----------
    pipe : Pipe
        To the process that hands out tickets; the job comes first.
    worker : int
        Which worker this is.
    """
    from mdreel.execution.executors.remote_errors import Failure

    try:
        job, blocks = pipe.hear()
    except EOFError:
        raise
    except Exception as error:  # noqa: BLE001 (whatever it is, the parent must be told)
        pipe.say(("failed", None, Failure.of(error)))
        return
    tickets = _Tickets(pipe)
    pipe.say(("ready", perf_counter_ns()))
    while True:
        number, first, end = tickets.next()
        begun_ns = perf_counter_ns()
        try:
            part = job.map(blocks, first, end, monitor=tickets.look, worker=worker)
        except _Dropped:
            pipe.say(("dropped", number))
        except Exception as error:  # noqa: BLE001 (whatever it is, the parent must be told)
            pipe.say(("failed", number, Failure.of(error)))
        else:
            pipe.say(("done", number, part, begun_ns, perf_counter_ns(), tickets.member()))


def main() -> None:
    """Serve the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    with Pipe.of(int(sys.argv[1])) as pipe:
        try:
            serve(pipe, int(sys.argv[2]))
        except (EOFError, OSError):
            sys.exit(1)  # the parent is gone


if __name__ == "__main__":
    main()
