"""Engine process that a steering run starts."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mdreel.errors import MismatchError

STANDARD_ERROR = 2


@contextmanager
def engine(command: Sequence[str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Start an engine, and wait for its end.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments. What it says goes to our standard error.

    Yields
    ------
    subprocess.Popen
        Its process.

    Raises
    ------
    MismatchError
        If it cannot be started.

    Notes
    -----
    A steering that fails does not take the simulation with it, which runs to its end. Ctrl-C on a terminal is for both;
    a SIGTERM to us is passed on.
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
