"""Command that is run for each alert. Only the command line of ``mdreel watch`` can set it."""

import os
import shlex
import subprocess
from collections.abc import Callable
from queue import Full, Queue
from threading import Thread

from mdreel.errors import MismatchError
from mdreel.live.watch.alerts import AlertEvent

_MOST_WAITING = 100
_MOST_SECONDS = 60.0
"""Time after which a command is killed, in s."""


class AlertCommand:
    """Command that is run for each alert, one at a time, in a separate thread and without a shell.

    Environment variables describe the alert, so that nothing from a page or from an analysis becomes part of the
    command. They are ``MDREEL_ALERT``, ``MDREEL_CHANNEL``, ``MDREEL_ANALYSIS``, ``MDREEL_COLUMN``,
    ``MDREEL_VALUE``, ``MDREEL_UNIT``, ``MDREEL_FRAME`` and ``MDREEL_FRAME_TIME`` (in ps).

    Parameters
    ----------
    command : str
        Program and arguments, which can be quoted as in a shell.
    report : callable
        Function that receives a message if a command fails.

    Raises
    ------
    MismatchError
        If the command is empty or its quotes do not match.
    """

    def __init__(self, command: str, report: Callable[[str], None]) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise MismatchError(f"the command {command!r} cannot be read: {error}") from None
        if not self._words:
            raise MismatchError("the command for alerts is empty")
        self._report = report
        self._waiting: Queue[AlertEvent] = Queue(_MOST_WAITING)
        Thread(target=self._run_each, daemon=True).start()

    def submit(self, event: AlertEvent) -> None:
        """Run the command for an alert after the commands for earlier alerts."""
        try:
            self._waiting.put_nowait(event)
        except Full:
            self._report(f"{_MOST_WAITING} commands for alerts are waiting; left out the one for {event.label}")

    def _run_each(self) -> None:
        while True:
            self._run(self._waiting.get())

    def _run(self, event: AlertEvent) -> None:
        facts = {
            "ALERT": event.label,
            "CHANNEL": str(event.channel),
            "ANALYSIS": event.analysis,
            "COLUMN": event.column,
            "VALUE": f"{event.value:.9g}",
            "UNIT": event.unit,
            "FRAME": str(event.frame),
            "FRAME_TIME": f"{event.frame_time:.9g}",
        }
        environment = {**os.environ, **{f"MDREEL_{name}": value for name, value in facts.items()}}
        try:
            done = subprocess.run(
                self._words, env=environment, stdin=subprocess.DEVNULL, timeout=_MOST_SECONDS, check=False
            )
        except (OSError, ValueError) as error:
            self._report(f"the command for the alert {event.label} cannot be run: {error}")
        except subprocess.TimeoutExpired:
            self._report(f"the command for the alert {event.label} was killed after {_MOST_SECONDS:g} s")
        else:
            if done.returncode:
                self._report(f"the command for the alert {event.label} ended with status {done.returncode}")
