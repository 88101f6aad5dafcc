"""Reading notice files."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from mdreel.errors import FormatError
from mdreel.foundation.json_lines import complete_lines, split_lines
from mdreel.foundation.printable import printable
from mdreel.foundation.untrusted_input import number, object_of, opened, shown, text, whole
from mdreel.live.notices.notice import ENDING, FOLDER, Notice
from mdreel.live.notices.process import Process
from mdreel.live.notices.rows import Rows

_MOST_BYTES = 16 * 1024 * 1024
"""Maximum size of a notice."""

_MOST_ROWS = 20_000
_MOST_NAME = 1024
_MOST_REASON = 64 << 10
_MOST_KINDS = 64
_NUMBERS = (float, int, type(None))
_STATES = ("running", "finished", "stopped", "failed")


class NoticeReader:
    """Incremental reader of a notice."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._head = b""
        self._offset = 0
        self._notice: Notice | None = None

    def read(self) -> Notice | None:
        """Return the current notice, or None if it is missing or incomplete. Raise FormatError if it is damaged."""
        try:
            with opened(self._path, _MOST_BYTES) as file:
                head = file.readline(_MOST_BYTES)
                if not head.endswith(b"\n"):
                    return None
                size = os.fstat(file.fileno()).st_size
                if head != self._head or size < self._offset:
                    self._notice = self._parse_head(head)
                    self._head, self._offset = head, len(head)
                file.seek(self._offset)
                # No more than there is: a buffer of the maximum size would be allocated otherwise.
                new = file.read(min(_MOST_BYTES, max(0, size - self._offset)))
        except FileNotFoundError:
            return None
        lines = complete_lines(new)
        assert self._notice is not None
        try:
            self._notice = _add_lines(self._notice, [object_of(line, _MOST_BYTES) for line in split_lines(lines)])
        except FormatError as error:
            self._head = b""
            raise FormatError(
                f"{self._path}: invalid line of a notice at or after byte {self._offset}: {error}"
            ) from None
        self._offset += len(lines)
        if self._notice.state == "running" and not self._notice.process.is_alive:
            return replace(self._notice, state="dead")
        return self._notice

    def _parse_head(self, head: bytes) -> Notice:
        try:
            said = object_of(head, _MOST_BYTES)
            columns = tuple(_column(column) for column in _list(said, "columns"))
            is_of_frames = said.get("is_of_frames")
            if not isinstance(is_of_frames, bool):
                raise FormatError(f"expected true or false for is_of_frames, got {shown(is_of_frames)}")
            return Notice(
                name=printable(text(said, "name", _MOST_NAME)),
                process=Process(whole(said, "process", end=1 << 32), whole(said, "process_start")),
                columns=columns,
                n_columns=whole(said, "n_columns", least=len(columns)),
                is_of_frames=is_of_frames,
                rows=Rows(len(columns)),
            )
        except FormatError as error:
            raise FormatError(f"invalid head of a notice: {error}", path=self._path) from None


def list_notices(channel: Path) -> list[Path]:
    """Return the notice files of a channel, given its directory, sorted by name."""
    return sorted((channel / FOLDER).glob(f"*{ENDING}"))


def _add_lines(notice: Notice, lines: list[dict[str, Any]]) -> Notice:
    """Return a notice to which further lines have been added."""
    if not lines:
        return notice
    width = len(notice.columns)
    new = [row for line in lines for row in _checked_rows(_list(line, "rows"), width)]
    n_rows = len(notice.rows) + len(new)
    if n_rows > _MOST_ROWS:
        raise FormatError(f"expected at most {_MOST_ROWS:,} rows, got {n_rows:,}")
    said = lines[-1]
    last = said.get("last")
    if width < notice.first_value and (n_rows or last is not None):
        raise FormatError(f"expected {notice.first_value} columns or more, got {width}")
    state = text(said, "state")
    if state not in _STATES:
        raise FormatError(f"unknown state {state!r}")
    seconds = said.get("seconds", {})
    if not isinstance(seconds, dict) or len(seconds) > _MOST_KINDS:
        raise FormatError(f"expected seconds of at most {_MOST_KINDS} kinds, got {shown(seconds)}")
    return replace(
        notice,
        state=state,
        reason=None if said.get("reason") is None else printable(text(said, "reason", _MOST_REASON, least=0)),
        n_frames=whole(said, "n_frames"),
        seconds={printable(kind): number(seconds, kind) for kind in seconds},
        rows=notice.rows.extended(new),
        last=None if last is None else Rows(width, _checked_rows([last], width))[0],
    )


def _list(said: dict[str, Any], name: str) -> list[Any]:
    found = said.get(name, [])
    if not isinstance(found, list):
        raise FormatError(f"expected a list for {name}, got {shown(found)}")
    return found


def _column(said: object) -> tuple[str, str]:
    match said:
        case [str(name), str(unit)] if len(name) <= _MOST_NAME and len(unit) <= _MOST_NAME:
            return printable(name), printable(unit)
    raise FormatError(f"expected name and unit of a column, got {shown(said)}")


def _checked_rows(said: list[Any], width: int) -> list[list[float | None]]:
    """Return rows whose values were checked to be numbers or None."""
    for row in said:
        if not isinstance(row, list) or len(row) != width or not all(type(value) in _NUMBERS for value in row):
            raise FormatError(f"expected rows of {width} numbers, got {shown(row)}")
    return said
