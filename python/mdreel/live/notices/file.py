"""Notice files on the writing side."""

import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import FormatError
from mdreel.foundation.json_lines import encode_line
from mdreel.foundation.untrusted_input import MOST_BYTES, object_of, opened, whole
from mdreel.live.notices.notice import ENDING, FOLDER
from mdreel.live.notices.process import Process
from mdreel.live.notices.reader import NoticeReader

_ROOM_BYTES = 128 * 1024
"""By how much a file may grow before it is written anew, without what has been replaced meanwhile."""

_MOST_LEFT = 32
"""So many notices of analyses that are no more are kept beside a channel."""

_NEW = ".new"


class NoticeFile:
    """The file of a notice. Whoever reads it sees whole lines, whenever the writer is killed.

    Parameters
    ----------
    channel : Path
        The directory of the channel.
    name : str
        What the analysis is called.

    Notes
    -----
    The first line is the head: what the analysis is, its process, its columns. Each line behind it has what is new:
    rows, which go behind those of before, and the last row, frames done, seconds and state, which replace those of
    before. A file that is written anew has another generation in its head.
    """

    def __init__(self, channel: Path, name: str) -> None:
        self._folder = channel / FOLDER
        self._name = name
        self._process = Process.this()
        self._path: Path | None = None
        self._generation = 0
        self._n_bytes = 0
        self._most_bytes = 0

    def begin(self, head: dict[str, Any], line: dict[str, Any]) -> None:
        """Write the file anew.

        Raises
        ------
        OSError
            If that cannot be done. What was there is as it was.
        """
        if self._path is None:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._path = self._free_path()
        self._generation += 1
        who = {"process": self._process.number, "process_start": self._process.start}
        whole = encode_line({"generation": self._generation, "name": self._name, **who, **head}, compact=True)
        whole += encode_line(line, compact=True)
        part = self._path.with_name(f".{self._path.name}{_NEW}")
        with suppress(FileNotFoundError):
            part.unlink()
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
                file.write(whole)
            part.replace(self._path)
        except OSError:
            with suppress(OSError):
                part.unlink()
            raise
        self._n_bytes = len(whole)
        self._most_bytes = 2 * len(whole) + _ROOM_BYTES

    def add(self, line: dict[str, Any]) -> bool:
        """Write a line behind the others.

        Returns
        -------
        bool
            Whether it was: else there is no file, or no room in it, and it is to be written anew.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        if self._path is None:
            return False
        whole = encode_line(line, compact=True)
        if self._n_bytes + len(whole) > self._most_bytes:
            return False
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            n_written = os.write(file, whole)
        finally:
            os.close(file)
        # Of half a line there is no other half: the next one begins the file anew.
        self._n_bytes = self._most_bytes if n_written < len(whole) else self._n_bytes + n_written
        return n_written == len(whole)

    def _free_path(self) -> Path:
        """Return a name that no other analysis has, and remove notices that nobody misses."""
        name = re.sub(r"[^a-z0-9]+", "-", self._name.lower()).strip("-")[:40] or "analysis"
        left: list[tuple[float, Path]] = []
        for path in self._folder.glob(f"*{ENDING}"):
            if not _is_left(path, self._process):
                continue
            with suppress(OSError):
                if re.fullmatch(rf"{name}-\d+(-\d+)?\{ENDING}", path.name):
                    path.unlink()  # the same analysis, of a time before
                else:
                    left.append((path.stat().st_mtime, path))
        for _, path in sorted(left)[: max(0, len(left) - _MOST_LEFT)]:
            with suppress(OSError):
                path.unlink()
        for number in range(1, 1000):
            several = "" if number == 1 else f"-{number}"
            path = self._folder / f"{name}-{self._process.number}{several}{ENDING}"
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
                return path
        raise FileExistsError(f"{self._folder}: a thousand notices of one process")


def process_of(path: Path) -> Process | None:
    """Return whose notice a file is; None where it does not say."""
    try:
        with opened(path) as file:
            said = object_of(file.readline(MOST_BYTES))
        return Process(whole(said, "process", end=1 << 32), whole(said, "process_start"))
    except OSError:  # a FormatError is one
        return None


def _is_left(path: Path, own: Process) -> bool:
    """Whether nobody writes a notice any more; of this process, what has ended, of others, whose process has."""
    process = process_of(path)
    if process != own:
        return process is None or not process.is_alive
    try:
        notice = NoticeReader(path).read()
    except (OSError, FormatError):
        return True
    return notice is not None and notice.state != "running"


def numbers(row: NDArray[np.float64]) -> list[float | None]:
    """Return a row as JSON has it, which knows no NaN."""
    return [value if math.isfinite(value) else None for value in row.tolist()]


def rows_of(rows: Sequence[NDArray[np.float64]] | NDArray[np.float64]) -> list[list[float | None]]:
    """Return rows as JSON has them."""
    return [numbers(row) for row in rows]
