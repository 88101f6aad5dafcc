"""Messages of IMD versions 2 and 3.

Notes
-----
Version 3 is specified at https://imdclient.readthedocs.io/en/latest/protocol_v3.html. Version 2 is defined only by its
first implementation in VMD and NAMD (https://www.ks.uiuc.edu/Research/vmd/imd/). Its messages are the same as those of
version 3 up to number 9. Headers are big-endian, whereas message bodies have the byte order of the engine, which can be
inferred from its handshake.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import FormatError, UnsupportedError
from mdreel.live.channels.frame import Frame
from mdreel.live.channels.manifest import Manifest

VERSIONS = (2, 3)
HEADER = struct.Struct(">ii")
_TIME = "ddq"
_ENERGIES = "i9f"
_SWITCHES = 7
_LARGEST_STEP = 2**31 - 1

ENERGIES = (
    "temperature",
    "total",
    "potential",
    "van_der_waals",
    "coulomb",
    "bonds",
    "angles",
    "dihedrals",
    "impropers",
)
"""Energies in a message, in this order. The temperature is in K."""

KILOJOULES_PER_KILOCALORIE = 4.184
"""Factor that converts energies from version 2 (kcal/mol) to version 3 and channels (kJ/mol)."""


class Kind(IntEnum):
    """Type of a message."""

    DISCONNECT = 0
    ENERGIES = 1
    POSITIONS = 2
    GO = 3
    HANDSHAKE = 4
    KILL = 5
    FORCES_TO_APPLY = 6
    PAUSE = 7
    RATE = 8
    ERROR = 9
    SESSION = 10
    RESUME = 11
    TIME = 12
    BOX = 13
    VELOCITIES = 14
    FORCES = 15
    WAIT = 16


PER_ATOM_KINDS = {"positions": Kind.POSITIONS, "velocities": Kind.VELOCITIES, "forces": Kind.FORCES}


@dataclass(frozen=True)
class Session:
    """Contents of the frames that are sent through a connection.

    Attributes
    ----------
    version : {2, 3}
        Version of the protocol.
    byte_order : {"<", ">"}
        Byte order of message bodies.
    time, energies, box, positions, wrapped, velocities, forces : bool
        Whether frames contain each of these quantities. ``wrapped`` means that positions are wrapped into the cell.
        Frames of version 2 always contain positions, and can contain energies.
    """

    version: int
    byte_order: str
    time: bool = False
    energies: bool = False
    box: bool = False
    positions: bool = True
    wrapped: bool = False
    velocities: bool = False
    forces: bool = False


def header(kind: Kind, value: int = 0) -> bytes:
    """Return a message without a body."""
    return HEADER.pack(kind, value)


def pack_handshake(session: Session) -> bytes:
    """Return the handshake that a sender of frames uses."""
    version = struct.pack(f"{session.byte_order}i", session.version)
    said = HEADER.pack(Kind.HANDSHAKE, 0)[:4] + version
    if session.version == 2:
        return said
    has = (session.time, session.energies, session.box, session.positions, session.wrapped)
    return said + header(Kind.SESSION, _SWITCHES) + bytes([*has, session.velocities, session.forces])


def parse_handshake(handshake: bytes, where: str) -> tuple[int, str]:
    """Return the version and the byte order of a handshake.

    Raises
    ------
    FormatError
        If the message is not a handshake.
    UnsupportedError
        If the version is not supported.
    """
    kind, _ = HEADER.unpack(handshake)
    if kind != Kind.HANDSHAKE:
        raise FormatError(f"{where}: expected the handshake of IMD, got {handshake.hex(' ')}")
    said = {order: struct.unpack(f"{order}i", handshake[4:])[0] for order in "<>"}
    for order, version in said.items():
        if version in VERSIONS:
            return version, order
    raise UnsupportedError(f"{where}: expected version 2 or 3 of IMD, got {min(said.values(), key=abs)}")


def parse_session(switches: bytes, byte_order: str) -> Session:
    """Parse the session message of version 3."""
    time, energies, box, positions, wrapped, velocities, forces = (switch != 0 for switch in switches)
    return Session(3, byte_order, time, energies, box, positions, wrapped, velocities, forces)


class Unpacker:
    """Decoder of message bodies.

    Parameters
    ----------
    byte_order : {"<", ">"}
        Byte order of the engine.
    """

    def __init__(self, byte_order: str) -> None:
        self._time = struct.Struct(byte_order + _TIME)
        self._energies = struct.Struct(byte_order + _ENERGIES)
        self._real = np.dtype(f"{byte_order}f4")
        self.n_bytes = {Kind.TIME: self._time.size, Kind.ENERGIES: self._energies.size, Kind.BOX: 36}

    def time(self, body: bytes) -> tuple[float, float, int]:
        """Return the time between two steps (in ps), the time (in ps) and the step."""
        step_time, time, step = self._time.unpack(body)
        return step_time, time, step

    def energies(self, body: bytes) -> tuple[int, NDArray[np.float64]]:
        """Return the step, and the energies in the same order as `ENERGIES`."""
        step, *values = self._energies.unpack(body)
        return step, np.array(values)

    def box(self, body: bytes) -> NDArray[np.float64] | None:
        """Return the row vectors of the cell, in Å, or None if all vectors are zero because there is no cell."""
        box = np.frombuffer(body, self._real).reshape(3, 3).astype(np.float64)
        return box if box.any() else None

    def empty_array(self, n_atoms: int) -> NDArray[Any]:
        """Return an uninitialized array of shape (n_atoms, 3)."""
        return np.empty((n_atoms, 3), self._real)


class Packer:
    """Encoder of the frames of a channel.

    Parameters
    ----------
    manifest : Manifest
        Manifest of the channel.
    version : {2, 3}
        Version of the protocol.
    """

    def __init__(self, manifest: Manifest, version: int) -> None:
        has = {name for name, _ in manifest.sections}
        known = [name for name in ENERGIES if name in manifest.energies]
        if version == 2:
            self.session = Session(2, "<", energies=True)
        else:
            velocities, forces = "velocities" in has, "forces" in has
            self.session = Session(3, "<", True, bool(known), True, velocities=velocities, forces=forces)
        self._manifest = manifest
        self._places = [(ENERGIES.index(name), manifest.energies.index(name)) for name in known]

    def frame(self, frame: Frame) -> bytes:
        """Return the messages for a frame. A missing cell is sent as zeros, and other missing numbers as NaN."""
        session, manifest = self.session, self._manifest
        parts: list[bytes] = []
        if session.time:
            parts += header(Kind.TIME, 1), struct.pack(f"<{_TIME}", manifest.time_step, frame.time, frame.step)
        if session.energies:
            step = max(-_LARGEST_STEP, min(frame.step, _LARGEST_STEP))
            parts += header(Kind.ENERGIES, 1), struct.pack(f"<{_ENERGIES}", step, *self._energies(frame.energies))
        if session.box:
            box = np.zeros((3, 3)) if frame.box is None else frame.box
            parts += header(Kind.BOX, 1), box.astype("<f4").tobytes()
        for name, kind in PER_ATOM_KINDS.items():
            if getattr(session, name):
                parts += header(kind, manifest.n_atoms), self._pack_atoms(getattr(frame, name))
        return b"".join(parts)

    def _pack_atoms(self, values: NDArray[Any] | None) -> bytes:
        if values is None:
            values = np.full((self._manifest.n_atoms, 3), np.nan, np.float32)
        return np.ascontiguousarray(values, "<f4").tobytes()

    def _energies(self, values: NDArray[Any] | None) -> Sequence[float]:
        energies = np.full(len(ENERGIES), np.nan, np.float32)
        if values is not None:
            for place, at in self._places:
                energies[place] = values[at]
        if self.session.version == 2:
            energies[1:] /= KILOJOULES_PER_KILOCALORIE
        return energies.tolist()
