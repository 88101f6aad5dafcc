"""Threads of a server, each of which sends the frames of a channel to one relay."""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic

from mdreel._core import ChannelConsumer, ChannelFrame, channel_status
from mdreel.errors import StreamError, StreamTimeoutError
from mdreel.foundation.printable import printable
from mdreel.live.nodes.link import BEAT_SECONDS, SILENCE_SECONDS
from mdreel.live.nodes.messages import (
    CHUNK_BYTES,
    Chunk,
    Credit,
    End,
    Epoch,
    Fault,
    Heartbeat,
    Join,
    Leave,
    Message,
    encode,
)

_POLL_SECONDS = 0.05


class Sender(threading.Thread):
    """Thread that sends frames to a relay within its credit, until the relay leaves or times out.

    A frame that was sent is not released until the relay acknowledges it. In the meantime, the producer cannot
    overwrite the frame. If the relay joins again after an interruption or a restart, it therefore receives the frame
    again.

    Parameters
    ----------
    path : Path
        Directory of the channel.
    join : Join
        Join message from the relay.
    put : callable
        Function that sends bytes to the relay.
    patience : float
        Time after which frames are released if the relay is away, in s. If the channel has staging, the sender does not
        wait for this time.

    Attributes
    ----------
    n_frames, n_bytes : int
        Number of frames sent for the first time, and total number of bytes sent.
    n_again : int
        Number of frames sent again.
    n_taken : int
        Number of frames acknowledged by the relay.
    fault : str or None
        Reason why the channel cannot be read, or None if it can be read.
    """

    def __init__(self, path: Path, join: Join, put: Callable[[bytes], None], patience: float) -> None:
        super().__init__(name=f"mdreel-{path.name}-{join.relay[:8]}", daemon=True)
        self.path = path
        self.relay = join.relay
        self.host = printable(join.host)
        self.state = "running"
        self.n_frames = self.n_bytes = self.n_again = self.n_taken = 0
        self.fault: str | None = None
        self._put = put
        self._patience = 0.0 if (path / "staging").exists() else patience
        status = channel_status(path)
        self._window = max(1, int(status["n_slots"]) // 2)
        self._core = ChannelConsumer(path, join.start, 0.0)
        self._end: tuple[str, str | None] | None = None
        self._held: deque[tuple[ChannelFrame, int]] = deque()  # with the number of frames missing before each
        self._n_missed = 0
        self._changed = threading.Condition()
        self._stops = False
        self._last_message_at = monotonic()
        self._joined: Join | None = join
        # Current session of the relay, and its credit.
        self._session = join.session
        self._credit = Credit(0, 0)
        # Session of the outgoing messages, with the number of sent and released frames. Only the sending thread changes
        # it, so that frames numbered in one session are never sent in another.
        self._sent_session = join.session
        self._n_sent = self._n_released = 0
        self._epoch: int | None = None
        self._beat_at = 0.0
        self._beat: Message | None = None

    def rejoin(self, join: Join) -> None:
        """Record that the relay has joined again, with a new first frame."""
        with self._changed:
            self._joined, self._session, self._credit = join, join.session, Credit(0, 0)
            self._last_message_at = monotonic()
            self._changed.notify()

    def receive(self, session: int, message: Message) -> None:
        """Process a message from the relay."""
        with self._changed:
            if session != self._session:
                return
            self._last_message_at = monotonic()
            match message:
                # Credit is sent repeatedly and may arrive late; it only grows.
                case Credit(n_taken, n_wanted) if n_taken >= self._credit.n_taken:
                    self._credit = Credit(n_taken, max(n_wanted, self._credit.n_wanted))
                case Leave():
                    self._stops = True
            self._changed.notify()

    def stop(self) -> None:
        """Ask the thread to end."""
        with self._changed:
            self._stops = True
            self._changed.notify()

    @property
    def is_away(self) -> bool:
        """Whether the relay has not sent any message for some time."""
        return monotonic() - self._last_message_at > SILENCE_SECONDS

    def run(self) -> None:
        """Send frames until the relay leaves or the channel ends."""
        try:
            while self._step():
                pass
        except Exception as error:  # noqa: BLE001 - the relay is told about any error
            self.fault = str(error)
            with suppress(Exception):  # the network may have failed
                self._send(Fault(f"{type(error).__name__}: {error}"))
        finally:
            self._release(self._credit)
            self._held.clear()
            self._core.close()

    def _step(self) -> bool:
        """Send at most one frame. Return whether to continue."""
        with self._changed:
            if self._stops or (self.is_away and monotonic() - self._last_message_at > self._patience):
                return False
            if self._joined is not None:
                self._begin(self._joined)
                self._joined = None
            credit = self._credit
        self._release(credit)
        may_send = self._n_sent < min(credit.n_wanted, self._n_released + self._window) and not self.is_away
        frame = self._next() if may_send else None
        if frame is not None:
            self._send_frame(*frame)
        self._send_heartbeat()
        if frame is None and (not may_send or self._end is not None or self.state == "lost"):
            with self._changed:
                if not self._stops and self._joined is None and self._credit == credit:
                    self._changed.wait(_POLL_SECONDS)
        return True

    def _begin(self, join: Join) -> None:
        """Begin a session. Release the frames that the relay has received, and send the other frames again."""
        word, number = join.start
        if word == "sequence" and number is not None:
            while self._held and self._held[0][0].sequence < number:
                self._held.popleft()
                self.n_taken += 1
        self._sent_session = join.session
        self._n_sent = self._n_released = 0
        self._epoch, self._beat_at, self._beat = None, 0.0, None

    def _release(self, credit: Credit) -> None:
        """Release acknowledged frames, but not more frames than were sent."""
        while self._n_released < min(credit.n_taken, self._n_sent):
            self._held.popleft()
            self._n_released += 1
            self.n_taken += 1

    def _next(self) -> tuple[ChannelFrame, int] | None:
        """Return the next frame of this session and the number of frames missing before it, or None without a frame."""
        at = self._n_sent - self._n_released
        if at < len(self._held):
            self.n_again += 1
            return self._held[at]
        if self._end is not None:
            return None
        frame = None
        try:
            frame = self._core.next(_POLL_SECONDS)
            self.state = "running"
        except StreamTimeoutError:
            self.state = "running"
        except StreamError:
            if self._core.end is None:
                self.state = "lost"
        self._end = self._core.end
        if self._end is not None:
            self.state = self._end[0]
        if frame is None:
            return None
        n_missed, self._n_missed = self._n_missed, self._core.missed + self._core.n_late
        self._held.append((frame, self._n_missed - n_missed))
        self.n_frames += 1
        return self._held[-1]

    def _send_frame(self, frame: ChannelFrame, n_missed: int) -> None:
        if frame.epoch != self._epoch:
            self._epoch = frame.epoch
            resume_step = channel_status(self.path)["resume_steps"][frame.epoch]
            self._send(Epoch(frame.epoch, resume_step, n_missed))
        content = memoryview(frame)
        for offset in range(0, len(content), CHUNK_BYTES):
            self._send(Chunk(self._n_sent, offset, len(content), content[offset : offset + CHUNK_BYTES]))
        self._n_sent += 1

    def _send_heartbeat(self) -> None:
        """Send the state of the channel, immediately after a change and otherwise at intervals."""
        message: Message
        if self._end is None:
            message = Heartbeat(self._n_sent, self.state)
            is_new = not isinstance(self._beat, Heartbeat) or self._beat.state != self.state
        elif self._n_sent - self._n_released == len(self._held):
            message = End(self._n_sent, self._end[0], self._end[1] or "")
            is_new = not isinstance(self._beat, End)
        else:
            return
        if is_new or monotonic() - self._beat_at > BEAT_SECONDS:
            self._send(message)
            self._beat, self._beat_at = message, monotonic()

    def _send(self, message: Message) -> None:
        sent = encode(self._sent_session, message)
        self.n_bytes += len(sent)
        self._put(sent)
