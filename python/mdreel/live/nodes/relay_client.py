"""Client side of the protocol between a relay and a server."""

import errno
import secrets
import socket
import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import FormatError, StreamError, StreamTimeoutError
from mdreel.foundation.printable import printable
from mdreel.live.channels.rejections import RejectionReporter
from mdreel.live.nodes.inbox import ChunkOrder, Inbox
from mdreel.live.nodes.link import BEAT_SECONDS, SILENCE_SECONDS, ignoring_transport_errors
from mdreel.live.nodes.local_channel import LocalChannel
from mdreel.live.nodes.messages import (
    ABSENT,
    KEY,
    REFUSED,
    ChannelDescription,
    Chunk,
    Credit,
    End,
    Epoch,
    Fault,
    Heartbeat,
    Join,
    Leave,
    Message,
    decode,
    encode,
)

if TYPE_CHECKING:
    import zenoh

_ANSWER_SECONDS = 2.0
_AGAIN_SECONDS = 0.25
_CONSUMER_SECONDS = 0.02
_ADVICE = "check its name, start the simulation, or wait longer (wait=, --wait)"
_WAITS = "the relay waits for it"
_SILENT_ADVICE = (
    "if it was killed, start it again with the same command; otherwise check the network between the nodes; then "
    "consumers with restart= (--restart) continue"
)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_MOST_DAMAGED = 10
"""Maximum number of consecutive retries for an invalid frame."""


class RelayStatistics(NamedTuple):
    """Statistics of a relay.

    Attributes
    ----------
    n_frames : int
        Number of frames received.
    n_missed : int
        Number of frames that were no longer available.
    n_refused : int
        Number of invalid messages and frames that were requested again.
    n_joins : int
        Number of sessions. A new session is started after each interruption.
    """

    n_frames: int
    n_missed: int
    n_refused: int
    n_joins: int


class RelayClient:
    """Client that receives the frames of a channel on another node, and publishes them here.

    If a message is lost, damaged or invalid, or if the server is silent, the relay starts a new session. The session
    begins with the first frame that the relay has not received yet.

    Parameters
    ----------
    channel : str
        Name of the channel on the other node.
    local : LocalChannel
        The channel on this node.
    begin : (str, float or None)
        First frame to request if the local channel is empty.
    patience : float
        Timeout after which consumers are told that the producer was lost, in s.
    rejects : RejectionReporter
        Object that receives reports and rejected messages.
    stops : threading.Event
        Event that ends the relay.
    joined : threading.Event
        Event that is set when the server has accepted the relay, or when the relay begins to wait for consumers.
    n_consumers : int
        Number of local consumers to wait for before the relay joins.
    """

    def __init__(
        self,
        channel: str,
        local: LocalChannel,
        begin: tuple[str, float | None],
        patience: float,
        rejects: RejectionReporter,
        stops: threading.Event,
        joined: threading.Event,
        n_consumers: int = 0,
    ) -> None:
        self.channel = channel
        self._local = local
        self._begin = begin
        self._patience = patience
        self._rejects = rejects
        self._report = rejects.report
        self._stops = stops
        self._joined = joined
        self._n_consumers = n_consumers
        self._inbox = Inbox(1 << 20)
        self._order = ChunkOrder(0)
        self._zenoh: zenoh.Session | None = None
        # Of the session.
        self._session = 0
        self._n_taken = 0
        self._epoch = Epoch(0, 0, 0)
        self._last_message_at = self._beat = 0.0
        self._joins = True
        self._n_frames = self._n_joins = self._n_damaged = 0

    @property
    def statistics(self) -> RelayStatistics:
        """Statistics so far."""
        return RelayStatistics(self._n_frames, self._local.n_missed, self._rejects.n, self._n_joins)

    def join_channel(self, opened: "zenoh.Session", wait: float) -> None:
        """Ask the server for the channel, wait up to `wait` s until it exists, and open the local channel."""
        self._zenoh = opened
        until = monotonic() + wait
        while True:
            try:
                self._local.accept(self._query(b""))
            except FileNotFoundError:
                if monotonic() >= until or self._stops.wait(_AGAIN_SECONDS):
                    message = f"no such channel on that node within {wait:g} s; {_ADVICE}"
                    raise FileNotFoundError(errno.ENOENT, message, self.channel) from None
            except StreamTimeoutError:
                if monotonic() >= until or self._stops.wait(_AGAIN_SECONDS):
                    message = f"no server answers for this channel within {wait:g} s"
                    raise StreamTimeoutError(f"{self.channel}: {message}; {_ADVICE}") from None
            else:
                break
        self._despite_full_disk(self._local.open)
        assert self._local.answer is not None
        frame_bytes = self._local.answer.slot_bytes
        self._order = ChunkOrder(frame_bytes)
        # Room for the frames of the window, including the headers of their chunks.
        self._inbox.most_bytes = (1 << 20) + (self._window + 1) * (frame_bytes + (frame_bytes >> 10) + 4096)
        self._await_consumers()
        self._last_message_at = monotonic()

    def _await_consumers(self) -> None:
        """Wait until the local consumers have joined, or the relay is stopped."""
        if self._local.n_consumers >= self._n_consumers:
            return
        self._report(f"{self.channel}: waiting for {self._n_consumers} consumers of {self._local.path.name}")
        self._joined.set()
        while self._local.n_consumers < self._n_consumers and not self._stops.wait(_CONSUMER_SECONDS):
            pass

    @property
    def _window(self) -> int:
        """Number of frames requested in advance."""
        return max(2, self._local.n_slots // 2)

    def _query(self, question: bytes) -> ChannelDescription:
        """Send a query to the server. An empty query requests only the description of the channel."""
        assert self._zenoh is not None
        key = f"{KEY}/{self.channel}/join"
        with ignoring_transport_errors():
            for reply in self._zenoh.get(key, payload=question, timeout=_ANSWER_SECONDS):
                if reply.ok is not None:
                    return ChannelDescription.decode(reply.ok.payload.to_bytes())
                said = b"" if reply.err is None else reply.err.payload.to_bytes()[:1024]
                text = printable(said.decode("utf-8", "replace"))
                if text.startswith(ABSENT):
                    raise FileNotFoundError(2, "no such channel on that node", f"{self.channel}")
                if text.startswith(REFUSED):
                    raise StreamError(f"{self.channel}: {text}")
                # Zenoh itself answers with an error when its own timeout has passed or the connection has broken.
        raise StreamTimeoutError(f"{self.channel}: no server answers for this channel")

    def run(self) -> str | None:
        """Relay frames. Return how the channel has ended, or None if the relay was stopped."""
        assert self._zenoh is not None
        key = f"{KEY}/{self.channel}/to/{self._local.relay}"
        with self._zenoh.declare_subscriber(key, lambda sample: self._inbox.put(sample.payload)):
            return self._relay_until_end()

    def _relay_until_end(self) -> str | None:
        while not self._stops.is_set():
            if monotonic() - self._last_message_at > self._patience and self._local.is_open:
                self._give_up()
            if self._joins and not self._join():
                self._stops.wait(_AGAIN_SECONDS)
                continue
            received = self._inbox.get(_AGAIN_SECONDS)
            if received is None:
                if monotonic() - self._last_message_at > SILENCE_SECONDS:
                    self._joins = True
                    self._report(f"{self.channel}: no message from {self._server} for {SILENCE_SECONDS:g} s; {_WAITS}")
            else:
                try:
                    end = self._take(received)
                except FormatError as error:
                    self._refuse(error)
                else:
                    if end is not None:
                        return end
            if monotonic() - self._beat > BEAT_SECONDS:
                self._send_credit()
        self._send(Leave())
        return None

    @property
    def _server(self) -> str:
        """Process of the server, in words."""
        assert self._local.answer is not None
        said = printable(self._local.answer.server)
        return f"the server, {said}," if said else "the server"

    def _give_up(self) -> None:
        """Tell consumers that the producer was lost, because the server is silent."""
        silent = f"no message from {self._server} for {self._patience:g} s"
        self._report(f"{self.channel}: {silent}: lost")
        self._local.leave(f"{silent}; {_SILENT_ADVICE}")

    def _join(self) -> bool:
        """Start a session. Return whether the server has answered."""
        next_sequence = self._local.next_sequence
        start = self._begin if next_sequence is None else ("sequence", next_sequence)
        session = secrets.randbits(64)
        self._inbox.clear()
        self._session, self._n_taken, self._epoch = session, 0, Epoch(0, 0, 0)
        self._order.restart()
        self._local.restart_session()
        try:
            answer = self._query(Join(self._local.relay, socket.gethostname()[:256] or "?", session, start).encode())
        except (StreamTimeoutError, FileNotFoundError):
            return False
        except FormatError as error:
            self._n_damaged += 1
            self._refuse(error)
            return False
        self._local.accept(answer)
        self._last_message_at, self._joins = monotonic(), False
        self._n_joins += 1
        self._joined.set()
        self._report(f"{self.channel}: joined at {start[0]}{'' if start[1] is None else f' {start[1]}'}")
        self._send_credit()
        return True

    def _take(self, received: bytes) -> str | None:
        """Process a message. If the channel has ended, return how it has ended."""
        session, message = decode(received)
        if session != self._session:
            return None
        self._last_message_at = monotonic()
        match message:
            case Chunk():
                self._take_chunk(message)
            case Epoch():
                self._epoch = message
            case Heartbeat(n_sent, state):
                self._check_count(n_sent)
                if state == "lost" and self._local.is_open:
                    self._report(f"{self.channel}: the producer was lost")
                    self._local.leave(
                        f"{self._server} reports that the simulation there has died without an end record"
                    )
                elif state == "running":
                    self._despite_full_disk(self._local.open)
            case End(n_sent, how, reason):
                self._check_count(n_sent)
                self._despite_full_disk(self._local.open)
                self._local.end(how, printable(reason))
                self._send(Leave())
                self._report(f"{self.channel}: {how} after {self._n_frames:,} frames")
                return how
            case Fault(reason):
                raise StreamError(f"{self.channel}: the server cannot read the channel: {printable(reason)}")
            case _:
                raise FormatError(f"a server does not send {type(message).__name__}")
        return None

    def _check_count(self, n_sent: int) -> None:
        """Check that all frames sent in this session have been received."""
        if n_sent != self._order.n_frames:
            message = f"{n_sent} frames were sent in this session, {self._order.n_frames} were received"
            raise FormatError(message)

    def _take_chunk(self, chunk: Chunk) -> None:
        """Add a chunk to the current frame. When the frame is complete, publish it and send credit."""
        is_last = self._order.accept(chunk)
        piece = np.frombuffer(chunk.content, np.uint8)
        try:
            if chunk.offset == 0 and not self._begin_frame(piece, chunk.total):
                return
            pieces = iter((piece,))
            self._despite_full_disk(lambda: self._local.add(next(pieces, piece[:0])))
        except FormatError:
            self._n_damaged += 1
            raise
        if is_last:
            self._n_taken += 1
            self._n_frames += 1
            self._n_damaged = 0
            self._send_credit()

    def _begin_frame(self, first: NDArray[np.uint8], n_bytes: int) -> bool:
        """Begin a frame as soon as a slot is free. Return False if the relay was stopped before this."""
        self._despite_full_disk(self._local.open)
        while not self._stops.is_set():
            try:
                self._despite_full_disk(lambda: self._local.begin(first, n_bytes, self._epoch, _AGAIN_SECONDS))
            except StreamTimeoutError:  # local consumers are slow
                self._tell_alive()
            else:
                return True
        return False

    def _despite_full_disk(self, act: Callable[[], None]) -> None:
        """Call a function again as long as the disk is full. Raise the error if the relay is stopped."""
        is_told = False
        while True:
            try:
                return act()
            except OSError as error:
                if error.errno not in _NO_ROOM or self._stops.wait(_AGAIN_SECONDS):
                    raise
                if not is_told:
                    is_told = True
                    self._report(f"{self.channel}: waiting for room on the disk: {error}")
                self._tell_alive()

    def _tell_alive(self) -> None:
        """Tell the server that the relay is alive while it cannot publish."""
        self._send_credit()
        self._last_message_at = monotonic()

    def _refuse(self, error: FormatError) -> None:
        """Report an invalid message and request a new session."""
        self._rejects.reject(f"{self.channel}: invalid message, requested again: {error}")
        if self._n_damaged >= _MOST_DAMAGED:
            raise error
        self._joins = True

    def _send_credit(self) -> None:
        self._send(Credit(self._n_taken, self._n_taken + self._window))
        self._beat = monotonic()

    def _send(self, message: Message) -> None:
        assert self._zenoh is not None
        with ignoring_transport_errors():  # the message is sent again
            self._zenoh.put(f"{KEY}/{self.channel}/from/{self._local.relay}", encode(self._session, message))
