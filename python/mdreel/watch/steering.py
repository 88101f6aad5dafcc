"""The log of steering beside a channel: what rules have seen and done."""

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from mdreel.printable import printable

NAME = "steering.jsonl"
"""The file in a channel's directory."""

_END_OF_TIME = 1e11
"""No calendar of a terminal goes further, s since 1970."""

_TAIL_BYTES = 64 * 1024
"""So much of its end is looked at."""


@dataclass(frozen=True)
class Event:
    """A line of the log.

    Attributes
    ----------
    time : float
        When, seconds since 1970.
    event : str
        What: ``started``, ``fired``, ``acted``, ``failed``, ``dry-run``, ``cooling-down``, ``ended``.
    rule, action : str or None
        Which rule, and what it does.
    sequence, step : int or None
        The frame: its number in the stream, and its step.
    frame_time : float or None
        Its time, ps.
    values : mapping of str to float
        What the rule has seen, by column.
    message : str
        The same in words.
    """

    time: float
    event: str
    rule: str | None
    action: str | None
    sequence: int | None
    step: int | None
    frame_time: float | None
    values: Mapping[str, float]
    message: str

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        """Return what a line says.

        Raises
        ------
        KeyError, TypeError, ValueError, OverflowError
            If it is none.
        """
        values = said.get("values") or {}
        time = float(said["time"])
        if not 0 <= time < _END_OF_TIME:
            raise ValueError("no time")
        return cls(
            time=time,
            event=printable(str(said["event"])),
            rule=_text(said.get("rule")),
            action=_text(said.get("action")),
            sequence=_whole(said.get("sequence")),
            step=_whole(said.get("step")),
            frame_time=_number(said.get("frame_time")),
            values={printable(str(name)): float(value) for name, value in values.items() if value is not None},
            message=printable(str(said.get("message") or "")),
        )


class SteeringLog:
    """The last lines of a log, which is read anew only if it has changed.

    Parameters
    ----------
    channel : Path
        The channel's directory.
    most : int
        How many lines are wanted.

    Attributes
    ----------
    events : tuple of Event
        The last of them, as of the last look.
    n_damaged : int
        Lines among them that nobody can read; of half a line at the end nothing is said, as it is being written.
    """

    def __init__(self, channel: Path, most: int = 100) -> None:
        self._path = channel / NAME
        self._most = most
        self._seen: tuple[int, int, int] | None = None
        self.events: tuple[Event, ...] = ()
        self.n_damaged = 0

    def look(self) -> None:
        """Look at the file, if it is there."""
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            self._seen, self.events, self.n_damaged = None, (), 0
            return
        with os.fdopen(file, "rb") as opened:
            facts = os.fstat(opened.fileno())
            seen = facts.st_ino, facts.st_size, facts.st_mtime_ns
            if seen == self._seen or not stat.S_ISREG(facts.st_mode):
                return
            begin = max(0, facts.st_size - _TAIL_BYTES)
            opened.seek(begin)
            tail = opened.read(_TAIL_BYTES)
        self._seen = seen
        # What is behind the last end of a line is being written, and what is before the first was cut by us.
        lines = tail[: tail.rfind(b"\n") + 1].splitlines()[1 if begin else 0 :]
        events: list[Event] = []
        self.n_damaged = 0
        for line in lines[-self._most :]:
            try:
                events.append(Event.of(json.loads(line)))
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
                self.n_damaged += 1
        self.events = tuple(events)


def _text(value: object) -> str | None:
    return None if value is None else printable(str(value))


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
