"""IMD clients of a hub."""

import select
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Protocol

from mdreel.errors import FormatError, StreamError, StreamTimeoutError
from mdreel.live.channels.consumer import Consumer, Start
from mdreel.live.channels.rejections import Rejects
from mdreel.live.channels.status import Status
from mdreel.live.engines.imd.access import TOKEN_BEGINS, Access
from mdreel.live.engines.imd.address import Address
from mdreel.live.engines.imd.messages import HEADER, Kind, Packer, greeting

GO_SECONDS = 2.0
"""For how long somebody who has connected may take to show that he is a client, and may be."""
_LOOK_SECONDS = 0.02
_FRAMES_AT_A_TIME = 16
_MOST_TOKEN = 512
_RECEIVE_BYTES = 65536


@dataclass(frozen=True)
class Serving:
    """How clients are served.

    Attributes
    ----------
    version : {2, 3}
        Of IMD.
    start : {"earliest", "latest"} or (str, float)
        The first frame, as of `Consumer`.
    restart : float
        For how long a producer that was lost may be away, s.
    memory : int
        How many bytes of frames wait for a client that is slow or pauses, before the oldest are dropped.
    patience : float
        How long a client may take for what is left when the channel has ended, s.
    clock : callable
        Returns the monotonic time, s, by which somebody who has connected is late.
    """

    version: int
    start: Start
    restart: float
    memory: int
    patience: float
    clock: Callable[[], float] = monotonic


class Requests(Protocol):
    """What a client may ask that is not about itself alone."""

    def admit(self, client: "Client") -> str | None:
        """Take it among the clients, now that it has shown that it is one; return why it cannot be."""

    def leave(self, client: "Client") -> None:
        """Note that it has gone."""

    def pause(self, client: "Client", is_wanted: bool) -> None:
        """Note that it pauses, or goes on."""

    def kill(self, client: "Client") -> None:
        """Note that it wants the simulation to end."""


class Client(threading.Thread):
    """Serves one client until it leaves, the channel ends, or it says what is not IMD.

    Frames are taken from the ring as they come, whether the client takes them or not, so that it holds up nobody: what
    it has not taken waits in memory of its own. If that is full, the oldest frames are dropped, or, where the channel
    has a staging, found there again later.

    Parameters
    ----------
    connection : socket
        The connection.
    path : Path
        The channel's directory.
    serving : Serving
        How it is served.
    access : Access
        Who may connect.
    requests : Requests
        Where pauses and kills are noted.
    rejects : Rejects
        Where it is reported when it comes and goes, and when it was not let in.

    Attributes
    ----------
    name, host : str
        Where it has connected from: address with port, and without.
    n_sent : int
        Frames that were sent.
    n_lost : int
        Frames that were dropped, as it was too slow.
    is_paused : bool
        Whether it wants no frames for now.
    why : str or None
        Why it was left; None as long as it is served.
    """

    def __init__(
        self,
        connection: socket.socket,
        path: Path,
        serving: Serving,
        access: Access,
        requests: Requests,
        rejects: Rejects,
    ) -> None:
        peer = connection.getpeername()
        super().__init__(name=str(Address(peer[0], peer[1])), daemon=True)
        self.host: str = peer[0]
        self.n_sent = self.n_lost = 0
        self.is_paused = False
        self.why: str | None = None
        self._connection = connection
        self._path = path
        self._serving = serving
        self._access = access
        self._requests = requests
        self._rejects = rejects
        self._report = rejects.say
        self._was_let_in = False
        self._why_dropped = "the hub has closed"
        self._stops = threading.Event()
        self._status = Status.of(path)
        self._packer = Packer(self._status.manifest, serving.version)
        self._has_staging = (path / "staging").exists()
        self._received = bytearray()
        self._n_to_skip = 0
        # Frames that wait: their steps are known no more, only their bytes.
        self._waiting: deque[bytes] = deque()
        self._n_waiting_bytes = 0
        self._sending: memoryview | None = None
        self._expected: int | None = None
        self._consumer: Consumer | None = None
        self._is_at_end = False
        self._rate = 0
        self._last_step: int | None = None

    def stop(self) -> None:
        """Have it end soon."""
        self._stops.set()

    def drop(self, why: str) -> None:
        """Have it end soon, and say why."""
        self._why_dropped = why
        self._stops.set()

    def run(self) -> None:
        """Serve."""
        try:
            why = self._serve()
        except Exception as error:  # noqa: BLE001 - nothing that a client does ends more than its own connection
            why = str(error) or type(error).__name__
        finally:
            with suppress(Exception):
                self._leave_channel()
            with suppress(OSError):
                self._connection.close()
        self.why = why
        self._requests.pause(self, False)
        if self._was_let_in:
            lost = f", {self.n_lost:,} lost" if self.n_lost else ""
            self._report(f"{self.name}: {why}: {self.n_sent:,} frames sent{lost}")
        else:
            self._rejects.note(f"{self.name}: {why}")
        self._requests.leave(self)

    def _serve(self) -> str:
        """Serve; return why that has ended."""
        refusal = self._refusal()
        if refusal is not None:
            return f"refused: {refusal}"
        self._was_let_in = True
        self._report(f"{self.name}: has joined")
        self._join_channel(self._serving.start)
        why = self._obey_all()  # it may have said more than that
        if why is not None:
            return why
        until = None
        is_over = False
        while not self._stops.is_set():
            if not is_over and self._is_at_end and not self._waiting and self._sending is None:
                is_over = True
                # Its last words are still read: closed before that, the connection would lose what is under way.
                self._connection.shutdown(socket.SHUT_WR)
            if self._is_at_end and until is None:
                until = monotonic() + self._serving.patience
            if until is not None and monotonic() >= until:
                return "the channel has ended" if is_over else "too slow at the end of the channel"
            why = self._turn(is_over)
            if why is not None:
                return "the channel has ended" if is_over else why
        return "the hub has closed"

    def _refusal(self) -> str | None:
        """Greet who has connected; return why he is not let in."""
        refusal = self._access.refusal(self._connection)
        if refusal is not None:
            return refusal
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection.settimeout(GO_SECONDS)
        self._connection.sendall(greeting(self._packer.session))
        self._connection.setblocking(False)
        if self._is_let_in():
            return self._requests.admit(self)
        if self._stops.is_set():
            return self._why_dropped
        return "no token" if self._access.wants_token else "it has not said that frames may come"

    def _turn(self, is_over: bool) -> str | None:
        """Take frames, listen and send, each as far as it goes; return why the client is to be left."""
        wants_to_send = not self.is_paused and (self._sending is not None or bool(self._waiting))
        is_taking = self._consumer is not None and not self._is_at_end
        if is_taking:
            self._take(0.0 if wants_to_send else _LOOK_SECONDS)
            wants_to_send = not self.is_paused and (self._sending is not None or bool(self._waiting))
        elif not self._is_at_end and self._n_waiting_bytes < self._serving.memory // 2:
            assert self._expected is not None, "it was left because there were too many frames"
            self._join_channel(("sequence", self._expected))
        poll = select.poll()
        poll.register(self._connection, select.POLLIN | (select.POLLOUT if wants_to_send else 0))
        waits = wants_to_send or not is_taking or is_over
        for _, event in poll.poll(1000 * _LOOK_SECONDS if waits else 0):
            if event & (select.POLLIN | select.POLLHUP | select.POLLERR):
                why = self._listen()
                if why is not None:
                    return why
            if event & select.POLLOUT and not self.is_paused:
                self._send()
        return None

    def _join_channel(self, start: Start) -> None:
        self._consumer = Consumer(self._path, start=start, restart=self._serving.restart).open()

    def _leave_channel(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _take(self, timeout: float) -> None:
        """Take some frames that are there, and copy them, so that nobody waits for their place in the ring."""
        for _ in range(_FRAMES_AT_A_TIME):
            assert self._consumer is not None, "there is a channel to take from"
            try:
                frame = self._consumer.next(timeout)
            except StreamTimeoutError:
                return
            except StreamError as error:
                self._report(f"{self.name}: {error}")
                self._is_at_end = True
                return
            if frame is None:
                self._is_at_end = True
                return
            if self._expected is not None:
                self.n_lost += max(0, frame.sequence - self._expected)
            self._expected = frame.sequence + 1
            if self._last_step is None or self._rate < 2 or frame.step - self._last_step >= self._rate:
                self._last_step = frame.step
                packed = self._packer.frame(frame)
                self._waiting.append(packed)
                self._n_waiting_bytes += len(packed)
            del frame
            if not self._has_room():
                return
            timeout = 0.0

    def _has_room(self) -> bool:
        """Keep what waits within bounds: drop the oldest, or leave the rest to staging; then there is no more room."""
        while self._n_waiting_bytes > self._serving.memory and len(self._waiting) > 1:
            if self._has_staging:
                self._leave_channel()
                return False
            self._n_waiting_bytes -= len(self._waiting.popleft())
            self.n_lost += 1
        return True

    def _send(self) -> None:
        """Send as much as there is room for."""
        while True:
            if self._sending is None:
                if not self._waiting:
                    return
                packed = self._waiting.popleft()
                self._n_waiting_bytes -= len(packed)
                self._sending = memoryview(packed)
            try:
                n_sent = self._connection.send(self._sending)
            except BlockingIOError:
                return
            self._sending = self._sending[n_sent:]
            if not self._sending:
                self._sending = None
                self.n_sent += 1

    def _listen(self) -> str | None:
        """Hear what the client says; return why it is to be left."""
        try:
            said = self._connection.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return None
        if not said:
            return "has left"
        self._received += said
        return self._obey_all()

    def _obey_all(self) -> str | None:
        """Do what was heard, as far as it is whole; return why the client is to be left."""
        while True:
            skipped = min(self._n_to_skip, len(self._received))
            del self._received[:skipped]
            self._n_to_skip -= skipped
            if self._n_to_skip or len(self._received) < HEADER.size:
                return None
            kind, value = HEADER.unpack(self._received[: HEADER.size])
            del self._received[: HEADER.size]
            if (why := self._obey(kind, value)) is not None:
                return why

    def _obey(self, kind: int, value: int) -> str | None:
        """Do what a message says; return why the client is to be left."""
        match kind:
            case Kind.DISCONNECT:
                return "has left"
            case Kind.KILL:
                self._requests.kill(self)
                return "has left, and asked for the end of the simulation"
            case Kind.PAUSE:
                self._pause(not self.is_paused or self._serving.version > 2)
            case Kind.RESUME:
                self._pause(False)
            case Kind.RATE:
                self._rate = max(value, 0)
            case Kind.FORCES_TO_APPLY:
                # They are for the engine, which others look at as well: nothing of it is passed on.
                if not 0 <= value <= self._status.manifest.n_atoms:
                    raise FormatError(f"forces on {value:,} of {self._status.manifest.n_atoms:,} atoms")
                self._n_to_skip = 16 * value
            case Kind.GO | Kind.WAIT:
                pass
            case _:
                raise FormatError(f"a message of kind {kind}, which no client of IMD sends")
        return None

    def _pause(self, is_wanted: bool) -> None:
        self.is_paused = is_wanted
        self._requests.pause(self, is_wanted)

    def _is_let_in(self) -> bool:
        """Wait until it has shown the token, if it has to, and has said that frames may come."""
        until = self._serving.clock() + GO_SECONDS
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        has_shown = not self._access.wants_token
        while self._serving.clock() < until and not self._stops.is_set():
            if not has_shown and (line_ends := self._received.find(b"\n")) >= 0:
                line = bytes(self._received[: line_ends + 1])
                if not self._access.is_token(line):
                    return False
                del self._received[: line_ends + 1]
                has_shown = True
            if has_shown and len(self._received) >= HEADER.size:
                kind, _ = HEADER.unpack(self._received[: HEADER.size])
                del self._received[: HEADER.size]
                return bool(kind == Kind.GO)
            begun = bytes(self._received[: len(TOKEN_BEGINS)])
            if not has_shown and (len(self._received) > _MOST_TOKEN or not TOKEN_BEGINS.startswith(begun)):
                return False
            if not poll.poll(1000 * _LOOK_SECONDS):
                continue
            said = self._connection.recv(_MOST_TOKEN)
            if not said:
                return False
            self._received += said
        return False
