"""Tests that servers, hubs, producers and pages survive invalid messages."""

import json
import random
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from imd_client import LONG, ImdClient
from mdreel.errors import StreamError, StreamTimeoutError, UnansweredRequestWarning
from mdreel.live.channels.requests import FOLDER
from mdreel.live.channels.status import Status
from mdreel.live.engines.engine_commands import EngineCommands
from mdreel.live.engines.imd import Hub
from mdreel.live.nodes import Relay, Server
from mdreel.live.producers.producer import Producer

N_ATOMS = 20
N_MESSAGES = 200
JOIN = '{"version": 1, "relay": "a1", "host": "there", "session": 1, "start": %s}'
WORST = [
    JOIN % '["time", 1e400]',
    JOIN % f'["time", {"9" * 400}]',
    JOIN % f'["time", {"9" * 5000}]',
    JOIN % '["time", NaN]',
    JOIN % '["sequence", true]',
    JOIN % ("[" * 5000 + "]" * 5000),
    JOIN % '{"time": 1}',
    '{"version": 1, "relay": ["a1"], "host": 7, "session": -1, "start": null}',
    "[]",
    "null",
    "[" * 60_000,
]
"""What has ended the thread of a server, or might."""


def garbage(seed: int = 0) -> list[bytes]:
    """Return reproducible invalid messages, both crafted and random."""
    noise = random.Random(seed)
    said = [text.encode() for text in WORST]
    return said + [noise.randbytes(noise.randrange(1, 400)) for _ in range(N_MESSAGES - len(said))]


@pytest.fixture
def producer() -> Iterator[Producer]:
    with Producer("run", N_ATOMS, n_slots=8, timeout=LONG) as made:
        yield made


def publish(producer: Producer, n_frames: int) -> None:
    for frame in range(n_frames):
        producer.publish([[float(frame)] * 3] * N_ATOMS, frame, 0.5 * frame)


def test_server_goes_on_after_garbage_and_counts_it(producer: Producer, endpoint: str) -> None:
    zenoh = pytest.importorskip("zenoh")
    from mdreel.live.nodes.link import connect_to
    from mdreel.live.nodes.security import Security

    said: list[str] = []
    with Server("run", endpoint, report=said.append) as server:
        with connect_to(endpoint, Security(), LONG) as session:
            for content in garbage():
                replies = list(session.get("mdreel/1/run/join", payload=content, timeout=LONG))
                assert [reply.ok for reply in replies] == [None]
                session.put("mdreel/1/run/from/a1", content)
                session.put("mdreel/1/run/from/a1", zenoh.ZBytes(bytes(1 << 20)))
        with Relay(endpoint, "run", "there", wait=LONG) as relay:
            publish(producer, 3)
            producer.end()
            relay.wait(LONG)
        server.check()
        assert server.n_refused >= N_MESSAGES
    assert Status.read("there").n_published == 3
    assert len(said) < N_MESSAGES / 4, "a log is not flooded"
    assert any("messages of relays" in line and "refused" in line for line in said)


def test_dead_server_is_not_taken_for_a_living_one(producer: Producer, endpoint: str) -> None:
    """Check that an error in the thread of a server is reported."""
    pytest.importorskip("zenoh")
    with Server("run", endpoint) as server:
        server.check()
        server._inbox.put((None, None))  # type: ignore[arg-type]
        assert server._thread is not None
        server._thread.join(LONG)
        with pytest.raises(StreamError, match="the server has died and answers no relays: AttributeError"):
            server.check()


def test_relay_goes_on_after_garbage_of_a_server(endpoint: str, producer: Producer) -> None:
    """Check that a relay receives every frame despite invalid messages from a peer with the token."""
    pytest.importorskip("zenoh")
    from mdreel.live.nodes.link import connect_to
    from mdreel.live.nodes.security import Security

    with Server("run", endpoint), Relay(endpoint, "run", "there", wait=LONG) as relay:
        known = json.loads((Status.read("there").path / "source").read_text())
        with connect_to(endpoint, Security(), LONG) as session:
            for content in garbage(1):
                session.put(f"mdreel/1/run/to/{known['relay']}", content)
        publish(producer, 3)
        producer.end()
        relay.wait(LONG)
    assert Status.read("there").n_published == 3


def test_hub_goes_on_after_garbage_and_counts_it(producer: Producer) -> None:
    said: list[str] = []
    with Hub("run", "127.0.0.1:0", report=said.append) as hub:
        place = hub.address.rsplit(":", 1)
        for content in garbage():
            with socket.create_connection((place[0], int(place[1])), LONG) as client:
                client.sendall(content)
        with ImdClient(hub.address).go() as good:
            producer.await_consumers(1, LONG)
            publish(producer, 3)
            producer.end()
            assert [frame.step for frame in good.rest()] == [0, 1, 2]
        assert hub.wait(LONG) == "finished"
        assert hub.n_refused > N_MESSAGES / 2
    assert len(said) < N_MESSAGES / 2, "a log is not flooded"


def test_producer_goes_on_after_garbage_and_answers_each(producer: Producer, tmp_path: Path) -> None:
    commands = EngineCommands(producer, "the test", 10, tmp_path / "checkpoint", None)
    folder = producer.path / FOLDER
    folder.mkdir()
    asked = {"kind": "change-stride", "arguments": {"stride": 7}, "epoch": producer.epoch}
    odd = [
        {**asked, "arguments": ["stride", 7]},
        {**asked, "arguments": {"stride": 2**63}},
        {**asked, "arguments": {"stride": [7]}},
        {**asked, "arguments": {"stride": True}},
        {**asked, "kind": ["stop"]},
        {**asked, "kind": "dance"},
        {**asked, "epoch": "0"},
        {"kind": "stop"},
    ]
    contents = [json.dumps(one).encode() for one in odd] + garbage(2)
    contents += [b"[" * 50_000, b'{"kind": "stop", "epoch": 0, "arguments": %s}' % (b'{"a":' * 900 + b"1" + b"}" * 900)]
    contents += [b" " * (1 << 20)]
    for number, content in enumerate(contents):
        (folder / f"{number:04d}.request").write_bytes(content)
    (folder / "a-folder.request").mkdir()
    (folder / "a-link.request").symlink_to(folder / "nowhere")
    for _ in range(3):
        assert not commands.handle_requests(0, lambda path: path.touch())
    assert commands.interval == 10
    answers = [json.loads(path.read_text()) for path in folder.glob("*.answer")]
    assert len(answers) == len(contents) + 2
    assert not any(answer["done"] for answer in answers)
    assert list(folder.glob("*.request")) == list(folder.glob("*.taken")) == []
    (folder / "9999.request").write_text(json.dumps(asked))
    commands.handle_requests(0, lambda path: path.touch())
    assert commands.interval == 7


def test_request_whose_checkpoint_fails_in_any_way_does_not_end_a_simulation(
    producer: Producer, tmp_path: Path
) -> None:
    def fails(path: Path) -> None:
        raise RuntimeError("the engine is at odds with itself")

    commands = EngineCommands(producer, "the test", 10, tmp_path / "checkpoint", None)
    folder = producer.path / FOLDER
    folder.mkdir()
    for number, kind in enumerate(("checkpoint", "stop")):
        (folder / f"{number}.request").write_text(json.dumps({"kind": kind, "epoch": producer.epoch}))
    assert not commands.handle_requests(0, fails)
    for path in folder.glob("*.answer"):
        assert "at odds with itself" in json.loads(path.read_text())["message"]


def test_answer_that_cannot_be_written_does_not_end_a_simulation(producer: Producer, tmp_path: Path) -> None:
    folder = producer.path / FOLDER
    folder.mkdir()
    (folder / "1.request").write_text("[]")
    (folder / "1.answer.part").mkdir()
    with pytest.warns(UnansweredRequestWarning, match="the request was not answered"):
        assert producer.requests() == []
    folder.rename(tmp_path / "elsewhere")
    folder.write_text("no folder at all")
    assert producer.requests() == []


def test_relay_that_is_told_nonsense_of_a_channel_says_so(endpoint: str, tmp_path: Path) -> None:
    """Check that a relay validates the description of a channel before it uses it."""
    zenoh = pytest.importorskip("zenoh")
    from mdreel.live.nodes.link import listen_at
    from mdreel.live.nodes.local_token import make_token
    from mdreel.live.nodes.security import Security

    answers = iter([b"\xff" * 50, b"[" * 5000, b'{"version": 1e400}', b'{"version": 1, "manifest": []}'])
    seen = SimpleNamespace(n=0)

    def answer(query: "zenoh.Query") -> None:
        seen.n += 1
        query.reply(query.key_expr, next(answers, b"nothing"))

    with listen_at(endpoint, Security(make_token(endpoint))) as session:
        declared = session.declare_queryable("mdreel/1/run/join", answer)
        for _ in range(4):
            with pytest.raises((OSError, StreamTimeoutError)):
                Relay(endpoint, "run", "there").start()
        declared.undeclare()
    assert seen.n >= 4
