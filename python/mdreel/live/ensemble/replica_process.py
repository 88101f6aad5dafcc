"""Program of a replica, including all processes that it has started."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

from mdreel.errors import WorkerError
from mdreel.live.notices.process import Process

_POLL_SECONDS = 0.02
_MOST_SECONDS = 30.0
"""Timeout after SIGKILL, in s. Only a hanging file system can delay the end of a process for so long."""


class Program:
    """Program that runs in its own session, so that Ctrl-C on a terminal reaches only the manager.

    Parameters
    ----------
    words : sequence of str
        The program and its arguments.
    folder : Path
        Working directory.
    environment : mapping
        Environment variables.
    output : Path
        File to which the output is appended.

    Raises
    ------
    OSError
        If the program cannot be started.
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
        self.process = Process.from_id(self._started.pid)

    def status(self) -> int | None:
        """Return the exit status (negative if a signal ended the program), or None while the program is running.

        Notes
        -----
        When the program ends, any processes that it has started and left running, such as MPI ranks, are killed.
        """
        if self._started.returncode is None and self._has_ended():
            # Until its status is collected, its process ID is not reused.
            self._signal(signal.SIGKILL)
            self._started.wait()
        return self._started.returncode

    def terminate(self) -> None:
        """Send SIGTERM."""
        if self._started.returncode is None:
            self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL and wait until the program has ended."""
        if self._started.returncode is None:
            self._signal(signal.SIGKILL)
            self._started.wait()

    def _has_ended(self) -> bool:
        return os.waitid(os.P_PID, self._started.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._started.pid, number)


def end_leftover(process: Process) -> bool:
    """Terminate a program that a killed manager left running. Return whether it was running, or raise WorkerError."""
    until = monotonic() + _MOST_SECONDS
    has_run = process.is_alive
    # If the process has gone but its process ID is unused, its child processes may still run. As long as they do, the
    # system does not reuse the ID.
    if Process.from_id(process.number).start in (process.start, 0):
        with suppress(ProcessLookupError):
            os.killpg(process.number, signal.SIGKILL)
    while process.is_alive:
        if monotonic() > until:
            raise WorkerError(f"process {process.number}, left by a killed manager, cannot be ended")
        sleep(_POLL_SECONDS)
    return has_run


def end_stray(name: str, value: str) -> bool:
    """Terminate this user's programs that have an environment variable with this value. Return whether any existed."""
    wanted = f"{name}={value}".encode()
    found = False
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended, or belongs to another user
            if wanted in path.read_bytes().split(b"\0"):
                found = end_leftover(Process.from_id(int(path.parent.name))) or found
    return found


def describe_status(status: int) -> str:
    """Describe the exit status of a program."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"signal {-status}"
