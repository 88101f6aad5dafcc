"""Log files with one JSON object per line."""

import fcntl
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self, TypeVar

from mdreel.foundation.atomic_files import sync_directory, sync_line

T = TypeVar("T")


def encode_line(entry: Mapping[str, Any], *, compact: bool = False) -> bytes:
    """Return an entry as an ASCII line, in which any text can be stored. With `compact`, omit spaces.

    Raises
    ------
    ValueError
        If a number is not finite.
    """
    separators = (",", ":") if compact else None
    return json.dumps(entry, allow_nan=False, separators=separators).encode() + b"\n"


def complete_lines(content: bytes) -> bytes:
    """Return the content up to the last newline, without a line that is truncated or still being written."""
    return content[: content.rfind(b"\n") + 1]


def split_lines(content: bytes) -> list[bytes]:
    """Return the complete lines, without their newlines."""
    return content.split(b"\n")[:-1]


class JsonLinesLog:
    """A log to which entries are appended as lines. When `append` returns, the line has been written to the disk.

    Parameters
    ----------
    path : Path
        The file, which can also be a pipe or a terminal. It is created if it does not exist.
    exclusive : bool
        Whether to lock the file while it is open. This is required to call `recover`.

    Raises
    ------
    BlockingIOError
        If `exclusive` is set and another process holds the lock.
    OSError
        If the file cannot be opened.
    """

    def __init__(self, path: Path, *, exclusive: bool = False) -> None:
        self.path = path
        self._lock = Lock()
        access = os.O_RDWR if exclusive else os.O_WRONLY
        self._file = os.open(path, access | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        if exclusive:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BaseException:
                self.close()
                raise

    def recover(self, read: Callable[[bytes], T]) -> T:
        """Call `read` with the complete lines of an exclusive log, and remove an incomplete last line.

        If `read` raises an error, the file is not modified. Otherwise, its value is returned.
        """
        with open(self._file, "rb", closefd=False) as file:
            content = complete_lines(file.read())
        found = read(content)
        os.ftruncate(self._file, len(content))
        if not content:
            sync_directory(self.path.parent)  # the file may be new
        return found

    def append(self, entry: Mapping[str, Any]) -> None:
        """Append an entry. This method can be called from any thread.

        Raises
        ------
        OSError
            If the line cannot be written, or the disk is full or fails.
        """
        data = encode_line(entry)
        with self._lock:
            while data:
                data = data[os.write(self._file, data) :]
            sync_line(self._file)

    def close(self) -> None:
        """Close the file and release its lock."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
