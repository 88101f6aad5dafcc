"""Process tree of a replica."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

from mdreel.errors import WorkerError
from mdreel.live.notices.process import Process

_LOOK_SECONDS = 0.02
_MOST_SECONDS = 30.0
"""No process of ours outlives SIGKILL for so long, unless a file system holds it."""


class Program:
    """A program that runs, in a session of its own, so that Ctrl-C on a terminal is for us.

    Parameters
    ----------
    words : sequence of str
        The program and its arguments.
    folder : Path
        Where it runs.
    environment : mapping
        Its environment variables.
    output : Path
        The file behind which goes what it says.

    Attributes
    ----------
    process : Process
        Its process.

    Raises
    ------
    OSError
        If it cannot be started.
    """

    def __init__(self, words: Sequence[str], folder: Path, environment: Mapping[str, str], output: Path) -> None:
        with output.open("ab") as file:
            self._started = subprocess.Popen(
                words,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.process = Process.of(self._started.pid)

    def status(self) -> int | None:
        """Return how it has ended: its exit status, or minus a signal; None while it runs.

        Notes
        -----
        What it has started and left behind is ended with it: ranks, helpers.
        """
        if self._started.returncode is None and self._has_ended():
            # As long as nobody has asked for its status, its number is nobody else's.
            self._signal(signal.SIGKILL)
            self._started.wait()
        return self._started.returncode

    def terminate(self) -> None:
        """Ask it to end."""
        if self._started.returncode is None:
            self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it, and wait for that."""
        if self._started.returncode is None:
            self._signal(signal.SIGKILL)
            self._started.wait()

    def _has_ended(self) -> bool:
        return os.waitid(os.P_PID, self._started.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._started.pid, number)


def end_left(process: Process) -> bool:
    """End the program that a manager has left which was killed.

    Parameters
    ----------
    process : Process
        Its process.

    Returns
    -------
    bool
        Whether it ran.

    Raises
    ------
    WorkerError
        If it cannot be ended.
    """
    until = monotonic() + _MOST_SECONDS
    has_run = process.is_alive
    # If it has gone, and nobody has its number, what it has started may be left. While that is, nobody gets the number.
    if Process.of(process.number).start in (process.start, 0):
        with suppress(ProcessLookupError):
            os.killpg(process.number, signal.SIGKILL)
    while process.is_alive:
        if monotonic() > until:
            raise WorkerError(f"process {process.number}, left by a manager that was killed, cannot be ended")
        sleep(_LOOK_SECONDS)
    return has_run


def end_stray(name: str, value: str) -> bool:
    """End programs of this user that were started with an environment variable, and of which nobody knows the process.

    Parameters
    ----------
    name, value : str
        The variable.

    Returns
    -------
    bool
        Whether there were any.
    """
    wanted = f"{name}={value}".encode()
    found = False
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has gone, or is somebody else's
            if wanted in path.read_bytes().split(b"\0"):
                found = end_left(Process.of(int(path.parent.name))) or found
    return found


def said_of(status: int) -> str:
    """Say how a program has ended."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"signal {-status}"
