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
"""Bytes of one call: before MPI-4, libraries count with 31 bits."""


class Kind(IntEnum):
    """What a message is about."""

    ROUND = 0
    """Blocks are to be done, together."""
    END = 1
    """What was shared has ended."""
    LEAVE = 2
    """The program ends."""


class Message:
    """A message as it was heard; understood when it is read.

    Parameters
    ----------
    pieces : list of ndarray, shape (n_bytes,), uint8
        A pickle, and the arrays in it.
    """

    def __init__(self, pieces: list[NDArray[np.uint8]]) -> None:
        self._pieces = pieces

    def read(self) -> Any:
        """Return what was told; its arrays are those that were received."""
        return from_pieces(self._pieces)


def tell(communicator: Any, kind: Kind, what: object) -> None:
    """Tell all other ranks something, on rank 0. Arrays are sent from where they are."""
    pieces = in_pieces(what)
    communicator.Ibcast(np.array([kind, len(pieces)], np.int64)).Wait()
    communicator.Bcast(np.array([len(piece) for piece in pieces], np.int64))
    _broadcast(communicator, pieces)


def hear(communicator: Any) -> tuple[Kind, Message]:
    """Hear what rank 0 tells; wait for it without keeping a core busy."""
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
