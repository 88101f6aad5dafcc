"""Notification about new files by inotify of the kernel."""

import ctypes
import os
import select
import struct
from pathlib import Path
from typing import Self

_MOVED_TO = 0x80
_EVENT = struct.Struct("iIII")


class Arrivals:
    """Watcher that reports files that are renamed into a folder on a file system of this host."""

    def __init__(self, folder: Path) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        self._watch: int = library.inotify_init1(os.O_CLOEXEC)
        if self._watch < 0 or library.inotify_add_watch(self._watch, os.fsencode(folder), _MOVED_TO) < 0:
            raise OSError(ctypes.get_errno(), f"inotify: {os.strerror(ctypes.get_errno())}")
        self._seen: set[str] = set()

    def wait(self, name: str, patience: float) -> None:
        """Wait until a file is renamed to this name in the folder; raise a `TimeoutError` if none is."""
        while name not in self._seen:
            if not select.select([self._watch], [], [], patience)[0]:
                raise TimeoutError(f"{name} did not come within {patience:g} s")
            told = os.read(self._watch, 1 << 16)
            while told:
                n_bytes = _EVENT.unpack_from(told)[3]
                self._seen.add(os.fsdecode(told[_EVENT.size : _EVENT.size + n_bytes].rstrip(b"\0")))
                told = told[_EVENT.size + n_bytes :]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._watch)
