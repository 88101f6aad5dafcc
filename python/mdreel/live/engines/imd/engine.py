"""Connection to an IMD engine, and the frames that it sends."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import FormatError, MismatchError, StreamError, StreamTimeoutError, UnsupportedError
from mdreel.live.engines.imd.access import token_line
from mdreel.live.engines.imd.address import Address
from mdreel.live.engines.imd.messages import (
    HEADER,
    PER_ATOM_KINDS,
    Kind,
    Session,
    Unpacker,
    header,
    parse_handshake,
    parse_session,
)

_CONNECT_SECONDS = 5.0
_AGAIN_SECONDS = 0.1
_GREETING_SECONDS = 30.0
_KEEP_ALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
"""TCP keep-alive settings. With these settings, a failure of the engine's machine is detected after a minute."""


@dataclass
class EngineFrame:
    """Frame in the units of the engine. Its arrays are overwritten by the next frame.

    Attributes
    ----------
    positions : ndarray, shape (n_atoms, 3), float32
        Positions, in Å.
    step : int or None
        Step of the simulation.
    time : float or None
        Time, in ps.
    time_step : float or None
        Time between two steps, in ps.
    box : ndarray, shape (3, 3), float64, or None
        Row vectors of the cell, in Å.
    velocities, forces : ndarray, shape (n_atoms, 3), float32, or None
        Velocities in Å/ps, and forces in kJ/(mol Å).
    energies : ndarray, shape (9,), float64, or None
        Energies in the units of the engine, in the same order as `messages.ENERGIES`.
    """

    positions: NDArray[Any]
    step: int | None = None
    time: float | None = None
    time_step: float | None = None
    box: NDArray[np.float64] | None = None
    velocities: NDArray[Any] | None = None
    forces: NDArray[Any] | None = None
    energies: NDArray[np.float64] | None = None


class EngineLink:
    """Connection to an engine. The engine accepts a single client.

    Parameters
    ----------
    address : Address
        Address at which the engine listens.
    most_bytes : int
        Maximum size of a frame, in bytes. It is checked before memory is allocated.
    n_atoms : int, optional
        Expected number of atoms.
    token : str, optional
        Token that is sent first if the engine is another hub.

    Attributes
    ----------
    session : Session
        Session information from the engine, which is set by `open`.
    n_frames : int
        Number of complete frames received.
    has_disconnected : bool
        Whether the engine has sent a disconnect message.
    """

    session: Session

    def __init__(self, address: Address, most_bytes: int, n_atoms: int | None = None, token: str | None = None) -> None:
        self._address = address
        self._most_bytes = most_bytes
        self._n_atoms = n_atoms
        self._token = token
        self._socket: socket.socket | None = None
        self._sending = threading.Lock()
        self._is_paused = False
        self._arrays: dict[Kind, NDArray[Any]] = {}
        self.n_frames = 0
        self.has_disconnected = False

    def open(self, wait: float, stops: threading.Event) -> Self:
        """Connect and complete the handshake within `wait` s, unless `stops` is set. Then call `go` to request frames.

        Raises
        ------
        StreamTimeoutError
            If the engine does not accept the connection in time, or does not send a handshake.
        FormatError, UnsupportedError
            If the engine does not use IMD version 2 or 3, or does not send positions.
        """
        self._socket = connected = self._connect(wait, stops)
        connected.settimeout(_GREETING_SECONDS)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEP_ALIVE:
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        try:
            version, byte_order = parse_handshake(self._read(HEADER.size), str(self._address))
            if version == 2:
                self.session = Session(2, byte_order)
            else:
                n_bytes = self._expect(Kind.SESSION)
                if n_bytes != 7:
                    raise FormatError(f"{self._address}: expected session information of 7 bytes, got {n_bytes}")
                self.session = parse_session(self._read(n_bytes), byte_order)
        except TimeoutError as error:
            reason = "it already has a client, or it is not an IMD engine"
            message = f"no handshake within {_GREETING_SECONDS:g} s; {reason}"
            raise StreamTimeoutError(f"{self._address}: {message}") from error
        if not self.session.positions:
            raise UnsupportedError(f"{self._address}: the engine sends no positions; configure it to send coordinates")
        self._unpacker = Unpacker(self.session.byte_order)
        return self

    def go(self, rate: int | None = None) -> None:
        """Request frames. If `rate` is given, request a frame every `rate` steps."""
        assert self._socket is not None, "it was opened"
        self._socket.settimeout(None)
        said = b"" if self._token is None else token_line(self._token)
        self._send(said + header(Kind.GO) + (b"" if rate is None else header(Kind.RATE, rate)))

    def pause(self, is_wanted: bool) -> None:
        """Pause or resume the engine."""
        with self._sending:
            if is_wanted is self._is_paused:
                return
            self._is_paused = is_wanted
        # In version 2, a second pause message resumes the engine.
        self._send(header(Kind.PAUSE if is_wanted or self.session.version == 2 else Kind.RESUME))

    def kill(self) -> None:
        """Ask the engine to end the simulation."""
        self._send(header(Kind.KILL))

    def leave(self) -> None:
        """Disconnect. If a thread is waiting for a frame, its connection ends."""
        if self._socket is not None:
            with suppress(OSError, StreamError):
                self._send(header(Kind.DISCONNECT))
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Disconnect and close the socket. Make sure that no thread is reading from the socket."""
        self.leave()
        if self._socket is not None:
            self._socket.close()

    def frames(self) -> Iterator[EngineFrame]:
        """Yield frames as they arrive, until the connection ends between two frames.

        Raises
        ------
        StreamError
            If the connection is lost, or if it ends within a frame.
        FormatError
            If a message is invalid.
        MismatchError
            If the number of atoms is wrong, or if a frame is too large.
        """
        read = self._next_version_2 if self.session.version == 2 else self._next_version_3
        while (frame := read()) is not None:
            self.n_frames += 1
            yield frame

    def _next_version_3(self) -> EngineFrame | None:
        session, unpacker = self.session, self._unpacker
        expected = [
            kind
            for kind, is_there in (
                (Kind.TIME, session.time),
                (Kind.ENERGIES, session.energies),
                (Kind.BOX, session.box),
                (Kind.POSITIONS, True),
                (Kind.VELOCITIES, session.velocities),
                (Kind.FORCES, session.forces),
            )
            if is_there
        ]
        first = self._header_between_frames()
        if first is None:
            return None
        frame = EngineFrame(self._empty)
        for at, kind in enumerate(expected):
            n = self._check_kind(kind, *first) if at == 0 else self._expect(kind)
            match kind:
                case Kind.TIME:
                    frame.time_step, frame.time, frame.step = unpacker.time(self._block(kind, n))
                case Kind.ENERGIES:
                    step, frame.energies = unpacker.energies(self._block(kind, n))
                    frame.step = step if frame.step is None else frame.step
                case Kind.BOX:
                    frame.box = unpacker.box(self._block(kind, n))
                case Kind.POSITIONS:
                    frame.positions = self._read_atoms(kind, n)
                case Kind.VELOCITIES:
                    frame.velocities = self._read_atoms(kind, n)
                case _:
                    frame.forces = self._read_atoms(kind, n)
        return frame

    def _next_version_2(self) -> EngineFrame | None:
        """Read up to the next positions. Energies can precede or follow the positions, or be absent."""
        frame = EngineFrame(self._empty)
        while (found := self._header_between_frames()) is not None:
            kind, n = found
            if kind == Kind.POSITIONS:
                frame.positions = self._read_atoms(Kind.POSITIONS, n)
                return frame
            if kind != Kind.ENERGIES:
                raise self._unexpected("energies or positions", kind, n)
            frame.step, frame.energies = self._unpacker.energies(self._block(Kind.ENERGIES, n))
        return None  # energies alone are not a frame; some engines send them at other steps

    @property
    def _empty(self) -> NDArray[Any]:
        return np.empty((0, 3), np.float32)

    def _header_between_frames(self) -> tuple[int, int] | None:
        """Read a header. Return None if the connection has ended."""
        said = self._read(HEADER.size, may_end=True)
        if not said:
            return None
        kind, value = HEADER.unpack(said)
        if kind == Kind.DISCONNECT:
            self.has_disconnected = True
            return None
        return kind, value

    def _expect(self, kind: Kind) -> int:
        return self._check_kind(kind, *HEADER.unpack(self._read(HEADER.size)))

    def _check_kind(self, kind: Kind, found: int, value: int) -> int:
        if found != kind:
            raise self._unexpected(kind.name.lower(), found, value)
        return value

    def _block(self, kind: Kind, n: int) -> bytes:
        if n != 1:
            raise FormatError(f"{self._where}: expected 1 block of {kind.name.lower()}, got {n}")
        return self._read(self._unpacker.n_bytes[kind])

    def _read_atoms(self, kind: Kind, n_atoms: int) -> NDArray[Any]:
        """Read three numbers per atom, after checking the number of atoms."""
        if self._n_atoms is None:
            n_kinds = sum(getattr(self.session, name) for name in PER_ATOM_KINDS)
            if n_atoms < 1:
                raise FormatError(f"{self._where}: expected 1 atom or more, got {n_atoms}")
            if 12 * n_atoms * n_kinds > self._most_bytes:
                message = f"a frame of {n_atoms:,} atoms would take more than {self._most_bytes:,} bytes"
                raise MismatchError(f"{self._where}: {message}; increase the memory limit if the number is correct")
            self._n_atoms = n_atoms
        if n_atoms != self._n_atoms:
            message = f"expected {kind.name.lower()} of {self._n_atoms:,} atoms, got {n_atoms:,}"
            raise MismatchError(f"{self._where}: {message}")
        if kind not in self._arrays:
            self._arrays[kind] = self._unpacker.empty_array(n_atoms)
        array = self._arrays[kind]
        self._read_into(array.reshape(-1).view(np.uint8).data)
        return array

    def _read(self, n_bytes: int, *, may_end: bool = False) -> bytes:
        """Read a number of bytes. Return no bytes if the connection ends and `may_end` is true."""
        content = bytearray(n_bytes)
        return bytes(content) if self._read_into(memoryview(content), may_end=may_end) else b""

    def _read_into(self, content: memoryview, *, may_end: bool = False) -> bool:
        assert self._socket is not None, "it was opened"
        n_read = 0
        while n_read < len(content):
            try:
                n = self._socket.recv_into(content[n_read:])
            except OSError as error:
                if isinstance(error, TimeoutError) and self._socket.gettimeout() is not None:
                    raise
                raise self._lost(f"the connection was lost: {error.strerror}") from error
            if n == 0:
                if may_end and n_read == 0:
                    return False
                raise self._lost("the connection ended within a message or a frame")
            n_read += n
        return True

    def _send(self, said: bytes) -> None:
        assert self._socket is not None, "it was opened"
        try:
            with self._sending:
                self._socket.sendall(said)
        except OSError as error:
            raise self._lost(f"the connection was lost: {error.strerror}") from error

    def _connect(self, wait: float, stops: threading.Event) -> socket.socket:
        until = monotonic() + wait
        while True:
            try:
                return socket.create_connection(self._address, timeout=_CONNECT_SECONDS)
            except OSError as error:
                if monotonic() >= until or stops.is_set():
                    message = f"no answer from the engine within {wait:g} s: {error.strerror or error}"
                    advice = "start the engine, check its address, or wait longer (wait=, --wait)"
                    raise StreamTimeoutError(f"{self._address}: {message}; {advice}") from error
            stops.wait(_AGAIN_SECONDS)

    @property
    def _where(self) -> str:
        return f"{self._address}, frame {self.n_frames}"

    def _unexpected(self, expected: str, kind: int, value: int) -> FormatError:
        return FormatError(f"{self._where}: expected {expected}, got a message of kind {kind} and length {value}")

    def _lost(self, why: str) -> StreamError:
        return StreamError(f"{self._where}: {why}")
