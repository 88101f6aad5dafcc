"""Session of a relay with a server."""

import secrets
import socket
import threading
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import FormatError, StreamError, StreamTimeoutError
from mdreel.foundation.printable import printable
from mdreel.live.channels.rejections import Rejects
from mdreel.live.nodes.link import BEAT_SECONDS, SILENCE_SECONDS
from mdreel.live.nodes.local_channel import LocalChannel
from mdreel.live.nodes.messages import (
    KEY,
    Answer,
    Beat,
    Bye,
    Chunk,
    Credit,
    End,
    Epoch,
    Fault,
    Join,
    Message,
    decode,
    encode,
)
from mdreel.live.nodes.receive_queue import ChunkOrder, Inbox

if TYPE_CHECKING:
    import zenoh

_ANSWER_SECONDS = 2.0
_AGAIN_SECONDS = 0.25
_MOST_DAMAGED = 10
"""So often in a row a frame is asked for again that is not what it should be."""


class Relayed(NamedTuple):
    """What a relay has done.

    Attributes
    ----------
    n_frames : int
        Frames that have come.
    n_missed : int
        Frames between them that could not be had any more.
    n_refused : int
        Messages and frames that were not what they should be, and were asked for again.
    n_joins : int
        How often it has joined: once, and once more after each cut.
    """

    n_frames: int
    n_missed: int
    n_refused: int
    n_joins: int


class Passing:
    """Passes the frames of a channel of another node on, until it ends.

    Whatever goes wrong on the way (a message that is missing, damaged, or not understood; a server that is silent) has
    one remedy: a new session, which begins with the first frame that is not here yet.

    Parameters
    ----------
    channel : str
        The channel's name on the other node.
    local : LocalChannel
        The channel here.
    begin : (str, float or None)
        The first frame, for a channel that has none here.
    patience : float
        For how long the server may not be heard of, s, before the producer counts as lost.
    rejects : Rejects
        Where lines of text are reported, and what was refused.
    stops : threading.Event
        Set by who wants it to end.
    joined : threading.Event
        Set when the server has a place for it.
    """

    def __init__(
        self,
        channel: str,
        local: LocalChannel,
        begin: tuple[str, float | None],
        patience: float,
        rejects: Rejects,
        stops: threading.Event,
        joined: threading.Event,
    ) -> None:
        self.channel = channel
        self._local = local
        self._begin = begin
        self._patience = patience
        self._rejects = rejects
        self._report = rejects.say
        self._stops = stops
        self._joined = joined
        self._inbox = Inbox(1 << 20)
        self._order = ChunkOrder(0)
        self._zenoh: zenoh.Session | None = None
        # Of the session.
        self._session = 0
        self._n_taken = 0
        self._epoch = Epoch(0, 0)
        self._heard = self._beat = 0.0
        self._joins = True
        self._n_frames = self._n_joins = self._n_damaged = 0

    @property
    def relayed(self) -> Relayed:
        """What has been done so far."""
        return Relayed(self._n_frames, self._local.n_missed, self._rejects.n, self._n_joins)

    def meet(self, opened: "zenoh.Session", wait: float) -> None:
        """Ask for the channel, which may not be there for some time, s, and open the one here."""
        self._zenoh = opened
        until = monotonic() + wait
        while True:
            try:
                self._local.accept(self._ask(b""))
            except (FileNotFoundError, StreamTimeoutError):
                if monotonic() >= until or self._stops.wait(_AGAIN_SECONDS):
                    raise
            else:
                break
        self._local.open()
        assert self._local.answer is not None
        frame_bytes = self._local.answer.slot_bytes
        self._order = ChunkOrder(frame_bytes)
        # As many frames as are asked for, with the heads of their chunks.
        self._inbox.most_bytes = (1 << 20) + (self._window + 1) * (frame_bytes + (frame_bytes >> 10) + 4096)
        self._heard = monotonic()

    @property
    def _window(self) -> int:
        """How many frames are asked for ahead."""
        return max(2, self._local.n_slots // 2)

    def _ask(self, question: bytes) -> Answer:
        """Ask the server; an empty question asks for the channel alone."""
        assert self._zenoh is not None
        key = f"{KEY}/{self.channel}/join"
        for reply in self._zenoh.get(key, payload=question, timeout=_ANSWER_SECONDS):
            if reply.ok is not None:
                return Answer.decode(reply.ok.payload.to_bytes())
            said = b"" if reply.err is None else reply.err.payload.to_bytes()[:1024]
            text = printable(said.decode("utf-8", "replace"))
            if text.startswith("absent"):
                raise FileNotFoundError(2, "no such channel on that node", f"{self.channel}")
            raise StreamError(f"{self.channel}: {text}")
        raise StreamTimeoutError(f"{self.channel}: no server answers for this channel")

    def run(self) -> str | None:
        """Pass frames on; return how the channel has ended, or None if this was stopped."""
        assert self._zenoh is not None
        key = f"{KEY}/{self.channel}/to/{self._local.relay}"
        with self._zenoh.declare_subscriber(key, lambda sample: self._inbox.put(sample.payload)):
            return self._pass_on()

    def _pass_on(self) -> str | None:
        while not self._stops.is_set():
            if monotonic() - self._heard > self._patience and self._local.is_open:
                self._report(f"{self.channel}: nothing was heard of the server for {self._patience:g} s: lost")
                self._local.leave()
            if self._joins and not self._join():
                self._stops.wait(_AGAIN_SECONDS)
                continue
            received = self._inbox.get(_AGAIN_SECONDS)
            if received is None:
                if monotonic() - self._heard > SILENCE_SECONDS:
                    self._joins = True
            else:
                try:
                    end = self._take(received)
                except FormatError as error:
                    self._refuse(error)
                else:
                    if end is not None:
                        return end
            if monotonic() - self._beat > BEAT_SECONDS:
                self._say_credit()
        self._say(Bye())
        return None

    def _join(self) -> bool:
        """Begin a session; return whether the server has answered."""
        wanted = self._local.wanted
        start = self._begin if wanted is None else ("sequence", wanted)
        session = secrets.randbits(64)
        self._inbox.clear()
        self._session, self._n_taken, self._epoch = session, 0, Epoch(0, 0)
        self._order.restart()
        try:
            answer = self._ask(Join(self._local.relay, socket.gethostname()[:256] or "?", session, start).encode())
        except (StreamTimeoutError, FileNotFoundError):
            return False
        except FormatError as error:
            self._n_damaged += 1
            self._refuse(error)
            return False
        self._local.accept(answer)
        self._heard, self._joins = monotonic(), False
        self._n_joins += 1
        self._joined.set()
        self._report(f"{self.channel}: joined at {start[0]}{'' if start[1] is None else f' {start[1]}'}")
        self._say_credit()
        return True

    def _take(self, received: bytes) -> str | None:
        """Take a message; return how the channel has ended, if it has."""
        session, message = decode(received)
        if session != self._session:
            return None
        self._heard = monotonic()
        match message:
            case Chunk():
                self._take_chunk(message)
            case Epoch():
                self._epoch = message
            case Beat(n_sent, state):
                self._check_number(n_sent)
                if state == "lost" and self._local.is_open:
                    self._report(f"{self.channel}: the producer was lost")
                    self._local.leave()
                elif state == "running":
                    self._local.open()
            case End(n_sent, how, reason):
                self._check_number(n_sent)
                self._local.open()
                self._local.end(how, printable(reason))
                self._say(Bye())
                self._report(f"{self.channel}: {how} after {self._n_frames:,} frames")
                return how
            case Fault(reason):
                raise StreamError(f"{self.channel}: the server cannot read it: {printable(reason)}")
            case _:
                raise FormatError(f"a server does not say {type(message).__name__}")
        return None

    def _check_number(self, n_sent: int) -> None:
        """Check that all has come that was sent before."""
        if n_sent != self._order.n_frames:
            message = f"{n_sent} frames were sent in this session, and {self._order.n_frames} have come"
            raise FormatError(message)

    def _take_chunk(self, chunk: Chunk) -> None:
        """Take a piece of a frame, which is published when it is whole; then there is room for more."""
        is_last = self._order.accept(chunk)
        piece = np.frombuffer(chunk.content, np.uint8)
        try:
            if chunk.offset == 0 and not self._begin_frame(piece, chunk.total):
                return
            self._local.add(piece)
        except FormatError:
            self._n_damaged += 1
            raise
        if is_last:
            self._n_taken += 1
            self._n_frames += 1
            self._n_damaged = 0
            self._say_credit()

    def _begin_frame(self, first: NDArray[np.uint8], n_bytes: int) -> bool:
        """Begin a frame, when there is room for it here; return False if this was stopped before."""
        self._local.open()
        while not self._stops.is_set():
            try:
                self._local.begin(first, n_bytes, self._epoch.epoch, self._epoch.resume_step, _AGAIN_SECONDS)
            except StreamTimeoutError:  # consumers here are slow, and the server is to know that we are not dead
                self._say_credit()
                self._heard = monotonic()
            else:
                return True
        return False

    def _refuse(self, error: FormatError) -> None:
        """Ask again for what has come and is not what it should be."""
        self._rejects.note(f"{self.channel}: not understood, and asked for again: {error}")
        if self._n_damaged >= _MOST_DAMAGED:
            raise error
        self._joins = True

    def _say_credit(self) -> None:
        self._say(Credit(self._n_taken, self._n_taken + self._window))
        self._beat = monotonic()

    def _say(self, message: Message) -> None:
        assert self._zenoh is not None
        self._zenoh.put(f"{KEY}/{self.channel}/from/{self._local.relay}", encode(self._session, message))
