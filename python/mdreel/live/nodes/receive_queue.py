"""Receive queue of a relay."""

import threading
from collections import deque
from collections.abc import Sized
from typing import Protocol, SupportsBytes

from mdreel.errors import FormatError
from mdreel.live.nodes.messages import LEAST_CHUNK_BYTES, Chunk


class Arrived(Sized, SupportsBytes, Protocol):
    """A message as the network has it: `bytes` copies it out."""


class Inbox:
    """Messages that have arrived, for one thread to take, which has them as bytes.

    Parameters
    ----------
    most_bytes : int
        So many bytes wait at most; who sends more has not asked, and what does not fit is thrown away.

    Attributes
    ----------
    most_bytes : int
        As above; may be changed.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._messages: deque[Arrived] = deque()
        self._n_bytes = 0
        self._changed = threading.Condition()

    def put(self, message: Arrived) -> None:
        """Add a message, if there is room."""
        with self._changed:
            if self._n_bytes + len(message) <= self.most_bytes:
                self._messages.append(message)
                self._n_bytes += len(message)
                self._changed.notify()

    def get(self, timeout: float) -> bytes | None:
        """Take the next message; None if none came in time, s."""
        with self._changed:
            if not self._messages:
                self._changed.wait(timeout)
            if not self._messages:
                return None
            message = self._messages.popleft()
            self._n_bytes -= len(message)
        # Here, where it is looked at next: so that it is in the caches of this core.
        return bytes(message)

    def wake(self) -> None:
        """Have who waits look up."""
        with self._changed:
            self._changed.notify()

    def clear(self) -> None:
        """Forget what has arrived."""
        with self._changed:
            self._messages.clear()
            self._n_bytes = 0


class ChunkOrder:
    """Checks that the chunks of a session come one behind the other, and are of frames that may be.

    Parameters
    ----------
    frame_bytes : int
        The most bytes of a frame.
    least_bytes : int
        The least of a chunk that is not the last of its frame.

    Attributes
    ----------
    n_frames : int
        Frames that were whole.
    """

    def __init__(self, frame_bytes: int, least_bytes: int = LEAST_CHUNK_BYTES) -> None:
        self._frame_bytes = frame_bytes
        self._least_bytes = least_bytes
        self.restart()

    def restart(self) -> None:
        """Begin anew, with the first frame of a session."""
        self.n_frames = 0
        self._total = self._n_there = 0

    def accept(self, chunk: Chunk) -> bool:
        """Take note of a chunk; return whether it is the last of its frame.

        Raises
        ------
        FormatError
            If it is not the chunk that comes next, the frame has more bytes than it may, or there would be too many.
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
        # Each chunk takes some time beside its bytes, and the first is to have all of the frame's header.
        if end < self._total and len(chunk.content) < self._least_bytes:
            expected = f"chunks of {self._least_bytes} bytes or more"
            raise FormatError(f"frame {chunk.ordinal} of the session: expected {expected}, got {len(chunk.content)}")
        is_last = end >= self._total
        self._n_there = 0 if is_last else end
        self.n_frames += is_last
        return is_last
