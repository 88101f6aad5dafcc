"""Tests of requests that change something on the page, and of the users who may send them."""

import http.client
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from growing_file import N_ATOMS
from mdreel.live.producers.producer import Producer
from mdreel.live.watch.request_body import BODY_SECONDS, MOST_BODY_BYTES, body_length, read_body
from mdreel.live.watch.server import PageFeatures, WatchServer
from mdreel.live.watch.watcher import Watcher
from publishing import publish

ALERT = {"do": "add-alert", "analysis": "RMSD", "column": "rmsd", "above": 6.0}
REFUSED_WITHOUT_DETAILS = (403, "Forbidden\n")


@pytest.fixture
def server(folder: Path) -> Iterator[WatchServer]:
    with Producer("run1", N_ATOMS, n_slots=8) as producer:
        publish(producer, 0)
        with WatchServer(Watcher(), features=PageFeatures(may_operate=True)) as served:
            yield served


def post(
    server: WatchServer, body: bytes, token: str | None = None, path: str = "/operate", **heads: str
) -> tuple[int, str]:
    """Send a request with the token of operators, unless another is given."""
    place = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=30)
    given = {"Content-Type": "application/json", "Authorization": f"Bearer {token or server.operator_token}"}
    given |= {name.replace("_", "-"): value for name, value in heads.items()}
    try:
        connection.request("POST", path, body, {name: value for name, value in given.items() if value})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def ask(server: WatchServer, token: str) -> dict[str, Any]:
    place = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=30)
    try:
        connection.request("GET", "/state", headers={"Authorization": f"Bearer {token}"})
        found: dict[str, Any] = json.loads(connection.getresponse().read())
        return found
    finally:
        connection.close()


def thresholds(server: WatchServer) -> list[dict[str, Any]]:
    (channel,) = ask(server, server.token)["channels"]
    found: list[dict[str, Any]] = channel["alerts"]["thresholds"]
    return found


def test_operator_changes_what_viewers_see(server: WatchServer) -> None:
    status, answer = post(server, json.dumps(ALERT).encode())
    assert (status, json.loads(answer)) == (200, {"id": 1})
    assert thresholds(server) == [{"id": 1, "analysis": "RMSD", "label": "rmsd > 6"}]
    assert post(server, b'{"do": "remove-alert", "id": 1}') == (200, "{}")
    assert thresholds(server) == []
    assert server.operator_token is not None
    assert ask(server, server.operator_token)["may_operate"] is True
    assert ask(server, server.token)["may_operate"] is False


def test_viewer_is_told_that_he_may_only_look(server: WatchServer) -> None:
    status, answer = post(server, json.dumps(ALERT).encode(), server.token)
    assert status == 403
    assert answer.startswith("This address may only look. Open the operator's address")
    assert thresholds(server) == []


@pytest.mark.parametrize("token", ["wrong", "", "Zürich"])
def test_without_a_token_nothing_can_be_changed(server: WatchServer, token: str) -> None:
    heads = {"Authorization": f"Bearer {token}".encode("latin-1").decode("latin-1")}
    assert post(server, json.dumps(ALERT).encode(), **heads) == REFUSED_WITHOUT_DETAILS
    assert thresholds(server) == []


def test_token_in_the_address_does_not_change_anything(server: WatchServer) -> None:
    status, answer = post(
        server, json.dumps(ALERT).encode(), path=f"/operate?token={server.operator_token}", Authorization=""
    )
    assert (status, answer) == (403, "Send the token in the header Authorization: Bearer.\n")
    assert thresholds(server) == []


@pytest.mark.parametrize(
    ("heads", "is_carried_out"),
    [
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "http://127.0.0.1:1"}, False),
        ({"Sec_Fetch_Site": "cross-site"}, False),
        ({"Sec_Fetch_Site": "same-site"}, False),
        ({"Sec_Fetch_Site": "same-origin"}, True),
    ],
)
def test_other_pages_cannot_send_requests(server: WatchServer, heads: dict[str, str], is_carried_out: bool) -> None:
    status, answer = post(server, json.dumps(ALERT).encode(), **heads)
    assert status == (200 if is_carried_out else 403)
    assert is_carried_out or answer == "This request comes from another page.\n"
    assert len(thresholds(server)) == is_carried_out


def test_page_itself_can_send_requests(server: WatchServer) -> None:
    place = urlsplit(server.url).netloc
    assert post(server, json.dumps(ALERT).encode(), Origin=f"http://{place}")[0] == 200
    assert post(server, json.dumps(ALERT).encode(), Host="evil.example", Origin="http://evil.example")[0] == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_forms_of_other_pages_are_refused(server: WatchServer, kind: str) -> None:
    assert post(server, json.dumps(ALERT).encode(), Content_Type=kind)[0] == 415
    assert thresholds(server) == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "expected JSON"),
        (b"{", "expected JSON"),
        (b"[]", "expected a JSON object, got a list"),
        (b'{"do": NaN}', "NaN is not a JSON number"),
        (b"[" * 5000, "expected JSON"),
        (b"{}", "unknown operation None"),
        (b'{"do": "format-disk"}', "unknown operation 'format-disk'"),
        (b'{"do": ["add-alert"]}', "unknown operation ['add-alert']"),
        (b'{"do": "remove-alert"}', "id is missing"),
        (b'{"do": "remove-alert", "id": 7}', "there is no alert 7"),
        (b'{"do": "remove-alert", "id": true}', "id: expected a whole number, got True"),
        (b'{"do": "remove-alert", "id": "7"}', "id: expected a whole number, got '7'"),
        (b'{"do": "remove-alert", "id": 7, "x": 1}', "unknown name 'x'; known: id"),
        (b'{"do": "add-alert", "column": "rmsd"}', "either above or below"),
        (b'{"do": "add-alert", "column": "rmsd", "above": 1, "below": 2}', "either above or below"),
        (b'{"do": "add-alert", "column": "rmsd", "above": "1"}', "above: expected a number, got '1'"),
        (b'{"do": "add-alert", "above": 1}', "column is missing"),
        (b'{"do": "add-alert", "column": "a", "above": 1, "command": "rm"}', "unknown name 'command'"),
        (b'{"do": "add-alert", "column": "a", "above": 1, "channel": "/etc"}', "the page shows no channel '/etc'"),
        (b'{"do": "add-analysis", "channel": "x"}', "settings: expected an object"),
        (b'{"do": "add-analysis", "channel": "/etc", "settings": {}}', "the page shows no channel '/etc'"),
        (b'{"do": "pause-analysis", "id": 1}', "start mdreel watch with -s FILE"),
    ],
)
def test_wrong_requests_are_refused_with_a_reason(server: WatchServer, body: bytes, words: str) -> None:
    status, answer = post(server, body)
    assert status == 400
    assert words in json.loads(answer)["error"]
    assert thresholds(server) == []


def test_number_of_alerts_is_limited(server: WatchServer) -> None:
    statuses = [post(server, json.dumps(ALERT).encode())[0] for _ in range(66)]
    assert statuses == [200] * 64 + [400] * 2


def test_other_resources_cannot_be_posted_to(server: WatchServer) -> None:
    for path in ("/", "/state", "/metrics", "/else"):
        assert post(server, json.dumps(ALERT).encode(), path=path)[0] == 404


@pytest.mark.parametrize(
    ("heads", "status"),
    [
        (b"Content-Length: 65537\r\n", b"413"),
        (b"Content-Length: 99999999999999999999\r\n", b"411"),
        (b"Content-Length: -1\r\n", b"411"),
        (b"Content-Length: 1e3\r\n", b"411"),
        (b"", b"411"),
        (b"Transfer-Encoding: chunked\r\n", b"411"),
        (b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", b"411"),
    ],
)
def test_bodies_of_unknown_or_excessive_length_are_not_read(server: WatchServer, heads: bytes, status: bytes) -> None:
    place = urlsplit(server.url)
    assert server.operator_token is not None
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30) as connection:
        head = b"POST /operate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        token = b"Authorization: Bearer " + server.operator_token.encode() + b"\r\n"
        connection.sendall(head + token + heads + b"\r\n")
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.0 " + status)


class Trickle:
    """Connection that delivers one byte at a time on a simulated clock."""

    def __init__(self, content: bytes, seconds: float) -> None:
        self._content = iter(content)
        self._seconds = seconds
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def settimeout(self, seconds: float) -> None:
        assert seconds <= BODY_SECONDS

    def recv(self, n_bytes: int) -> bytes:
        self.now += self._seconds
        byte = next(self._content, None)
        return b"" if byte is None else bytes([byte])


@pytest.mark.parametrize(
    ("begun", "rest", "seconds", "body"),
    [
        (b"", b"abcd", 0.0, b"abcd"),
        (b"ab", b"cdef", 0.0, b"abcd"),
        (b"abcdef", b"", 0.0, b"abcd"),
        (b"", b"abcd", BODY_SECONDS / 2, None),
        (b"", b"abc", 0.0, None),
    ],
)
def test_body_is_read_within_a_time_for_all_of_it(
    begun: bytes, rest: bytes, seconds: float, body: bytes | None
) -> None:
    trickle = Trickle(rest, seconds)
    assert read_body(trickle, begun, 4, trickle.clock) == body  # type: ignore[arg-type]


def test_lengths_that_are_no_numbers_are_unknown() -> None:
    assert [body_length(given) for given in ("0", "17", None, "", "-1", "+1", "1_0", "²", "9" * 16)] == [
        *(0, 17),
        *[None] * 7,
    ]
    trickle = Trickle(b"", 0.0)
    assert read_body(trickle, b"", MOST_BODY_BYTES + 1, trickle.clock) is None  # type: ignore[arg-type]


def test_simulation_is_paused_and_resumed_where_it_answers(folder: Path) -> None:
    answers = {"pause": "paused at step 7", "resume": "running at step 7"}
    with Producer("run1", N_ATOMS, n_slots=8) as producer, ThreadPoolExecutor() as threads:
        publish(producer, 0)
        with WatchServer(Watcher(), features=PageFeatures(may_operate=True)) as served:

            def ask_simulation(what: str) -> tuple[int, dict[str, Any]]:
                body = json.dumps({"do": f"{what}-simulation", "channel": str(folder / "run1")}).encode()
                asked = threads.submit(post, served, body)
                while not asked.done():
                    for request in producer.requests():
                        if request.kind in answers:
                            request.answer(answers[request.kind])
                        else:
                            request.refuse("no")
                status, answer = asked.result()
                return status, json.loads(answer)

            for what, is_paused in (("pause", True), ("resume", False)):
                assert ask_simulation(what) == (200, {"message": answers[what]})
                (channel,) = ask(served, served.token)["channels"]
                assert channel["is_paused"] is is_paused
            del answers["pause"]
            status, answer = ask_simulation("pause")
            assert (status, answer["error"]) == (400, "the simulation refused the request: no")
