"""Files, written under another name and renamed; inotify tells who waits, and reads them into one array."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from peers.channels.work import Work

MOVED_TO = 0x80
EVENT = struct.Struct("iIII")


class Producer:
    """Writes and renames."""

    def __init__(self, work: Work) -> None:
        self.folder = Path(work.place)

    def publish(self, number: int, frame: np.ndarray) -> None:
        """Write one."""
        part = self.folder / "part"
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        written = 0
        while written < frame.nbytes:
            written += os.write(descriptor, frame[written:])
        os.close(descriptor)
        part.rename(self.folder / f"{number}.frame")

    def close(self) -> None:
        """Nothing is open."""


class Consumer:
    """Is told of names, reads the files and removes them."""

    def __init__(self, work: Work) -> None:
        self.folder = Path(work.place)
        self.frame = np.empty(work.n_bytes, np.uint8)
        self.names: list[str] = []
        self.had: Path | None = None
        library = ctypes.CDLL(None, use_errno=True)
        self.watch = library.inotify_init1(os.O_CLOEXEC)
        if self.watch < 0 or library.inotify_add_watch(self.watch, os.fsencode(self.folder), MOVED_TO) < 0:
            raise OSError(ctypes.get_errno(), "inotify")

    def take(self) -> list[Any]:
        """Read the next."""
        if self.had is not None:
            self.had.unlink()
        while not self.names:
            told = os.read(self.watch, 1 << 16)
            while told:
                length = EVENT.unpack_from(told)[3]
                self.names.append(os.fsdecode(told[EVENT.size : EVENT.size + length].rstrip(b"\0")))
                told = told[EVENT.size + length :]
        self.had = self.folder / self.names.pop(0)
        with self.had.open("rb", buffering=0) as file:
            read = 0
            while count := file.readinto(self.frame[read:]):
                read += count
        return [self.frame[:read]]

    def close(self) -> None:
        """Leave."""
        os.close(self.watch)
