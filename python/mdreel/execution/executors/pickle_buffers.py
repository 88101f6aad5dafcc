"""Pickling with out-of-band buffers."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def in_pieces(value: object) -> list[NDArray[np.uint8]]:
    """Pickle an object, and return the pickle and the buffers of its arrays."""
    buffers: list[pickle.PickleBuffer] = []
    content = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL, buffer_callback=buffers.append)
    return [np.frombuffer(content, np.uint8), *(np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers)]


def from_pieces(pieces: Sequence[NDArray[np.uint8]]) -> Any:
    """Return the object that was passed to `in_pieces`. Its arrays use the given buffers."""
    content, *arrays = pieces
    return pickle.loads(content.data, buffers=arrays)  # noqa: S301 (from our own processes)
