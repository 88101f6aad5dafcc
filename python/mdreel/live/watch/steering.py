"""Steering logs, which are displayed by `mdreel watch`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from mdreel.errors import FormatError
from mdreel.foundation.json_lines import split_lines
from mdreel.foundation.printable import printable
from mdreel.foundation.untrusted_input import number, object_of, opened, shown, text, whole

NAME = "steering.jsonl"
"""Name of the log in a channel's directory."""

_END_OF_TIME = 1e11
"""Latest time that can be displayed, in seconds since 1970."""

_TAIL_BYTES = 64 * 1024
"""Number of bytes that are read from the end of the file."""


@dataclass(frozen=True)
class Event:
    """A line in the log.

    Attributes
    ----------
    time : float
        Time, in seconds since 1970.
    event : str
        One of ``started``, ``fired``, ``acted``, ``failed``, ``dry-run``, ``cooling-down`` and ``ended``.
    rule, action : str or None
        Names of the rule and of the action.
    sequence, step : int or None
        Number and step of the frame.
    frame_time : float or None
        Time of the frame, in ps.
    values : mapping of str to float
        Checked value of each column.
    message : str
        Human-readable description.
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
    def from_json(cls, said: dict[str, Any]) -> Self:
        """Parse a line. Raise FormatError if the line is invalid."""
        values = said.get("values") or {}
        time = number(said, "time")
        if not 0 <= time < _END_OF_TIME:
            raise FormatError(f"expected seconds since 1970, got {time}")
        if not isinstance(values, dict):
            raise FormatError(f"expected values by column, got {shown(values)}")
        return cls(
            time=time,
            event=printable(text(said, "event")),
            rule=_text(said, "rule"),
            action=_text(said, "action"),
            sequence=_whole(said, "sequence"),
            step=_whole(said, "step"),
            frame_time=None if said.get("frame_time") is None else number(said, "frame_time"),
            values={printable(name): number(values, name) for name in values if values[name] is not None},
            message=_text(said, "message") or "",
        )


class SteeringLog:
    """Last lines of a log. The log is read again only if it has changed.

    Parameters
    ----------
    channel : Path
        Directory of the channel.
    most : int
        Maximum number of events.

    Attributes
    ----------
    events : tuple of Event
        Last events.
    n_damaged : int
        Number of unreadable lines among these events. An incomplete last line is not counted.
    """

    def __init__(self, channel: Path, most: int = 100) -> None:
        self._path = channel / NAME
        self._most = most
        self._file_version: tuple[int, int, int] | None = None
        self.events: tuple[Event, ...] = ()
        self.n_damaged = 0

    def refresh(self) -> None:
        """Read the file if it exists and has changed."""
        try:
            with opened(self._path) as file:
                facts = os.fstat(file.fileno())
                seen = facts.st_ino, facts.st_size, facts.st_mtime_ns
                if seen == self._file_version:
                    return
                begin = max(0, facts.st_size - _TAIL_BYTES)
                file.seek(begin)
                tail = file.read(_TAIL_BYTES)
        except OSError:
            self._file_version, self.events, self.n_damaged = None, (), 0
            return
        self._file_version = seen
        # The tail may start within a line.
        lines = split_lines(tail)[1 if begin else 0 :]
        events: list[Event] = []
        self.n_damaged = 0
        for line in lines[-self._most :]:
            try:
                events.append(Event.from_json(object_of(line)))
            except FormatError:
                self.n_damaged += 1
        self.events = tuple(events)


def _text(said: dict[str, Any], name: str) -> str | None:
    return None if said.get(name) is None else printable(text(said, name, _TAIL_BYTES, least=0))


def _whole(said: dict[str, Any], name: str) -> int | None:
    return None if said.get(name) is None else whole(said, name, least=-(1 << 63))
