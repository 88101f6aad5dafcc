"""Bounded queue for the messages that a relay receives, and checks of the order of frame chunks."""

import threading
from collections import deque
from collections.abc import Sized
from typing import Protocol, SupportsBytes

from mdreel.errors import FormatError
from mdreel.live.nodes.messages import LEAST_CHUNK_BYTES, Chunk


class ReceivedBuffer(Sized, SupportsBytes, Protocol):
    """Message in a network buffer. It can be copied with `bytes`."""


class Inbox:
    """Queue of received messages with a limited size, for one reader.

    Parameters
    ----------
    most_bytes : int
        Maximum total size of the queued messages. Messages that exceed this size are discarded.

    Attributes
    ----------
    most_bytes : int
        See above. This attribute can be modified.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._messages: deque[ReceivedBuffer] = deque()
        self._n_bytes = 0
        self._changed = threading.Condition()

    def put(self, message: ReceivedBuffer) -> None:
        """Add a message if there is enough space."""
        with self._changed:
            if self._n_bytes + len(message) <= self.most_bytes:
                self._messages.append(message)
                self._n_bytes += len(message)
                self._changed.notify()

    def get(self, timeout: float) -> bytes | None:
        """Return the next message, or None after the timeout (in s)."""
        with self._changed:
            if not self._messages:
                self._changed.wait(timeout)
            if not self._messages:
                return None
            message = self._messages.popleft()
            self._n_bytes -= len(message)
        # Copy in the reading thread, so that the message is in the cache of its core.
        return bytes(message)

    def wake(self) -> None:
        """Wake the waiting reader."""
        with self._changed:
            self._changed.notify()

    def clear(self) -> None:
        """Discard all messages."""
        with self._changed:
            self._messages.clear()
            self._n_bytes = 0


class ChunkOrder:
    """Checks the order and the sizes of the chunks in a session.

    Parameters
    ----------
    frame_bytes : int
        Maximum size of a frame, in bytes.
    least_bytes : int
        Minimum size of a chunk, in bytes, except for the last chunk of a frame.

    Attributes
    ----------
    n_frames : int
        Number of complete frames.
    """

    def __init__(self, frame_bytes: int, least_bytes: int = LEAST_CHUNK_BYTES) -> None:
        self._frame_bytes = frame_bytes
        self._least_bytes = least_bytes
        self.restart()

    def restart(self) -> None:
        """Reset to the first frame of a session."""
        self.n_frames = 0
        self._total = self._n_there = 0

    def accept(self, chunk: Chunk) -> bool:
        """Check a chunk. Return whether it is the last chunk of its frame.

        Raises
        ------
        FormatError
            If the chunk is out of order or too small, or if its frame is too large.
        """
        if chunk.ordinal != self.n_frames or chunk.offset != self._n_there:
            expected = f"byte {self._n_there} of frame {self.n_frames} of the session"
            raise FormatError(f"expected {expected}, got byte {chunk.offset} of frame {chunk.ordinal}")
        if chunk.offset == 0:
            self._total = chunk.total
        if chunk.total != self._total or chunk.total > self._frame_bytes:
            expected = f"{self._total} bytes, and at most {self._frame_bytes}"
            raise FormatError(f"frame {chunk.ordinal} of the session: expected {expected}, got {chunk.total}")
        end = chunk.offset + len(chunk.content)
        # Small chunks are inefficient, and the first must contain the whole header of the frame.
        if end < self._total and len(chunk.content) < self._least_bytes:
            expected = f"chunks of {self._least_bytes} bytes or more"
            raise FormatError(f"frame {chunk.ordinal} of the session: expected {expected}, got {len(chunk.content)}")
        is_last = end >= self._total
        self._n_there = 0 if is_last else end
        self.n_frames += is_last
        return is_last
