"""The decoders of what other processes send and write: each with what it reads, and with what it may refuse that.

A new decoder is added here, with valid messages, of which the tests of properties make damaged ones.
"""

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from mdreel._core import channel_frame_identity
from mdreel.errors import FormatError, MismatchError, StreamError, UnsupportedError
from mdreel.foundation.untrusted_input import content_of, object_of
from mdreel.live.archives.commit_record import CommitRecord
from mdreel.live.channels.manifest import Manifest
from mdreel.live.channels.rejections import RejectionReporter
from mdreel.live.channels.requests import FOLDER, Requests, read_answer
from mdreel.live.engines.imd.access import HubAccess
from mdreel.live.engines.imd.address import Address
from mdreel.live.engines.imd.client import Client, ClientOptions
from mdreel.live.engines.imd.engine import EngineLink
from mdreel.live.engines.imd.messages import HEADER, Kind, Session, Unpacker, header, parse_handshake, parse_session
from mdreel.live.ensemble.journal import read_history
from mdreel.live.nodes.local_channel import LocalChannel
from mdreel.live.nodes.messages import (
    ChannelDescription,
    Chunk,
    Credit,
    End,
    Epoch,
    Fault,
    Heartbeat,
    Join,
    Leave,
    decode,
    encode,
)
from mdreel.live.notices.file import notice_process
from mdreel.live.notices.reader import NoticeReader
from mdreel.live.producers.producer import Producer
from mdreel.live.watch.alerts import Alerts
from mdreel.live.watch.metrics import metrics
from mdreel.live.watch.operations import Operations
from mdreel.live.watch.simulation_control import SimulationControl
from mdreel.live.watch.snapshot import AnalysisSnapshot, ChannelSnapshot
from mdreel.live.watch.snapshot_json import to_json
from mdreel.live.watch.steering import NAME, SteeringLog
from mdreel.live.watch.terminal import DisplaySize, render
from mdreel.live.watch.text_lines import lines
from mdreel.live.watch.token import PageAccess
from steering_lines import line

ODD_JSON = (
    b"1e400",
    b"-1e400",
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"0",
    b"-1",
    b"9" * 400,
    b"9" * 5000,
    b"[" * 2000 + b"]" * 2000,
)
"""What ``json`` reads, or has limits for, and what seldom is a number or list of ours."""

Refusals = tuple[type[Exception], ...]


@dataclass(frozen=True)
class Decoder:
    """A way by which bytes of another process become values.

    Attributes
    ----------
    read : callable
        Decodes bytes, which it may put into a file of a folder.
    valid : tuple of bytes
        What it reads.
    covers : tuple of str
        The functions that are reached by it, as file and name.
    refuses : tuple of type
        The errors that it documents.
    is_json : bool
        Whether what is valid is lines of JSON.
    """

    read: Callable[[bytes, Path], object]
    valid: tuple[bytes, ...]
    covers: tuple[str, ...] = ()
    refuses: Refusals = (FormatError,)
    is_json: bool = True


def _message(content: bytes, _: Path) -> object:
    return decode(content)


def _accepted(content: bytes, folder: Path) -> None:
    """Read what a server says of its channel, and look whether there is room for that."""
    LocalChannel(folder / "there", None, None, 1 << 20).accept(ChannelDescription.decode(content))


def _request(content: bytes, folder: Path) -> object:
    place = folder / FOLDER
    place.mkdir(exist_ok=True)
    (place / "1.request").write_bytes(content)
    requests = Requests(folder, 0)
    for request in requests.take():
        assert isinstance(request.arguments, dict)
        request.answer("done")
    assert requests.take() == []
    return object_of(content_of(place / "1.answer"))


def _answered(content: bytes, folder: Path) -> object:
    path = folder / "1.answer"
    path.write_bytes(content)
    return read_answer(path)


def _notice(content: bytes, folder: Path) -> None:
    """Read a notice, and show it in each way."""
    path = folder / "notice.jsonl"
    path.write_bytes(content)
    notice = NoticeReader(path).read()
    if notice is None:
        return
    analysis = AnalysisSnapshot("key", notice, notice.name, notice.state, notice.reason)
    _show(ChannelSnapshot(folder, "running", analyses=(analysis,)))


def _show(seen: ChannelSnapshot) -> None:
    console = Console(file=StringIO(), width=200)
    console.print(render([seen], DisplaySize(200, 50)))
    said = "\n".join((*lines([seen], 0.0), metrics([seen])))
    json.dumps(to_json(seen, with_curves=True), allow_nan=False)
    assert "\x1b" not in said


def _steering(content: bytes, folder: Path) -> None:
    (folder / NAME).unlink(missing_ok=True)
    (folder / NAME).write_bytes(content)
    log = SteeringLog(folder)
    log.refresh()
    _show(ChannelSnapshot(folder, "running", events=log.events))


def _written(read: Callable[[Path], object], name: str) -> Callable[[bytes, Path], object]:
    def read_file(content: bytes, folder: Path) -> object:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return read(path)

    return read_file


class _Said:
    """A socket on which an engine has said some bytes, and no more."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def recv_into(self, room: memoryview) -> int:
        n = min(len(room), len(self._content))
        room[:n] = self._content[:n]
        self._content = self._content[n:]
        return n

    def gettimeout(self) -> None:
        return None


def _engine(content: bytes, _: Path) -> None:
    """Read the handshake of an engine, and frames of whatever session it says."""
    version, byte_order = parse_handshake(content[:8].ljust(8, b"\0"), "there")
    session = Session(2, byte_order) if version == 2 else parse_session(content[16:23].ljust(7, b"\0"), byte_order)
    link = EngineLink(Address("there", 1), 10_000)
    link.session, link._unpacker = session, Unpacker(byte_order)
    link._socket = _Said(content[8 if version == 2 else 23 :])  # type: ignore[assignment]
    for frame in link.frames():
        assert frame.positions.shape[1] == 3


class _Hub:
    """What a client asks of its hub."""

    def admit(self, client: Client) -> None: ...

    def leave(self, client: Client) -> None: ...

    def pause(self, client: Client, is_wanted: bool) -> None: ...

    def kill(self, client: Client) -> None: ...


def _client(content: bytes, folder: Path) -> None:
    """Hear what a client says, before it is let in and later."""
    channel = folder / "channel"
    if not channel.exists():
        with Producer(channel, 3):
            pass
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as other:
        connection, _ = server.accept()
        with connection:
            serving = ClientOptions(3, "earliest", 0.0, 1 << 20, 0.0, clock=count(0.0, 1.5).__next__)
            client = Client(
                connection, channel, serving, HubAccess(Address("127.0.0.1", 1)), _Hub(), RejectionReporter(print)
            )
            other.sendall(content)
            client._is_admitted()
            client._received += content
            client._execute_all()


def _granted(content: bytes, _: Path) -> object:
    text = content.decode("latin-1")
    access = PageAccess("a token of the test")
    return access.role_of(text, text, text) or access.role_of("localhost", None, text)


def _operation(content: bytes, _: Path) -> object:
    return Operations(None, Alerts(), SimulationControl()).carry_out(content, ())


def _frame(content: bytes, _: Path) -> object:
    return channel_frame_identity(np.frombuffer(content, np.uint8), len(content))


def _json(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


_MANIFEST = Manifest(3, 1, (("positions", "float32"),), ("total",), 0.002, 10)
_REQUEST = {"kind": "change-stride", "arguments": {"stride": 7}, "epoch": 0}
_HEAD = {
    "generation": 1,
    "name": "RMSD",
    "process": 1,
    "process_start": 1,
    "columns": [["frame", ""], ["time", "ps"], ["rmsd", "Å"]],
    "n_columns": 3,
    "is_of_frames": True,
}
_CURVE = {**_HEAD, "columns": [["r", "Å"], ["g", ""]], "n_columns": 2, "is_of_frames": False}
_SECONDS = {"wall": 2.0, "wait": 1.0, "read": 0.1}
_LINE = {"state": "running", "reason": None, "n_frames": 2, "seconds": _SECONDS}
_ROWS = {**_LINE, "rows": [[0, 0.0, 1.5], [1, 0.5, None]], "last": [1, 0.5, None]}
_STARTED = {"process": 7, "process_start": 7, "host": "here", "boot": "now"}
_EVENT = {"time": 1.7e9, "event": "started", "message": "as process 7", "n_frames": 0, "first_step": 1, **_STARTED}
_MESSAGES = (
    Chunk(0, 0, 4, memoryview(b"some")),
    Epoch(1, -5, 7),
    Heartbeat(3, "running"),
    End(3, "failed", "why"),
    Fault("why"),
    Credit(1, 2),
    Leave(),
)
_FRAME_OF_3 = header(Kind.TIME, 1) + bytes(24) + header(Kind.POSITIONS, 2) + bytes(24)
_ENGINE_3 = HEADER.pack(Kind.HANDSHAKE, 3 << 24) + header(Kind.SESSION, 7) + bytes([1, 0, 0, 1, 0, 0, 0]) + _FRAME_OF_3
_FRAME_OF_2 = header(Kind.ENERGIES, 1) + bytes(40) + header(Kind.POSITIONS, 2) + bytes(24)

DECODERS = {
    "message of a node": Decoder(
        _message,
        tuple(encode(1, message) for message in _MESSAGES),
        (
            *(f"live/nodes/messages.py:{name}" for name in ("decode", "_chunk", "_beat", "_end", "<module>")),
            "live/nodes/relay_client.py:RelayClient._take_chunk",
        ),
        is_json=False,
    ),
    "question of a relay": Decoder(
        lambda content, _: Join.decode(content),
        tuple(Join("a1", "there", 5, start).encode() for start in (("earliest", None), ("time", 1.5), ("sequence", 7))),
        ("live/nodes/messages.py:_parse_object",),
    ),
    "answer of a server": Decoder(
        _accepted,
        (
            ChannelDescription("a-b-c", 8, 4096, _MANIFEST).encode(),
            ChannelDescription("a-b-c", 8, 1, _MANIFEST).encode(),
        ),
        ("live/nodes/messages.py:_manifest",),
        (FormatError, MismatchError),
    ),
    "frame of a server": Decoder(_frame, (), is_json=False),
    "where a relay's channel comes from": Decoder(
        _written(lambda path: LocalChannel(path.parent, None, None, 1 << 20), "source"),
        (_json({"identity": "a-b", "relay": "c"}),),
        ("live/nodes/local_channel.py:LocalChannel._read_source",),
    ),
    "request to a simulation": Decoder(
        _request, (_json(_REQUEST),), ("live/channels/requests.py:_read_request",), refuses=()
    ),
    "answer of a simulation": Decoder(
        _answered,
        (_json({"done": True, "message": "done", "facts": {"checkpoint": "here"}}),),
        ("live/channels/requests.py:read_answer",),
        (FormatError, StreamError),
    ),
    "notice of an analysis": Decoder(
        _notice,
        (_json(_HEAD, _ROWS, {**_LINE, "state": "finished"}), _json(_CURVE, {**_LINE, "rows": [[0.1, 1.0]]})),
        ("live/notices/reader.py:NoticeReader.read", "live/notices/reader.py:NoticeReader._parse_head"),
    ),
    "whose a notice is": Decoder(
        _written(notice_process, "notice-1.jsonl"),
        (_json(_HEAD),),
        ("live/notices/file.py:notice_process",),
        refuses=(),
    ),
    "log of steering": Decoder(
        _steering, (line(1) + line(2),), ("live/watch/steering.py:SteeringLog.refresh",), refuses=()
    ),
    "journal of a replica": Decoder(
        _written(read_history, "journal.jsonl"), (_json(_EVENT, _EVENT),), ("live/ensemble/journal.py:_parse_history",)
    ),
    "commit of an archive": Decoder(
        lambda content, _: CommitRecord.parse(content),
        (CommitRecord("/a/b.xtc", 1000.0, 100, 2, (1, 0, 10), 3, False, {"frames": 1}).state(),),
        ("live/archives/commit_record.py:CommitRecord.parse",),
    ),
    "engine that speaks IMD": Decoder(
        _engine,
        (_ENGINE_3, HEADER.pack(Kind.HANDSHAKE, 2) + _FRAME_OF_2),
        (
            "live/engines/imd/messages.py:parse_handshake",
            *(f"live/engines/imd/messages.py:Unpacker.{name}" for name in ("time", "energies", "box")),
            "live/engines/imd/engine.py:EngineLink._header_between_frames",
            "live/engines/imd/engine.py:EngineLink._expect",
        ),
        (FormatError, StreamError, MismatchError, UnsupportedError),
        is_json=False,
    ),
    "client of a hub": Decoder(
        _client,
        (header(Kind.GO) + header(Kind.PAUSE) + header(Kind.FORCES_TO_APPLY, 1) + bytes(16) + header(Kind.RATE, -1),),
        ("live/engines/imd/client.py:Client._execute_all", "live/engines/imd/client.py:Client._is_admitted"),
        is_json=False,
    ),
    "request of an operator": Decoder(
        _operation,
        tuple(_json({"do": "add-alert", "column": "rmsd", side: 5, "analysis": "RMSD"}) for side in ("above", "below")),
        ("live/watch/operations.py:Operations.carry_out",),
        (FormatError, MismatchError, StreamError),
    ),
    "request for the page": Decoder(
        _granted, (b"/state?token=a%20token", b"[::1]:80", b"Bearer a token of the test"), refuses=(), is_json=False
    ),
}
