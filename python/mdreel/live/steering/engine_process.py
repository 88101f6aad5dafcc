"""Process of an engine that is started by the steering."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mdreel.errors import MismatchError
from mdreel.execution.executors.reraise_signals import postpone_signals

STANDARD_ERROR = 2


@contextmanager
def engine(command: Sequence[str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Start an engine, and wait until it has exited at the end of the context. Its output goes to standard error.

    If the steering fails, this function still waits for the engine. Ctrl-C on a terminal reaches both processes,
    whereas a SIGTERM that is sent to this process is forwarded to the engine.

    Raises
    ------
    MismatchError
        If the engine cannot be started.
    """
    process = None
    try:
        with postpone_signals():  # a signal during `Popen` would leave an untracked process
            process = _start(command)
        yield process
    except SystemExit:
        if process is not None:
            process.terminate()
        raise
    finally:
        if process is not None:
            process.wait()


def _start(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=STANDARD_ERROR)
    except OSError as error:
        raise MismatchError(f"{command[0]}: the engine cannot be started: {error.strerror}") from error
