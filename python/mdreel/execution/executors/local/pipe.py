"""Pipes between processes of one machine."""

from __future__ import annotations

import select
import socket
import struct
from typing import Any, Self

import numpy as np

from mdreel.execution.executors.pickle_buffers import from_pieces, in_pieces

_N_PIECES = struct.Struct("<Q")


class Pipe:
    """An end of a pipe.

    Parameters
    ----------
    end : socket
        The stream: what one end says, the other hears, in that order.
    """

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    @classmethod
    def pair(cls) -> tuple[Self, Self]:
        """Make a pipe; return its ends."""
        ours, theirs = socket.socketpair()
        return cls(ours), cls(theirs)

    @classmethod
    def of(cls, descriptor: int) -> Self:
        """Return the end that this process was started with."""
        return cls(socket.socket(fileno=descriptor))

    def fileno(self) -> int:
        """Return its file descriptor."""
        return self._end.fileno()

    def say(self, what: object) -> None:
        """Send something; wait until the other end has heard most of it.

        Raises
        ------
        OSError
            If nobody listens any more.
        """
        pieces = in_pieces(what)
        sizes = np.array([piece.nbytes for piece in pieces], "<u8")
        self._end.sendall(_N_PIECES.pack(len(pieces)) + sizes.tobytes() + pieces[0].tobytes())
        for piece in pieces[1:]:
            self._end.sendall(piece.data)

    def hear(self) -> Any:
        """Wait for what the other end says next.

        Raises
        ------
        EOFError
            If nobody speaks any more.
        Exception
            What arose when it was understood.
        """
        (n_pieces,) = _N_PIECES.unpack(self._heard(_N_PIECES.size))
        sizes = np.frombuffer(self._heard(8 * n_pieces), "<u8")
        return from_pieces([np.frombuffer(self._heard(size), np.uint8) for size in sizes.tolist()])

    def is_spoken_to(self) -> bool:
        """Whether there is something to be heard, if only that nobody speaks any more."""
        return bool(select.select([self._end], [], [], 0)[0])

    def close(self) -> None:
        """Hang up."""
        self._end.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _heard(self, size: int) -> memoryview:
        content = np.empty(size, np.uint8).data
        at = 0
        while at < size:
            try:
                n_bytes = self._end.recv_into(content[at:], size - at)
            except OSError as error:
                raise EOFError(f"the pipe broke: {error}") from error
            if n_bytes == 0:
                raise EOFError("nobody speaks any more")
            at += n_bytes
        return content
