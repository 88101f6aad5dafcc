"""Journal of a replica in JSON lines format."""

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
"""ID that changes each time the machine boots."""


@dataclass(frozen=True)
class ReplicaHistory:
    """History of a replica from its journal.

    Attributes
    ----------
    event : str or None
        Last event, which is one of `EVENTS`, or None if the replica was never started.
    message : str
        Human-readable description of the event.
    time : float
        Time of the event, in seconds since 1970.
    process : Process or None
        Last process, if it was started on this host since the last boot.
    is_gone : bool
        Whether the last process was started on this host before the last boot.
    n_deaths : int
        Number of times that the program has died since the first start or the last retry.
    n_frames : int
        Number of analysed frames at the last event.
    first_step : int or None
        Step of the first frame.
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
        """Whether the replica has finished or failed."""
        return self.event in ("finished", "failed")

    def after(self, line: dict[str, Any]) -> "ReplicaHistory":
        """Return the history after adding a line. Raise FormatError if the line is invalid."""
        event = text(line, "event")
        process, is_gone = (None, False) if event == "starting" else (self.process, self.is_gone)
        if event == "started":
            # A process ID below 2 would address more than the processes of the program.
            started = Process(whole(line, "process", 2, 1 << 32), whole(line, "process_start"))
            is_here = text(line, "host") == socket.gethostname()
            is_gone = is_here and text(line, "boot") != _boot()
            process = started if is_here and not is_gone else None
        n_deaths = 0 if event == "retried" else self.n_deaths + (event in ("died", "hung"))
        step = None if line.get("first_step") is None else whole(line, "first_step", -(1 << 63))
        # A program that starts from the beginning has a new first frame.
        first = (None if line.get("is_anew") else self.first_step) if step is None else step
        message = text(line, "message", _MOST_LINE, least=0)
        time, n_frames = number(line, "time"), whole(line, "n_frames")
        return ReplicaHistory(event, message, time, process, is_gone, n_deaths, n_frames, first)


class Journal(JsonLinesLog):
    """Log file of a replica with one line per event, locked by its manager.

    Parameters
    ----------
    path : Path
        The file, which is created if it does not exist.

    Raises
    ------
    StreamError
        If another manager is running the replica.
    FormatError
        If the file is not a journal.
    OSError
        If the file cannot be written.

    Notes
    -----
    If the manager is killed, the last line can be incomplete. The next manager removes such a line.
    """

    def __init__(self, path: Path) -> None:
        try:
            super().__init__(path, exclusive=True)
        except BlockingIOError:
            raise StreamError("another `mdreel ensemble run` runs this replica", path=path) from None
        try:
            self.history = self.recover(lambda content: _parse_history(path, content))
        except BaseException:
            self.close()
            raise

    def write(self, event: str, message: str, n_frames: int = 0, process: Process | None = None, **facts: Any) -> None:
        """Write one of `EVENTS` with its description, the number of analysed frames, and fields of `ReplicaHistory`."""
        who = {} if process is None else {"process": process.number, "process_start": process.start}
        line = {"time": time(), "event": event, "message": message, "n_frames": n_frames, **who, **facts}
        if process is not None:
            line |= {"host": socket.gethostname(), "boot": _boot()}
        self.append(line)
        self.history = self.history.after(line)


def read_history(path: Path) -> ReplicaHistory:
    """Read a journal without locking it. The file need not exist. Raise FormatError if it is not a journal."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return ReplicaHistory()
    return _parse_history(path, content)


def _boot() -> str:
    """Return the boot ID, which is needed because process IDs are reused after a reboot."""
    return BOOT.read_text(encoding="ascii").strip()


def _parse_history(path: Path, content: bytes) -> ReplicaHistory:
    history = ReplicaHistory()
    for at, line in enumerate(split_lines(content), 1):
        try:
            history = history.after(object_of(line, _MOST_LINE))
        except FormatError as error:
            raise FormatError(f"{path}, line {at}: invalid line of a journal: {error}") from None
    return history
