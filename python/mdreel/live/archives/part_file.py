"""Partial archive files."""

import errno
import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Self, TypeVar

from mdreel.errors import FormatError, StreamTimeoutError
from mdreel.foundation.atomic_files import give_name
from mdreel.live.archives.options import part_of

_LOOK_SECONDS = 0.02

T = TypeVar("T")


class PartFile:
    """A file under a hidden name, which one process has alone, by a lock that the kernel drops with it.

    Parameters
    ----------
    path : Path
        The name that it is to get.
    wait : float
        For how long another process may have it, s.

    Attributes
    ----------
    path : Path
        The name that it is to get, without symbolic links.
    hidden : Path
        The name that it has.
    n_bytes : int
        Its length.

    Raises
    ------
    StreamTimeoutError
        If another process has it for longer.
    OSError
        If it cannot be made.
    """

    def __init__(self, path: Path, wait: float) -> None:
        self.path = path.resolve()
        self.hidden = part_of(path)
        self._file = _locked(self.hidden, wait)
        self.n_bytes = os.fstat(self._file).st_size

    def resume(self, n_bytes: int) -> None:
        """Go on behind so many bytes.

        Raises
        ------
        FormatError
            If there are fewer.
        """
        if self.n_bytes < n_bytes:
            message = f"expected {n_bytes:,} bytes that were committed, got {self.n_bytes:,}: the file was changed"
            raise FormatError(f"{self.hidden}: {message}; an archive in another group begins anew")
        self._do(os.ftruncate, self._file, n_bytes)
        self.n_bytes = n_bytes

    def append(self, content: bytes) -> None:
        """Append bytes."""
        rest = memoryview(content)
        while rest:
            n_written = self._do(os.pwrite, self._file, rest, self.n_bytes)
            self.n_bytes += n_written
            rest = rest[n_written:]

    def patch(self, at: int, content: bytes) -> None:
        """Replace bytes."""
        self._do(os.pwrite, self._file, content, at)

    def read(self, at: int, n_bytes: int) -> bytes:
        """Read bytes.

        Raises
        ------
        FormatError
            If there are fewer.
        """
        parts = []
        while n_bytes:
            part = self._do(os.pread, self._file, n_bytes, at)
            if not part:
                raise FormatError(f"{self.hidden}: expected {n_bytes:,} bytes more at byte {at:,}")
            parts.append(part)
            at, n_bytes = at + len(part), n_bytes - len(part)
        return b"".join(parts)

    def sync(self) -> None:
        """Have the disk take all of it."""
        self._do(os.fdatasync, self._file)

    def name(self, whole: Path, force: bool) -> None:
        """Give the whole file its name: this one, or what was made of it. Nothing of it is left under a hidden name.

        Parameters
        ----------
        whole : Path
            Where the whole file is.
        force : bool
            Whether an existing file may be replaced.
        """
        if self.path.exists():
            if not force:  # it came into being meanwhile
                raise FileExistsError(errno.EEXIST, "the output exists already", str(self.path))
            shutil.copymode(self.path, whole)
        give_name(whole, self.path)
        self.remove()

    def remove(self) -> None:
        """Remove what is under the hidden name, unless that is somebody else's by now."""
        if _is_at(self._file, self.hidden):
            self.hidden.unlink()

    def close(self) -> None:
        """Let others have it. One without a byte is removed."""
        if self._file < 0:
            return
        if not os.fstat(self._file).st_size:
            self.remove()
        file, self._file = self._file, -1
        os.close(file)

    def _do(self, act: Callable[..., T], *arguments: Any) -> T:
        """Act on the file; an error names it as it will be called."""
        try:
            return act(*arguments)
        except OSError as error:
            raise OSError(error.errno, error.strerror or os.strerror(error.errno or 0), str(self.path)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _locked(hidden: Path, wait: float) -> int:
    """Open the file, alone."""
    until = monotonic() + wait
    while True:
        file = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Who had it before may have given it its name.
            if _is_at(file, hidden):
                return file
        except BlockingIOError:
            if monotonic() >= until:
                os.close(file)
                raise StreamTimeoutError(f"{hidden}: another process writes this archive") from None
        except BaseException:
            os.close(file)
            raise
        os.close(file)
        sleep(_LOOK_SECONDS)


def _is_at(file: int, path: Path) -> bool:
    """Whether an open file has this name."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False
