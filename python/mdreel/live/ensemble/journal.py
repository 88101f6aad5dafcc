"""Journal of a replica as JSON lines."""

import socket
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

from mdreel.errors import FormatError, StreamError
from mdreel.foundation.json_lines import JsonLinesLog, split_lines
from mdreel.foundation.untrusted_input import number, object_of, text, whole
from mdreel.live.notices.process import Process

EVENTS = ("starting", "started", "observed", "died", "hung", "finished", "failed", "interrupted", "retried")

ENDING = ".jsonl"
_MOST_LINE = 1 << 20

BOOT = Path("/proc/sys/kernel/random/boot_id")
"""Another text after each start of the machine."""


@dataclass(frozen=True)
class Past:
    """What a journal tells of a replica.

    Attributes
    ----------
    event : str or None
        The last that happened, one of `EVENTS`; None of a replica that nobody has started.
    message : str
        What it was, in words.
    time : float
        When, seconds since 1970.
    process : Process or None
        The process that runs, or ran last, if it was on this host, and since that was started.
    is_gone : bool
        Whether it was on this host, which was started anew since.
    n_deaths : int
        How often it has died since it was first started, or tried again.
    n_frames : int
        Frames that its analyses have had, as far as was said.
    first_step : int or None
        The step of its first frame.
    """

    event: str | None = None
    message: str = ""
    time: float = 0.0
    process: Process | None = None
    is_gone: bool = False
    n_deaths: int = 0
    n_frames: int = 0
    first_step: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to be done."""
        return self.event in ("finished", "failed")

    def after(self, line: dict[str, Any]) -> "Past":
        """Return what is known when a further line was read.

        Raises
        ------
        FormatError
            If it is no line of a journal.
        """
        event = text(line, "event")
        process, is_gone = (None, False) if event == "starting" else (self.process, self.is_gone)
        if event == "started":
            # A number below 2 would stand for more than the processes of a program.
            started = Process(whole(line, "process", 2, 1 << 32), whole(line, "process_start"))
            is_here = text(line, "host") == socket.gethostname()
            is_gone = is_here and text(line, "boot") != _boot()
            process = started if is_here and not is_gone else None
        n_deaths = 0 if event == "retried" else self.n_deaths + (event in ("died", "hung"))
        step = None if line.get("first_step") is None else whole(line, "first_step", -(1 << 63))
        # One that begins anew has another first frame.
        first = (None if line.get("is_anew") else self.first_step) if step is None else step
        message = text(line, "message", _MOST_LINE, least=0)
        time, n_frames = number(line, "time"), whole(line, "n_frames")
        return Past(event, message, time, process, is_gone, n_deaths, n_frames, first)


class Journal(JsonLinesLog):
    """The file behind which each event of a replica goes as one line. Who has it open holds a lock on it.

    Parameters
    ----------
    path : Path
        The file; it is made if it is not there.

    Attributes
    ----------
    past : Past
        What it tells so far.

    Raises
    ------
    StreamError
        If another manager has the replica.
    FormatError
        If it is no journal.
    OSError
        If it cannot be written.

    Notes
    -----
    A line is handed to the system in one call: of a kill, half a line can be left, which is cut off.
    """

    def __init__(self, path: Path) -> None:
        try:
            super().__init__(path, exclusive=True)
        except BlockingIOError:
            raise StreamError(f"{path}: another `mdreel ensemble run` has this replica") from None
        try:
            self.past = self.recover(lambda content: _past(path, content))
        except BaseException:
            self.close()
            raise

    def write(self, event: str, message: str, n_frames: int = 0, process: Process | None = None, **facts: Any) -> None:
        """Write a line.

        Parameters
        ----------
        event : str
            One of `EVENTS`.
        message : str
            What happened, in words.
        n_frames : int
            Frames that the analyses have had.
        process : Process, optional
            The process that was started.
        **facts
            ``first_step``, ``is_anew``; see `Past`.
        """
        who = {} if process is None else {"process": process.number, "process_start": process.start}
        line = {"time": time(), "event": event, "message": message, "n_frames": n_frames, **who, **facts}
        if process is not None:
            line |= {"host": socket.gethostname(), "boot": _boot()}
        self.append(line)
        self.past = self.past.after(line)


def past_of(path: Path) -> Past:
    """Read a journal, which need not be there, without taking part.

    Raises
    ------
    FormatError
        If it is no journal.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Past()
    return _past(path, content)


def _boot() -> str:
    """Return what tells this start of the machine from others: numbers of processes begin anew with it."""
    return BOOT.read_text(encoding="ascii").strip()


def _past(path: Path, content: bytes) -> Past:
    past = Past()
    for at, line in enumerate(split_lines(content), 1):
        try:
            past = past.after(object_of(line, _MOST_LINE))
        except FormatError as error:
            raise FormatError(f"{path}, line {at}: no line of a journal: {error}") from None
    return past
