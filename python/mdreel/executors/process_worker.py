"""A worker process: does tickets as long as it is given some, and ends when nobody listens any more."""

from __future__ import annotations

import pickle
import signal
import sys
from multiprocessing.connection import Connection
from time import monotonic, perf_counter_ns
from typing import Any

from mdreel.crew import Watch

_PROGRESS_SECONDS = 0.2


class _Dropped(BaseException):
    """Nobody needs what is being done."""


class _Listener:
    """Looks for messages while blocks are run, and says how far they are."""

    def __init__(self, connection: Connection[Any, Any], watch: Watch) -> None:
        self._connection = connection
        self._watch = watch
        self._said = monotonic()

    def __call__(self, n_frames: int) -> None:
        """Be called every few milliseconds, with the number of frames done."""
        self._watch.look()
        if self._connection.poll():
            if self._connection.recv() == ("drop",):
                raise _Dropped
        elif monotonic() - self._said > _PROGRESS_SECONDS:
            self._said = monotonic()
            self._connection.send(("progress", n_frames))


def serve(connection: Connection[Any, Any], number: int) -> None:
    """Do tickets until the connection is closed.

    Parameters
    ----------
    connection : Connection
        To the process that hands out tickets; the job comes first.
    number : int
        Which worker this is.
    """
    from mdreel.executors.failure import Failure

    try:
        job, blocks = pickle.loads(connection.recv_bytes())  # noqa: S301 (from our own parent)
    except Exception as error:  # noqa: BLE001 (whatever it is, the parent must be told)
        connection.send(("failed", Failure.of(error)))
        return
    watch = Watch()
    connection.send(("ready", perf_counter_ns()))
    while True:
        match connection.recv():
            case ("do", first, end):
                begun_ns = perf_counter_ns()
                try:
                    part = job.map(blocks, first, end, monitor=_Listener(connection, watch), worker=number)
                except _Dropped:
                    connection.send(("dropped",))
                except Exception as error:  # noqa: BLE001 (whatever it is, the parent must be told)
                    connection.send(("failed", Failure.of(error)))
                else:
                    connection.send(("done", part, begun_ns, perf_counter_ns(), watch.look().member))
            case _:
                pass  # nobody needs what was done meanwhile


def main() -> None:
    """Serve the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    with Connection(int(sys.argv[1])) as connection:
        try:
            serve(connection, int(sys.argv[2]))
        except (EOFError, OSError):
            sys.exit(1)  # the parent is gone


if __name__ == "__main__":
    main()
