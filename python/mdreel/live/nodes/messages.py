"""Validated messages between servers and relays.

Every message starts with a header of 16 bytes, which contains ``MDRN``, the version, the kind, two zero bytes and the
session. All numbers are little-endian. The session is a random number that a relay chooses when it joins. Messages from
other sessions are ignored.
"""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from mdreel.errors import FormatError
from mdreel.foundation.untrusted_input import number, object_of, shown, text, whole
from mdreel.live.channels.manifest import Manifest

VERSION = 1
KEY = f"mdreel/{VERSION}"
"""Prefix of all Zenoh keys."""
CHUNK_BYTES = 1 << 20
"""Maximum size of a chunk, in bytes. Zenoh is slow if messages have tens of megabytes."""
LEAST_CHUNK_BYTES = 1 << 16
"""Minimum size of a chunk, in bytes, except for the last chunk of a frame."""
MOST_EPOCHS = 64
ABSENT = "absent"
"""First word of the error that a server sends if the channel does not exist yet."""
REFUSED = "refused"
"""First word of the error that a server sends if it refuses a relay. Zenoh itself sends other errors."""

_MAGIC = b"MDRN"
_HEAD = struct.Struct("<4sBBHQ")
_MOST_REASON = 1024
MOST_RELAY_BYTES = 64 << 10
"""Maximum size of a message or query from a relay, in bytes."""
_MOST_ATOMS = 1 << 40
_MOST_NAME = 256
_WORD = 1 << 64
_STEP = 1 << 63
STATES = ("running", "lost")
ENDS = ("finished", "stopped", "failed")


@dataclass(frozen=True)
class Chunk:
    """Part of a frame, with the number of the frame in the session, offset and total size in bytes, and content."""

    ordinal: int
    offset: int
    total: int
    content: memoryview


@dataclass(frozen=True)
class Epoch:
    """Epoch of the following frames, its first step, and the number of frames that are missing before the next one.

    The frames that are missing follow the last frame that was sent in the session, or the number that the relay has
    requested.
    """

    epoch: int
    resume_step: int
    n_missed: int


@dataclass(frozen=True)
class Heartbeat:
    """Message with the number of frames sent in the session, and the state of the simulation."""

    n_sent: int
    state: str


@dataclass(frozen=True)
class End:
    """End of the channel, with the number of frames sent in the session, the kind of end, and the reason."""

    n_sent: int
    how: str
    reason: str


@dataclass(frozen=True)
class Fault:
    """Error from a server that cannot read the channel."""

    reason: str


@dataclass(frozen=True)
class Credit:
    """Message from a relay with the number of frames taken in the session, and the number that the server can send."""

    n_taken: int
    n_wanted: int


@dataclass(frozen=True)
class Leave:
    """Message from a relay that is leaving."""


Message: TypeAlias = Chunk | Epoch | Heartbeat | End | Fault | Credit | Leave

_KINDS: tuple[type[Message], ...] = (Chunk, Epoch, Heartbeat, End, Fault, Credit, Leave)
_CHUNK = struct.Struct("<QQQ")
_EPOCH = struct.Struct("<QqQ")
_BEAT = struct.Struct("<QB")
_PAIR = struct.Struct("<QQ")


def encode(session: int, message: Message) -> bytes:
    """Return the bytes of a message."""
    return b"".join((_HEAD.pack(_MAGIC, VERSION, _KINDS.index(type(message)), 0, session), *_parts(message)))


def _parts(message: Message) -> tuple[bytes | memoryview, ...]:
    match message:
        case Chunk(ordinal, offset, total, content):
            parts: tuple[bytes | memoryview, ...] = (_CHUNK.pack(ordinal, offset, total), content)
        case Epoch(epoch, resume_step, n_missed):
            parts = (_EPOCH.pack(epoch, resume_step, n_missed),)
        case Heartbeat(n_sent, state):
            parts = (_BEAT.pack(n_sent, STATES.index(state)),)
        case End(n_sent, how, reason):
            parts = (_BEAT.pack(n_sent, ENDS.index(how)), _encode_decode_reason(reason))
        case Fault(reason):
            parts = (_encode_decode_reason(reason),)
        case Credit(n_taken, n_wanted):
            parts = (_PAIR.pack(n_taken, n_wanted),)
        case Leave():
            parts = ()
    return parts


def decode(received: bytes) -> tuple[int, Message]:
    """Return a message and its session. Raise FormatError if the message is invalid."""
    if len(received) < _HEAD.size:
        raise FormatError(f"expected a message of {_HEAD.size} bytes or more, got {len(received)}")
    magic, version, kind, zero, session = _HEAD.unpack_from(received)
    if magic != _MAGIC or version != VERSION or zero != 0:
        raise FormatError(f"expected a message of version {VERSION}, got {received[:8]!r}")
    if kind >= len(_KINDS):
        raise FormatError(f"unknown kind of message {kind}")
    body = memoryview(received)[_HEAD.size :]
    try:
        return session, _body(_KINDS[kind], body)
    except (struct.error, IndexError, ValueError) as error:
        raise FormatError(f"a message of kind {_KINDS[kind].__name__} and {len(body)} bytes: {error}") from error


def _body(kind: type[Message], body: memoryview) -> Message:
    message = _READERS[kind](body)
    if isinstance(message, Epoch) and message.epoch >= MOST_EPOCHS:
        raise ValueError(f"epoch {message.epoch}")
    if isinstance(message, Credit) and message.n_taken > message.n_wanted:
        raise ValueError(f"{message.n_taken} frames taken of {message.n_wanted}")
    return message


def _chunk(body: memoryview) -> Chunk:
    ordinal, offset, total = _CHUNK.unpack_from(body)
    content = body[_CHUNK.size :]
    if not 0 < len(content) <= CHUNK_BYTES or offset + len(content) > total:
        raise ValueError(f"{len(content)} bytes from byte {offset} on of {total}")
    return Chunk(ordinal, offset, total, content)


def _beat(body: memoryview) -> Heartbeat:
    n_sent, state = _BEAT.unpack(body)
    return Heartbeat(n_sent, STATES[state])


def _end(body: memoryview) -> End:
    n_sent, how = _BEAT.unpack_from(body)
    return End(n_sent, ENDS[how], _decode_reason(body[_BEAT.size :]))


def _bye(body: memoryview) -> Leave:
    if len(body):
        raise ValueError("expected nothing")
    return Leave()


def _encode_decode_reason(reason: str) -> bytes:
    return reason.encode(errors="replace")[:_MOST_REASON]


def _decode_reason(text: memoryview) -> str:
    if len(text) > _MOST_REASON:
        raise ValueError("a reason of too many bytes")
    return bytes(text).decode("utf-8", "replace")


_READERS: dict[type[Message], Callable[[memoryview], Message]] = {
    Chunk: _chunk,
    Epoch: lambda body: Epoch(*_EPOCH.unpack(body)),
    Heartbeat: _beat,
    End: _end,
    Fault: lambda body: Fault(_decode_reason(body)),
    Credit: lambda body: Credit(*_PAIR.unpack(body)),
    Leave: _bye,
}


@dataclass(frozen=True)
class Join:
    """Query from a relay that joins, with its ID, host and session, and the first frame to send."""

    relay: str
    host: str
    session: int
    start: tuple[str, float | None]

    def encode(self) -> bytes:
        """Encode as JSON."""
        return json.dumps({"version": VERSION, **vars(self)}).encode()

    @classmethod
    def decode(cls, received: bytes) -> "Join":
        """Parse a query. Raise FormatError if the query is invalid."""
        said = _parse_object(received)
        relay, host, session = (text(said, "relay"), text(said, "host"), whole(said, "session", end=_WORD))
        if not relay.isalnum() or not relay.isascii() or len(relay) > 32:
            raise FormatError(f"expected an ID of up to 32 letters and digits for a relay, got {relay!r}")
        return cls(relay, host, session, _start(said.get("start")))


def _start(said: object) -> tuple[str, float | None]:
    """Parse the first frame that a relay requests."""
    match said:
        case ["earliest" | "latest" as word, None]:
            return word, None
        case ["sequence" | "step" | "time", bool()]:  # a bool is an int in Python
            pass
        case ["sequence" as word, int(number)] if 0 <= number < _WORD:
            return word, number
        case ["step" as word, int(number)] if -_STEP <= number < _STEP:
            return word, number
        case ["time" as word, int(number) | float(number)]:  # all received numbers are finite
            return word, float(number)
    raise FormatError(f"invalid first frame {shown(said)}")


@dataclass(frozen=True)
class ChannelDescription:
    """Description of a channel, as sent by its server: identity, number and size of slots, and manifest.

    It also names the process of the server, so that a relay can tell its consumers which process is silent. The name is
    empty if the server is too old to send it.
    """

    identity: str
    n_slots: int
    slot_bytes: int
    manifest: Manifest
    server: str = ""

    def encode(self) -> bytes:
        """Encode as JSON."""
        manifest = {**vars(self.manifest), "topology_hash": self.manifest.topology_hash.hex()}
        return json.dumps({"version": VERSION, **vars(self), "manifest": manifest}).encode()

    @classmethod
    def decode(cls, received: bytes) -> "ChannelDescription":
        """Parse a description. Raise FormatError if the description is invalid."""
        said = _parse_object(received)
        manifest = said.get("manifest")
        if not isinstance(manifest, dict):
            raise FormatError("expected a manifest")
        n_slots, slot_bytes = whole(said, "n_slots", end=1 << 32), whole(said, "slot_bytes", end=1 << 40)
        server = text(said, "server", least=0) if "server" in said else ""
        return cls(text(said, "identity"), n_slots, slot_bytes, _manifest(manifest), server)


def _manifest(said: dict[str, Any]) -> Manifest:
    hash_text = text(said, "topology_hash")
    try:
        topology_hash = bytes.fromhex(hash_text)
    except ValueError as error:
        raise FormatError(f"invalid topology hash: {error}") from None
    if len(topology_hash) != 32:
        raise FormatError(f"expected a manifest with a topology hash of 32 bytes, got {len(topology_hash)}")
    names = said.get("energies")
    if not isinstance(names, list) or not all(isinstance(name, str) and len(name) <= _MOST_NAME for name in names):
        raise FormatError(f"expected names of energies of at most {_MOST_NAME} characters")
    return Manifest(
        n_atoms=whole(said, "n_atoms", end=_MOST_ATOMS),
        stream=whole(said, "stream", end=_WORD),
        sections=_pairs(said, "sections"),
        energies=tuple(names),
        time_step=number(said, "time_step"),
        stride=whole(said, "stride", end=_WORD),
        topology_hash=topology_hash,
        units=_pairs(said, "units"),
    )


def _parse_object(received: bytes) -> dict[str, Any]:
    said = object_of(received, MOST_RELAY_BYTES)
    if whole(said, "version") != VERSION:
        raise FormatError(f"expected version {VERSION}, got {said['version']}")
    return said


def _pairs(said: dict[str, Any], name: str) -> tuple[tuple[str, str], ...]:
    found = said.get(name)
    if not isinstance(found, list) or len(found) > 64:
        raise FormatError(f"expected pairs for {name}")
    for pair in found:
        is_pair = isinstance(pair, list) and len(pair) == 2
        if not is_pair or not all(isinstance(word, str) and len(word) <= _MOST_NAME for word in pair):
            raise FormatError(f"expected pairs of texts for {name}")
    return tuple((first, second) for first, second in found)
