"""Writing notice files."""

import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdreel.errors import FormatError
from mdreel.foundation.json_lines import encode_line
from mdreel.foundation.untrusted_input import MOST_BYTES, object_of, opened, whole
from mdreel.live.notices.notice import ENDING, FOLDER
from mdreel.live.notices.process import Process
from mdreel.live.notices.reader import NoticeReader

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ROOM_BYTES = 128 * 1024
"""Number of bytes by which a file can grow before it is rewritten without outdated lines."""

_MOST_LEFT = 32
"""Maximum number of notices of ended analyses that are kept."""

_NEW = ".new"


class NoticeFile:
    """File that contains a notice. Readers see only complete lines, even if the writer is killed.

    Notes
    -----
    The first line is the head, which contains the name, the process and the columns. Each of the following lines adds
    new rows, and replaces the last row, the number of frames, the times and the state. When the file is rewritten, the
    generation in its head changes.
    """

    def __init__(self, channel: Path, name: str) -> None:
        self._folder = channel / FOLDER
        self._name = name
        self._process = Process.current()
        self._path: Path | None = None
        self._generation = 0
        self._n_bytes = 0
        self._most_bytes = 0

    def begin(self, head: dict[str, Any], line: dict[str, Any]) -> None:
        """Write a new file. If this raises OSError, the previous file remains."""
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
        """Append a line. Return False if the file has to be rewritten instead."""
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
        # After a partial write, the next line must start a new file.
        self._n_bytes = self._most_bytes if n_written < len(whole) else self._n_bytes + n_written
        return n_written == len(whole)

    def _free_path(self) -> Path:
        """Create a file with an unused name, and remove old notices of ended analyses."""
        name = re.sub(r"[^a-z0-9]+", "-", self._name.lower()).strip("-")[:40] or "analysis"
        left: list[tuple[float, Path]] = []
        for path in self._folder.glob(f"*{ENDING}"):
            if not _is_left(path, self._process):
                continue
            with suppress(OSError):
                if re.fullmatch(rf"{name}-\d+(-\d+)?\{ENDING}", path.name):
                    path.unlink()  # the same analysis of an earlier run
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
        raise FileExistsError(f"{self._folder}: a process can have at most 999 notices of one name")


def notice_process(path: Path) -> Process | None:
    """Return the process that writes a notice, or None if it is unknown."""
    try:
        with opened(path) as file:
            said = object_of(file.readline(MOST_BYTES))
        return Process(whole(said, "process", end=1 << 32), whole(said, "process_start"))
    except OSError:  # a FormatError is one
        return None


def _is_left(path: Path, own: Process) -> bool:
    """Return whether a notice has ended, based on its state for this process, and on its process otherwise."""
    process = notice_process(path)
    if process != own:
        return process is None or not process.is_alive
    try:
        notice = NoticeReader(path).read()
    except (OSError, FormatError):
        return True
    return notice is not None and notice.state != "running"


def row_to_json(row: "NDArray[np.float64]") -> list[float | None]:
    """Convert a row for JSON, replacing NaN and infinity by None."""
    return [value if math.isfinite(value) else None for value in row.tolist()]


def rows_to_json(rows: "Sequence[NDArray[np.float64]] | NDArray[np.float64]") -> list[list[float | None]]:
    """Convert rows for JSON."""
    return [row_to_json(row) for row in rows]
