"""Tests of the server of the page."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from growing_file import N_ATOMS
from mdreel.errors import MismatchError
from mdreel.live.producers.producer import Producer
from mdreel.live.watch.server import WatchServer
from mdreel.live.watch.watcher import Watcher
from publishing import publish
from steering_lines import line
from told_notices import Series, Told

Answer = tuple[int, dict[str, str], bytes]


@pytest.fixture
def server(folder: Path) -> Iterator[WatchServer]:
    with Producer("run1", N_ATOMS, n_slots=8) as producer:
        publish(producer, 0)
        told = Told(folder / "run1", Series())
        told.say(n_frames=5000)
        (folder / "run1" / "steering.jsonl").write_bytes(line(1) + line(2)[:5])
        with WatchServer(Watcher()) as served:
            yield served


def ask(server: WatchServer, path: str, method: str = "GET", host: str | None = None, **heads: str) -> Answer:
    """Send a request without adding a token."""
    place = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=30)
    try:
        given = {"Host": host or place.netloc, **{name.replace("_", "-"): value for name, value in heads.items()}}
        connection.request(method, path, headers=given)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    "path", ["/", "/state", "/metrics", "/else", "/../etc/passwd", "//", "/?token=", "/state?token=wrong"]
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "ANYTHING"])
def test_without_the_token_everything_is_forbidden(server: WatchServer, path: str, method: str) -> None:
    status, heads, content = ask(server, path, method)
    assert status == 403
    assert content in (b"Forbidden\n", b"")
    assert "run1" not in str(heads)
    wrong = {"Authorization": f"Bearer {server.token[:-1]}"}
    assert ask(server, path, method, **wrong)[0] == 403
    assert ask(server, path, method, Authorization=f"Basic {server.token}")[0] == 403


def test_token_opens_the_page_the_state_and_the_metrics(server: WatchServer) -> None:
    for path, kind in (("/", "text/html"), ("/state", "application/json"), ("/metrics", "text/plain; version=0.0.4")):
        for status, heads, content in (
            ask(server, f"{path}?token={server.token}"),
            ask(server, path, Authorization=f"Bearer {server.token}"),
        ):
            assert status == 200
            assert heads["Content-Type"].startswith(kind)
            assert int(heads["Content-Length"]) == len(content) > 0
            assert heads["Cache-Control"] == "no-store"
            assert heads["Referrer-Policy"] == "no-referrer"
            assert "frame-ancestors 'none'" in heads["Content-Security-Policy"]
            assert "default-src 'none'" in heads["Content-Security-Policy"]
    assert ask(server, f"/?token={server.token}", "HEAD")[2] == b""


def test_page_may_run_its_own_script_and_nothing_else(server: WatchServer) -> None:
    _, heads, content = ask(server, f"/?token={server.token}")
    policy = heads["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert policy.count("sha256-") == 3  # the style sheet, the script and the library for 3-D views
    assert server.token.encode() not in content
    for scheme in (b"http://", b"https://"):
        assert content.replace(b"http://www.w3.org/2000/svg", b"").count(scheme) == 0


def test_nothing_can_be_changed_with_the_token_of_viewers(server: WatchServer) -> None:
    assert server.operator_token is None
    assert server.operator_url is None
    for method in ("PUT", "DELETE", "PATCH"):
        assert ask(server, f"/state?token={server.token}", method)[0] == 501
    for path in ("/operate", "/state", "/else"):
        status, _, content = ask(server, path, "POST", Authorization=f"Bearer {server.token}")
        assert status == 403
        assert content.startswith(b"This address may only look.")
    assert ask(server, f"/else?token={server.token}")[0] == 404


@pytest.mark.parametrize(
    ("host", "is_answered"),
    [
        ("127.0.0.1", True),
        ("localhost:80", True),
        ("[::1]:8000", True),
        ("192.168.7.7:8000", True),
        (socket.gethostname(), True),
        ("evil.example", False),
        ("evil.example:80", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("127.0.0.1@evil.example", False),
        ("[::1", False),
        (" ", False),
    ],
)
def test_names_that_others_can_point_at_us_are_refused(server: WatchServer, host: str, is_answered: bool) -> None:
    status, _, _ = ask(server, f"/state?token={server.token}", host=host)
    assert status == (200 if is_answered else 403)


@pytest.mark.parametrize(
    "heads", [b"", b"Host: localhost\r\nHost: evil.example\r\n", b"Host: localhost\r\n" + b"A: b\r\n" * 200]
)
def test_odd_requests_are_forbidden(server: WatchServer, heads: bytes) -> None:
    place = urlsplit(server.url)
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30) as connection:
        connection.sendall(b"GET /state?token=" + server.token.encode() + b" HTTP/1.1\r\n" + heads + b"\r\n")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.0 403 ")
    assert b"run1" not in answer


@pytest.mark.parametrize(
    "said", [b"\r\n\r\n", b"nonsense\r\n\r\n", b"GET  HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\n\n"]
)
def test_what_is_no_request_is_told_nothing(server: WatchServer, said: bytes) -> None:
    place = urlsplit(server.url)
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30) as connection:
        connection.sendall(said)
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert b"run1" not in answer
    assert not answer or b"403" in answer or answer == b"Forbidden\n"
    assert ask(server, f"/state?token={server.token}")[0] == 200


def test_state_has_curves_of_channels_that_are_open(server: WatchServer, folder: Path) -> None:
    _, _, content = ask(server, f"/state?token={server.token}")
    (channel,) = json.loads(content)["channels"]
    assert (channel["name"], channel["state"], channel["n_frames"]) == ("run1", "running", 1)
    assert "history" not in channel
    assert "curves" not in channel["analyses"][0]
    assert len(content) < 3000
    _, _, content = ask(server, f"/state?token={server.token}&open={folder}/run1&open=/etc")
    (channel,) = json.loads(content)["channels"]
    (analysis,) = channel["analyses"]
    assert analysis["n_frames"] == 5000
    frames, times, values = analysis["curves"]
    assert 300 <= len(frames) == len(times) == len(values) <= 502
    assert frames[-1] == 4999
    assert [event["message"] for event in channel["steering"]] == ["number 1"]
    assert set(channel["history"]) == {"elapsed", "frames_per_second", "lag"}


def test_many_idle_connections_keep_nobody_out_for_ever_and_take_no_more(server: WatchServer) -> None:
    place = urlsplit(server.url)
    n_threads = threading.active_count()
    with many_connections(str(place.hostname), int(place.port or 0), 100):
        assert threading.active_count() <= n_threads + 32
    until_answered(server)


@contextmanager
def many_connections(host: str, port: int, n_connections: int) -> Iterator[None]:
    opened = [socket.create_connection((host, port), timeout=30) for _ in range(n_connections)]
    try:
        yield
    finally:
        for connection in opened:
            connection.close()


def until_answered(server: WatchServer) -> None:
    """Send requests until one is answered, after another client has disconnected."""
    for _ in range(200):
        try:
            if ask(server, f"/state?token={server.token}")[0] == 200:
                return
        except (OSError, http.client.HTTPException):
            threading.Event().wait(0.05)
    raise AssertionError("nobody answers any more")


def test_addresses_that_are_none_and_ports_that_are_taken_are_refused(server: WatchServer) -> None:
    with pytest.raises(MismatchError, match="expected an IP address of this machine"):
        WatchServer(Watcher(), "example.com")
    port = int(urlsplit(server.url).port or 0)
    with pytest.raises(OSError, match="in use") as caught:
        WatchServer(Watcher(), "127.0.0.1", port)
    assert str(port) in str(caught.value.filename)


def test_token_is_long_and_each_time_another(server: WatchServer) -> None:
    other = WatchServer(Watcher())
    assert len(other.token) >= 32
    assert other.token != server.token
    assert server.is_local
    assert urlsplit(server.url).hostname == "127.0.0.1"
    with other:
        assert ask(other, "/", Authorization=f"Bearer {server.token}")[0] == 403
