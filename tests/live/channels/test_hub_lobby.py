"""Tests of pending connections, which must not block clients of a hub."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep

import pytest

from imd_client import LONG, ImdClient
from mdreel.live.channels.rejections import RejectionReporter
from mdreel.live.engines.imd import Hub
from mdreel.live.engines.imd.access import HubAccess
from mdreel.live.engines.imd.address import Address
from mdreel.live.engines.imd.client import GO_SECONDS, Client, ClientOptions
from mdreel.live.lobby import MOST, MOST_OF_ONE, Lobby
from mdreel.live.producers.producer import Producer

ANYWHERE = "127.0.0.1:0"


@pytest.fixture
def producer() -> Iterator[Producer]:
    with Producer("run", 5, n_slots=8, timeout=LONG) as made:
        yield made


@contextmanager
def silent(address: str, n: int) -> "Iterator[list[socket.socket]]":
    """Open connections that never send or read anything."""
    host, port = address.rsplit(":", 1)
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection((host, int(port)), LONG)) for _ in range(n)]


def test_silent_connections_do_not_use_up_the_places_of_clients(producer: Producer) -> None:
    n_threads = threading.active_count()
    with Hub("run", ANYWHERE) as hub, silent(hub.address, 100), ExitStack() as stack:
        clients = [stack.enter_context(ImdClient(hub.address)).go() for _ in range(3)]
        producer.await_consumers(3, LONG)
        assert threading.active_count() <= n_threads + 3 + MOST + 50
        producer.publish([[1.0] * 3] * 5, 0, 0.0)
        producer.end()
        for client in clients:
            assert [frame.step for frame in client.rest()] == [0]


def test_client_beyond_the_last_place_is_told_and_others_stay(
    producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mdreel.live.engines.imd.hub._MOST_CLIENTS", 2)
    said: list[str] = []
    with Hub("run", ANYWHERE, report=said.append) as hub, ExitStack() as stack:
        clients = [stack.enter_context(ImdClient(hub.address)).go() for _ in range(2)]
        producer.await_consumers(2, LONG)
        with ImdClient(hub.address).go() as third, pytest.raises((EOFError, ConnectionError)):
            third.read(1)
        producer.publish([[1.0] * 3] * 5, 0, 0.0)
        producer.end()
        for client in clients:
            assert [frame.step for frame in client.rest()] == [0]
    # The thread of the refused client reports after it has closed the connection.
    until = monotonic() + LONG
    while not any("there are 2 clients already" in line for line in said):
        assert monotonic() < until, said
        sleep(0.01)


class _Requests:
    """Hub that admits no client and counts attempts."""

    def __init__(self) -> None:
        self.n_admitted = 0

    def admit(self, client: Client) -> None:
        self.n_admitted += 1

    def leave(self, client: Client) -> None: ...

    def pause(self, client: Client, is_wanted: bool) -> None: ...

    def kill(self, client: Client) -> None: ...


def test_silent_connection_is_left_when_its_time_is_up(producer: Producer) -> None:
    """Check the timeout with a simulated clock."""
    times = iter([0.0, 0.0, GO_SECONDS - 0.01, GO_SECONDS])
    said: list[str] = []
    requests = _Requests()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as other:
        connection, _ = server.accept()
        serving = ClientOptions(3, "earliest", 0.0, 1 << 20, 0.0, clock=lambda: next(times))
        access = HubAccess(Address("127.0.0.1", 1))
        client = Client(connection, producer.path, serving, access, requests, RejectionReporter(said.append))
        client.run()
        other.settimeout(LONG)
        while other.recv(4096):
            pass
    assert said == [f"{client.name}: refused: it has not requested frames"]
    assert requests.n_admitted == 0


class _Waiting:
    def __init__(self, host: str) -> None:
        self.host = host
        self.why = ""

    def drop(self, why: str) -> None:
        self.why = why


def test_oldest_that_waits_has_to_go_and_first_one_of_the_same_address() -> None:
    noted: list[str] = []
    lobby: Lobby[_Waiting] = Lobby(noted.append)
    quiet = _Waiting("10.0.0.9")
    lobby.enter(quiet)
    loud = [_Waiting("10.0.0.1") for _ in range(3 * MOST)]
    for one in loud:
        lobby.enter(one)
    assert not quiet.why, "an address that opens many drops its own"
    assert [bool(one.why) for one in loud] == [True] * (3 * MOST - MOST_OF_ONE) + [False] * MOST_OF_ONE
    others = [_Waiting(f"10.0.1.{i}") for i in range(MOST)]
    for one in others:
        lobby.enter(one)
    assert len(lobby) == MOST
    assert lobby.all() == others
    assert len(noted) == 3 * MOST - MOST_OF_ONE + 1 + MOST_OF_ONE


def test_rejects_are_counted_and_reported_seldom() -> None:
    said: list[str] = []
    now = [0.0]
    rejects = RejectionReporter(said.append, lambda: now[0])
    for i in range(1000):
        now[0] = 0.02 * i
        rejects.reject(f"number {i} \x1b[31m")
    assert rejects.n == 1000
    assert 5 <= len(said) <= 8
    assert "more were refused before" in said[-1]
    assert not any("\x1b" in line for line in said)
    rejects.report_total("messages")
    assert said[-1] == "messages: 1,000 refused"

    def broken(line: str) -> None:
        raise BrokenPipeError("nobody reads")

    RejectionReporter(broken).reject("goes on")


def test_hub_that_has_died_is_not_taken_for_a_living_one(producer: Producer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that an error in the accepting thread is reported."""
    from mdreel.errors import StreamError

    def dies(hub: Hub) -> None:
        raise AssertionError("planted")

    monkeypatch.setattr(Hub, "_accept_next", dies)
    with Hub("run", ANYWHERE) as hub, pytest.raises(StreamError, match="the hub has died and accepts no clients"):
        hub.wait(LONG)


def test_channel_that_goes_away_does_not_end_a_hub(producer: Producer, tmp_path: Path) -> None:
    with Hub("run", ANYWHERE) as hub:
        place = producer.path / "manifest"
        content = place.read_bytes()
        place.write_bytes(b"\xff" * 100)
        with pytest.raises((EOFError, ConnectionError)):
            ImdClient(hub.address)
        place.write_bytes(content)
        with ImdClient(hub.address).go():
            producer.await_consumers(1, LONG)
