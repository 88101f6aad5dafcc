"""Broadcasts from rank 0 to the other ranks."""

from __future__ import annotations

import time
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.execution.executors.pickle_buffers import from_pieces, in_pieces

_PAUSE_SECONDS = 0.002
_AT_ONCE = 1 << 30
"""Maximum number of bytes per call, because counts have only 31 bits before MPI-4."""


class Kind(IntEnum):
    """Kind of message."""

    ROUND = 0
    """All ranks compute a round of blocks."""
    END = 1
    """A shared computation has ended."""
    LEAVE = 2
    """The program ends."""
    CALL = 3
    """All ranks call a function."""


class Message:
    """Received message, which can be unpickled with `read`.

    Parameters
    ----------
    pieces : list of ndarray, shape (n_bytes,), uint8
        A pickle, and the buffers of its arrays.
    """

    def __init__(self, pieces: list[NDArray[np.uint8]]) -> None:
        self._pieces = pieces

    def read(self) -> Any:
        """Return the object that was sent. Its arrays use the received buffers."""
        return from_pieces(self._pieces)


def send(communicator: Any, kind: Kind, value: object) -> None:
    """Send an object from rank 0 to all other ranks without copying its arrays."""
    pieces = in_pieces(value)
    communicator.Ibcast(np.array([kind, len(pieces)], np.int64)).Wait()
    communicator.Bcast(np.array([len(piece) for piece in pieces], np.int64))
    _broadcast(communicator, pieces)


def receive(communicator: Any) -> tuple[Kind, Message]:
    """Wait for a message from rank 0 without keeping a core busy, and return the message."""
    head = np.zeros(2, np.int64)
    request = communicator.Ibcast(head)
    while not request.Test():
        time.sleep(_PAUSE_SECONDS)
    sizes = np.zeros(int(head[1]), np.int64)
    communicator.Bcast(sizes)
    pieces = [np.empty(size, np.uint8) for size in sizes.tolist()]
    _broadcast(communicator, pieces)
    return Kind(int(head[0])), Message(pieces)


def _broadcast(communicator: Any, pieces: list[NDArray[np.uint8]]) -> None:
    from mpi4py import MPI

    for piece in pieces:
        for at in range(0, len(piece), _AT_ONCE):
            communicator.Bcast([piece[at : at + _AT_ONCE], MPI.BYTE])
