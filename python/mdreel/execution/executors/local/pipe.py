"""Pipes between processes on the same machine."""

from __future__ import annotations

import select
import socket
import struct
from typing import Any, Self

import numpy as np

from mdreel.execution.executors.pickle_buffers import from_pieces, in_pieces

_N_PIECES = struct.Struct("<Q")


class Pipe:
    """One end of a pipe that transfers pickled objects.

    Parameters
    ----------
    end : socket
        Connected stream socket.
    """

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    @classmethod
    def pair(cls) -> tuple[Self, Self]:
        """Create a pipe and return its two ends."""
        ours, theirs = socket.socketpair()
        return cls(ours), cls(theirs)

    @classmethod
    def of(cls, descriptor: int) -> Self:
        """Return the end whose file descriptor was inherited by this process."""
        return cls(socket.socket(fileno=descriptor))

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._end.fileno()

    def send(self, value: object) -> None:
        """Send an object, and wait until the other end has received most of it.

        Raises
        ------
        OSError
            If the other end is closed.
        """
        pieces = in_pieces(value)
        sizes = np.array([piece.nbytes for piece in pieces], "<u8")
        self._end.sendall(_N_PIECES.pack(len(pieces)) + sizes.tobytes() + pieces[0].tobytes())
        for piece in pieces[1:]:
            self._end.sendall(piece.data)

    def receive(self) -> Any:
        """Wait for the next object and return it.

        Raises
        ------
        EOFError
            If the other end is closed.
        Exception
            If the object cannot be unpickled.
        """
        (n_pieces,) = _N_PIECES.unpack(self._read(_N_PIECES.size))
        sizes = np.frombuffer(self._read(8 * n_pieces), "<u8")
        return from_pieces([np.frombuffer(self._read(size), np.uint8) for size in sizes.tolist()])

    def has_message(self) -> bool:
        """Return whether `receive` would return or raise an error immediately."""
        return bool(select.select([self._end], [], [], 0)[0])

    def close(self) -> None:
        """Close this end."""
        self._end.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, size: int) -> memoryview:
        content = np.empty(size, np.uint8).data
        at = 0
        while at < size:
            try:
                n_bytes = self._end.recv_into(content[at:], size - at)
            except OSError as error:
                raise EOFError(f"the pipe broke: {error}") from error
            if n_bytes == 0:
                raise EOFError("the other end of the pipe is closed")
            at += n_bytes
        return content
