"""Tests of slow, silent and oversized connections to the page."""

import http.client
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mdreel.live.watch.request_head import HEAD_SECONDS, MOST_BYTES, read_head
from mdreel.live.watch.server import WatchServer
from mdreel.live.watch.watcher import Watcher

LONG = 60.0


@pytest.fixture
def server(folder: Path) -> Iterator[WatchServer]:
    with WatchServer(Watcher()) as served:
        yield served


def status(server: WatchServer) -> int:
    place = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=LONG)
    try:
        connection.request("GET", f"/state?token={server.token}")
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize(
    "said", [b"", b"GET /state HTTP/1.1\r\nHost: local", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 100]
)
@pytest.mark.parametrize("n_connections", [32, 200])
def test_connections_that_never_finish_do_not_keep_the_page_from_others(
    server: WatchServer, said: bytes, n_connections: int
) -> None:
    place = urlsplit(server.url)
    with ExitStack() as stack:
        for _ in range(n_connections):
            address = (str(place.hostname), int(place.port or 0))
            silent = stack.enter_context(socket.create_connection(address, timeout=LONG))
            silent.sendall(said)
        assert [status(server) for _ in range(3)] == [200] * 3


class Trickle:
    """Connection that delivers one byte at a time on a simulated clock."""

    def __init__(self, content: bytes, seconds: float) -> None:
        self._content = iter(content)
        self._seconds = seconds
        self.now = 0.0
        self.timeouts: list[float] = []

    def clock(self) -> float:
        return self.now

    def settimeout(self, seconds: float) -> None:
        self.timeouts.append(seconds)

    def recv(self, n_bytes: int) -> bytes:
        self.now += self._seconds
        byte = next(self._content, None)
        return b"" if byte is None else bytes([byte])


@pytest.mark.parametrize(
    ("seconds", "is_read"), [(0.0, True), (HEAD_SECONDS / 100, True), (HEAD_SECONDS / 10, False), (LONG, False)]
)
def test_request_that_comes_byte_by_byte_is_cut_at_a_time_for_all_of_it(seconds: float, is_read: bool) -> None:
    head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    trickle = Trickle(head, seconds)
    assert read_head(trickle, trickle.clock) == (head if is_read else None)  # type: ignore[arg-type]
    assert trickle.timeouts == sorted(trickle.timeouts, reverse=True), "no byte gives more time"
    assert max(trickle.timeouts) <= HEAD_SECONDS


def test_head_of_a_request_that_is_too_large_is_refused(server: WatchServer) -> None:
    trickle = Trickle(b"GET / HTTP/1.1\r\nA: " + b"b" * MOST_BYTES + b"\r\n\r\n", 0.0)
    assert read_head(trickle, trickle.clock) is None  # type: ignore[arg-type]
    place = urlsplit(server.url)
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=LONG) as connection:
        answer = _until_closed(
            connection, b"GET /state?token=" + server.token.encode() + b" HTTP/1.1\r\n", b"A: b\r\n" * 9
        )
        assert b"200" not in answer
    assert status(server) == 200


def _until_closed(connection: socket.socket, first: bytes, again: bytes) -> bytes:
    """Send data until the other side closes the connection."""
    heard = b""
    receive: Callable[[], bytes] = lambda: connection.recv(4096)  # noqa: E731
    try:
        connection.sendall(first)
        for _ in range(10_000):
            connection.sendall(again)
        while said := receive():
            heard += said
    except ConnectionError:
        pass
    return heard


def test_connection_that_hangs_up_at_once_leaves_nothing(server: WatchServer) -> None:
    place = urlsplit(server.url)
    for _ in range(100):
        socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=LONG).close()
    assert status(server) == 200
