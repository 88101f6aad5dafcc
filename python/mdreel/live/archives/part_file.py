"""Incomplete file of an archive, which is truncated to its committed length on restart."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Self, TypeVar

from mdreel.errors import FormatError, StreamTimeoutError
from mdreel.foundation.atomic_files import give_name, output_exists
from mdreel.live.archives.options import part_path

_POLL_SECONDS = 0.02
_ADVICE = (
    "if it is that of the simulation (Producer(archive=)), you need no other; to write a second file, give it another "
    "path and another group (group=, --group)"
)

T = TypeVar("T")


class PartFile:
    """File with a hidden name, which a single process owns through a kernel lock.

    Parameters
    ----------
    path : Path
        Final path of the file.
    wait : float
        Maximum time to wait for the lock, in s.

    Attributes
    ----------
    path : Path
        Final path, without symbolic links.
    hidden : Path
        Current path.
    n_bytes : int
        Length of the file.

    Raises
    ------
    StreamTimeoutError
        If another process does not release the lock in time.
    OSError
        If the file cannot be created.
    """

    def __init__(self, path: Path, wait: float) -> None:
        self.path = path.resolve()
        self.hidden = part_path(path)
        self._file = _open_locked(self.hidden, wait)
        self.n_bytes = os.fstat(self._file).st_size

    def resume(self, n_bytes: int) -> None:
        """Truncate the file to its committed length. Raise FormatError if the file is shorter."""
        if self.n_bytes < n_bytes:
            message = f"expected {n_bytes:,} committed bytes, got {self.n_bytes:,}: the file was changed"
            raise FormatError(f"{message}; use another group to start a new archive", path=self.hidden)
        self._call(os.ftruncate, self._file, n_bytes)
        self.n_bytes = n_bytes

    def append(self, content: bytes) -> None:
        """Append bytes."""
        rest = memoryview(content)
        while rest:
            n_written = self._call(os.pwrite, self._file, rest, self.n_bytes)
            self.n_bytes += n_written
            rest = rest[n_written:]

    def patch(self, at: int, content: bytes) -> None:
        """Replace bytes."""
        self._call(os.pwrite, self._file, content, at)

    def read(self, at: int, n_bytes: int) -> bytes:
        """Read bytes. Raise FormatError if the file is too short."""
        parts = []
        while n_bytes:
            part = self._call(os.pread, self._file, n_bytes, at)
            if not part:
                raise FormatError(f"expected {n_bytes:,} bytes more at byte {at:,}", path=self.hidden)
            parts.append(part)
            at, n_bytes = at + len(part), n_bytes - len(part)
        return b"".join(parts)

    def sync(self) -> None:
        """Sync the file to disk."""
        self._call(os.fdatasync, self._file)

    def name(self, whole: Path, force: bool) -> None:
        """Give the complete file its final name, and remove hidden files. Replace a file only if `force` is true."""
        if self.path.exists():
            if not force:  # another process created it meanwhile
                raise output_exists(self.path)
            shutil.copymode(self.path, whole)
        give_name(whole, self.path)
        self.remove()

    def remove(self) -> None:
        """Remove the hidden file, unless another process has replaced it."""
        if _is_at(self._file, self.hidden):
            self.hidden.unlink()

    def close(self) -> None:
        """Release the lock, and remove an empty file."""
        if self._file < 0:
            return
        if not os.fstat(self._file).st_size:
            self.remove()
        file, self._file = self._file, -1
        os.close(file)

    def _call(self, act: Callable[..., T], *arguments: Any) -> T:
        """Call a function on the file, and report errors with the final name of the file."""
        try:
            return act(*arguments)
        except OSError as error:
            raise OSError(error.errno, error.strerror or os.strerror(error.errno or 0), str(self.path)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _open_locked(hidden: Path, wait: float) -> int:
    """Open the file and lock it."""
    until = monotonic() + wait
    while True:
        file = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous owner may have renamed the file meanwhile.
            if _is_at(file, hidden):
                return file
        except BlockingIOError:
            if monotonic() >= until:
                os.close(file)
                raise StreamTimeoutError(f"another process writes this archive; {_ADVICE}", path=hidden) from None
        except BaseException:
            os.close(file)
            raise
        os.close(file)
        sleep(_POLL_SECONDS)


def _is_at(file: int, path: Path) -> bool:
    """Return whether a path refers to an open file."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False
