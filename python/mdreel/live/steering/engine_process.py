"""Process of an engine that the steering starts, and that outlives a failed steering."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mdreel.errors import MismatchError

STANDARD_ERROR = 2


@contextmanager
def engine(command: Sequence[str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Start an engine, whose output goes to standard error, and wait for its end when the context exits.

    If the steering fails, the simulation still runs to its end. Ctrl-C on a terminal reaches both; a SIGTERM to this
    process is forwarded.

    Raises
    ------
    MismatchError
        If the engine cannot be started.
    """
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=STANDARD_ERROR)
    except OSError as error:
        raise MismatchError(f"{command[0]}: the engine cannot be started: {error.strerror}") from error
    try:
        yield process
    except SystemExit:
        process.terminate()
        raise
    finally:
        process.wait()
