"""Notices, on the side of who looks at them: only what is new is read."""

import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import FormatError
from mdreel.notices.notice import ENDING, FOLDER, Notice
from mdreel.notices.process import Process
from mdreel.printable import printable

_MOST_BYTES = 16 * 1024 * 1024
"""No notice is larger; what is, is none."""

_MOST_ROWS = 20_000
_STATES = ("running", "finished", "stopped", "failed")


class NoticeReader:
    """Reads a notice again and again.

    Parameters
    ----------
    path : Path
        Its file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._head = b""
        self._offset = 0
        self._notice: Notice | None = None

    def read(self) -> Notice | None:
        """Return the notice as it is now; None if it is not there, or not yet whole.

        Raises
        ------
        FormatError
            If it is damaged.
        OSError
            If it cannot be read.
        """
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        with os.fdopen(file, "rb") as opened:
            facts = os.fstat(opened.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MOST_BYTES:
                raise FormatError(f"{self._path}: no notice of an analysis: expected a file of at most 16 MiB")
            head = opened.readline()
            if not head.endswith(b"\n"):
                return None
            if head != self._head or facts.st_size < self._offset:
                self._notice = self._begun(head)
                self._head, self._offset = head, len(head)
            opened.seek(self._offset)
            new = opened.read()
        whole = new[: new.rfind(b"\n") + 1]
        assert self._notice is not None
        try:
            self._notice = _taken(self._notice, [json.loads(line) for line in whole.splitlines()])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._head = b""
            raise FormatError(f"{self._path}: no line of a notice at byte {self._offset} or behind: {error}") from None
        self._offset += len(whole)
        if self._notice.state == "running" and not self._notice.process.is_alive:
            return replace(self._notice, state="dead")
        return self._notice

    def _begun(self, head: bytes) -> Notice:
        try:
            said = json.loads(head)
            columns = tuple((printable(str(name)), printable(str(unit))) for name, unit in said["columns"])
            return Notice(
                name=printable(str(said["name"])),
                process=Process(int(said["process"]), int(said["process_start"])),
                columns=columns,
                n_columns=int(said["n_columns"]),
                is_of_frames=bool(said["is_of_frames"]),
                rows=np.empty((0, len(columns))),
            )
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise FormatError(f"{self._path}: no head of a notice: {error}") from None


def notices_of(channel: Path) -> list[Path]:
    """Return the notices beside a channel, by name.

    Parameters
    ----------
    channel : Path
        The channel's directory.
    """
    return sorted((channel / FOLDER).glob(f"*{ENDING}"))


def _taken(notice: Notice, lines: list[dict[str, Any]]) -> Notice:
    """Return a notice with what further lines say."""
    if not lines:
        return notice
    width = len(notice.columns)
    every = np.concatenate([notice.rows, *(_rows(line.get("rows", []), width) for line in lines)])
    if len(every) > _MOST_ROWS:
        raise ValueError(f"expected at most {_MOST_ROWS:,} rows, got {len(every):,}")
    said = lines[-1]
    last = said.get("last")
    state = said["state"]
    if state not in _STATES:
        raise ValueError(f"unknown state {state!r}")
    return replace(
        notice,
        state=state,
        reason=None if said.get("reason") is None else printable(str(said["reason"])),
        n_frames=int(said["n_frames"]),
        seconds={printable(str(kind)): float(value) for kind, value in said.get("seconds", {}).items()},
        rows=every,
        last=None if last is None else _rows([last], width)[0],
    )


def _rows(said: list[list[float | None]], width: int) -> NDArray[np.float64]:
    """Return rows of numbers; None becomes NaN."""
    rows = np.array(said, dtype=np.float64) if said else np.empty((0, width))
    if rows.shape != (len(said), width):
        raise ValueError(f"expected rows of {width} numbers, got {rows.shape[1:]}")
    return rows
