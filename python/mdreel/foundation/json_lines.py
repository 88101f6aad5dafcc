"""Logs with one JSON object on each line."""

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
    """Return an entry as a line of ASCII, so that any text survives; `compact` leaves out the spaces.

    Raises
    ------
    ValueError
        If a number is not finite.
    """
    separators = (",", ":") if compact else None
    return json.dumps(entry, allow_nan=False, separators=separators).encode() + b"\n"


def complete_lines(content: bytes) -> bytes:
    """Return the content up to its last line end, without a line that is still being written or was cut off."""
    return content[: content.rfind(b"\n") + 1]


def split_lines(content: bytes) -> list[bytes]:
    """Return the complete lines, without their ends."""
    return content.split(b"\n")[:-1]


class JsonLinesLog:
    """A log to which each entry is appended as one line; the disk has the line when `append` returns.

    Parameters
    ----------
    path : Path
        The file, also a pipe or a terminal. It is created if it does not exist.
    exclusive : bool
        Whether to lock the file while it is open, so that `recover` may be called.

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
        """Return the value of `read` for the complete lines of an exclusive log, and cut off an incomplete last line.

        The file stays as it is if `read` raises an error.
        """
        with open(self._file, "rb", closefd=False) as file:
            content = complete_lines(file.read())
        found = read(content)
        os.ftruncate(self._file, len(content))
        if not content:
            sync_directory(self.path.parent)  # the file may be new
        return found

    def append(self, entry: Mapping[str, Any]) -> None:
        """Append an entry, from any thread.

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
