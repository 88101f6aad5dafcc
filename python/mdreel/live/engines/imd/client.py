"""Threads of a hub, each of which serves one IMD client."""

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
from mdreel.live.channels.rejections import RejectionReporter
from mdreel.live.channels.status import Status
from mdreel.live.engines.imd.access import TOKEN_BEGINS, HubAccess
from mdreel.live.engines.imd.address import Address
from mdreel.live.engines.imd.messages import HEADER, Kind, Packer, pack_handshake

GO_SECONDS = 2.0
"""Timeout for the handshake, in s."""
_POLL_SECONDS = 0.02
_FRAMES_AT_A_TIME = 16
_MOST_TOKEN = 512
_RECEIVE_BYTES = 65536


@dataclass(frozen=True)
class ClientOptions:
    """Options for serving clients.

    Attributes
    ----------
    version : {2, 3}
        Version of the IMD protocol.
    start : {"earliest", "latest"} or (str, float)
        First frame; see `Consumer`.
    restart : float
        Maximum time to wait for a lost producer to restart, in s.
    memory : int
        Maximum size, in bytes, of the frames that are buffered for a slow or paused client. If it is exceeded, the
        oldest frames are dropped.
    patience : float
        Maximum time to send the remaining frames after the channel has ended, in s.
    clock : callable
        Function that returns the monotonic time, in s. It is used for the timeout of the handshake.
    """

    version: int
    start: Start
    restart: float
    memory: int
    patience: float
    clock: Callable[[], float] = monotonic


class ClientEvents(Protocol):
    """Actions of a client that affect the hub."""

    def admit(self, client: "Client") -> str | None:
        """Admit a client after its handshake. If the client is refused, return the reason."""

    def leave(self, client: "Client") -> None:
        """Record that a client has disconnected."""

    def pause(self, client: "Client", is_wanted: bool) -> None:
        """Record that a client has paused or resumed."""

    def kill(self, client: "Client") -> None:
        """Record that a client has asked to end the simulation."""


class Client(threading.Thread):
    """Thread that serves a client until the client disconnects or sends an invalid message, or the channel ends.

    The thread copies frames from the ring into a buffer as soon as they are published. Therefore, a slow client does
    not block the producer. If the buffer is full, the oldest frames are dropped. If the channel has staging, however,
    no frames are dropped, because the thread can read them from there later.

    Attributes
    ----------
    name, host : str
        Address of the client, with and without port.
    n_sent : int
        Number of frames sent.
    n_lost : int
        Number of frames dropped because the client was too slow.
    is_paused : bool
        Whether the client has paused.
    why : str or None
        Reason why the connection ended, or None while the client is being served.
    """

    def __init__(
        self,
        connection: socket.socket,
        path: Path,
        options: ClientOptions,
        access: HubAccess,
        requests: ClientEvents,
        rejects: RejectionReporter,
    ) -> None:
        peer = connection.getpeername()
        super().__init__(name=str(Address(peer[0], peer[1])), daemon=True)
        self.host: str = peer[0]
        self.n_sent = self.n_lost = 0
        self.is_paused = False
        self.why: str | None = None
        self._connection = connection
        self._path = path
        self._options = options
        self._access = access
        self._requests = requests
        self._rejects = rejects
        self._report = rejects.report
        self._was_admitted = False
        self._why_dropped = "the hub has closed"
        self._stops = threading.Event()
        self._status = Status.read(path)
        self._packer = Packer(self._status.manifest, options.version)
        self._has_staging = (path / "staging").exists()
        self._received = bytearray()
        self._n_to_skip = 0
        # Encoded frames that are still to be sent.
        self._waiting: deque[bytes] = deque()
        self._n_waiting_bytes = 0
        self._sending: memoryview | None = None
        self._expected: int | None = None
        self._consumer: Consumer | None = None
        self._is_at_end = False
        self._rate = 0
        self._last_step: int | None = None

    def stop(self) -> None:
        """Ask the thread to end."""
        self._stops.set()

    def drop(self, why: str) -> None:
        """Ask the thread to end, and give a reason."""
        self._why_dropped = why
        self._stops.set()

    def run(self) -> None:
        """Serve the client."""
        try:
            why = self._serve()
        except Exception as error:  # noqa: BLE001 - an error of one client must not affect the others
            why = str(error) or type(error).__name__
        finally:
            with suppress(Exception):
                self._leave_channel()
            with suppress(OSError):
                self._connection.close()
        self.why = why
        self._requests.pause(self, False)
        if self._was_admitted:
            lost = f", {self.n_lost:,} lost" if self.n_lost else ""
            self._report(f"{self.name}: {why}: {self.n_sent:,} frames sent{lost}")
        else:
            self._rejects.reject(f"{self.name}: {why}")
        self._requests.leave(self)

    def _serve(self) -> str:
        """Serve the client. Return the reason why the connection ended."""
        refusal = self._refusal()
        if refusal is not None:
            return f"refused: {refusal}"
        self._was_admitted = True
        self._report(f"{self.name}: joined")
        self._join_channel(self._options.start)
        why = self._execute_all()  # process messages that followed the handshake
        if why is not None:
            return why
        until = None
        is_over = False
        while not self._stops.is_set():
            if not is_over and self._is_at_end and not self._waiting and self._sending is None:
                is_over = True
                # Keep reading: closing the connection now could discard data that is still in transit.
                self._connection.shutdown(socket.SHUT_WR)
            if self._is_at_end and until is None:
                until = monotonic() + self._options.patience
            if until is not None and monotonic() >= until:
                return "the channel has ended" if is_over else "too slow at the end of the channel"
            why = self._step(is_over)
            if why is not None:
                return "the channel has ended" if is_over else why
        return "the hub has closed"

    def _refusal(self) -> str | None:
        """Send and complete the handshake. If the client is refused, return the reason."""
        refusal = self._access.refusal(self._connection)
        if refusal is not None:
            return refusal
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection.settimeout(GO_SECONDS)
        self._connection.sendall(pack_handshake(self._packer.session))
        self._connection.setblocking(False)
        if self._is_admitted():
            return self._requests.admit(self)
        if self._stops.is_set():
            return self._why_dropped
        return "no token" if self._access.wants_token else "it has not requested frames"

    def _step(self, is_over: bool) -> str | None:
        """Take frames, receive and send data without blocking. Return the reason to end the connection, if any."""
        wants_to_send = not self.is_paused and (self._sending is not None or bool(self._waiting))
        is_taking = self._consumer is not None and not self._is_at_end
        if is_taking:
            self._take(0.0 if wants_to_send else _POLL_SECONDS)
            wants_to_send = not self.is_paused and (self._sending is not None or bool(self._waiting))
        elif not self._is_at_end and self._n_waiting_bytes < self._options.memory // 2:
            assert self._expected is not None, "it was left because there were too many frames"
            self._join_channel(("sequence", self._expected))
        poll = select.poll()
        poll.register(self._connection, select.POLLIN | (select.POLLOUT if wants_to_send else 0))
        waits = wants_to_send or not is_taking or is_over
        for _, event in poll.poll(1000 * _POLL_SECONDS if waits else 0):
            if event & (select.POLLIN | select.POLLHUP | select.POLLERR):
                why = self._listen()
                if why is not None:
                    return why
            if event & select.POLLOUT and not self.is_paused:
                self._send()
        return None

    def _join_channel(self, start: Start) -> None:
        self._consumer = Consumer(self._path, start=start, restart=self._options.restart, on_late="ignore").open()

    def _leave_channel(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _take(self, timeout: float) -> None:
        """Copy available frames from the ring, so that their slots become free."""
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
        """Enforce the limit of the buffer. Return False if later frames have to be read from staging."""
        while self._n_waiting_bytes > self._options.memory and len(self._waiting) > 1:
            if self._has_staging:
                self._leave_channel()
                return False
            self._n_waiting_bytes -= len(self._waiting.popleft())
            self.n_lost += 1
        return True

    def _send(self) -> None:
        """Send as much as the socket accepts."""
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
        """Receive data from the client. Return the reason to end the connection, if any."""
        try:
            said = self._connection.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return None
        if not said:
            return "left"
        self._received += said
        return self._execute_all()

    def _execute_all(self) -> str | None:
        """Process complete messages. Return the reason to end the connection, if any."""
        while True:
            skipped = min(self._n_to_skip, len(self._received))
            del self._received[:skipped]
            self._n_to_skip -= skipped
            if self._n_to_skip or len(self._received) < HEADER.size:
                return None
            kind, value = HEADER.unpack(self._received[: HEADER.size])
            del self._received[: HEADER.size]
            if (why := self._execute(kind, value)) is not None:
                return why

    def _execute(self, kind: int, value: int) -> str | None:
        """Process a message. Return the reason to end the connection, if any."""
        match kind:
            case Kind.DISCONNECT:
                return "left"
            case Kind.KILL:
                self._requests.kill(self)
                return "left and asked for the end of the simulation"
            case Kind.PAUSE:
                self._pause(not self.is_paused or self._options.version > 2)
            case Kind.RESUME:
                self._pause(False)
            case Kind.RATE:
                self._rate = max(value, 0)
            case Kind.FORCES_TO_APPLY:
                # Forces are not forwarded, because the engine is shared with other clients.
                if not 0 <= value <= self._status.manifest.n_atoms:
                    raise FormatError(f"forces on {value:,} of {self._status.manifest.n_atoms:,} atoms")
                self._n_to_skip = 16 * value
            case Kind.GO | Kind.WAIT:
                pass
            case _:
                raise FormatError(f"a message of kind {kind}, which IMD clients do not send")
        return None

    def _pause(self, is_wanted: bool) -> None:
        self.is_paused = is_wanted
        self._requests.pause(self, is_wanted)

    def _is_admitted(self) -> bool:
        """Wait for the token, if one is required, and for the request to send frames."""
        until = self._options.clock() + GO_SECONDS
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        has_shown = not self._access.wants_token
        while self._options.clock() < until and not self._stops.is_set():
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
            if not poll.poll(1000 * _POLL_SECONDS):
                continue
            said = self._connection.recv(_MOST_TOKEN)
            if not said:
                return False
            self._received += said
        return False
