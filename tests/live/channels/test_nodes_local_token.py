"""Tests of the automatic token of servers at loopback addresses."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import far_channels as far
from imd_client import LONG
from mdreel.errors import StreamTimeoutError
from mdreel.live.channels.status import Status
from mdreel.live.nodes import Relay, Security, Server
from mdreel.live.nodes.link import connect_to
from mdreel.live.producers.producer import Producer
from privilege import without_privilege

pytest.importorskip("zenoh")

N_ATOMS = 20


@pytest.fixture
def producer() -> Iterator[Producer]:
    with Producer("run", N_ATOMS, n_slots=8, timeout=LONG) as made:
        yield made


def asks(endpoint: str, security: Security) -> list[object]:
    """Query the channel and return the answer."""
    with connect_to(endpoint, security, 0.0) as session:
        return [reply.ok for reply in session.get("mdreel/1/run/join", payload=b"", timeout=LONG)]


def test_other_user_of_this_machine_gets_nothing_of_a_local_server(producer: Producer, endpoint: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    with far.program("serve", "run", "--listen", endpoint) as server:
        far.says(server, "served at")
        with without_privilege(), pytest.raises(StreamTimeoutError, match="refuses the token"):
            asks(endpoint, Security())
        assert len(asks(endpoint, Security())) == 1, "the user is answered"


def test_relay_of_the_same_user_needs_no_option(producer: Producer, endpoint: str) -> None:
    with far.program("serve", "run", "--listen", endpoint) as server:
        far.says(server, "served at")
        with Relay(endpoint, "run", "there", wait=LONG) as relay:
            producer.publish([[1.0] * 3] * N_ATOMS, 0, 0.0)
            producer.end()
            relay.wait(LONG)
    assert Status.read("there").n_published == 1


def test_token_of_a_local_server_is_in_a_file_of_the_user_and_on_no_command_line(
    producer: Producer, endpoint: str
) -> None:
    from mdreel.live.nodes.local_token import find_token, make_token

    with far.program("serve", "run", "--listen", endpoint) as server:
        far.says(server, "served at")
        path = find_token(endpoint)
        assert path is not None
        assert path.stat().st_mode & 0o7777 == 0o600
        assert path.parent.stat().st_mode & 0o077 == 0
        token = path.read_text().strip()
        assert len(token) >= 32
        assert token.encode() not in Path(f"/proc/{server.pid}/cmdline").read_bytes()
        assert token.encode() not in Path(f"/proc/{server.pid}/environ").read_bytes()
    assert make_token(endpoint) == path, "one that is started again has the same, so that its relays find it"
    assert path.read_text().strip() == token
    path.chmod(0o644)
    assert make_token(endpoint).read_text().strip() != token, "one that others may have read is not used again"


def test_everybody_is_let_in_only_where_that_is_said(producer: Producer, endpoint: str) -> None:
    from mdreel.live.nodes.local_token import make_token

    make_token(endpoint)  # as of a server before: a relay that shows it is let in as anybody is
    with Server("run", endpoint, without_authentication=True):
        assert len(asks(endpoint, Security())) == 1
        if os.geteuid() == 0:
            with without_privilege():
                assert len(asks(endpoint, Security())) == 1


def test_wrong_token_of_the_user_is_refused_at_a_local_server(
    producer: Producer, endpoint: str, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong"
    wrong.touch(0o600)
    wrong.write_text("w" * 32)
    with Server("run", endpoint), pytest.raises(StreamTimeoutError, match="refuses the token"):
        asks(endpoint, Security(wrong))


def test_connections_that_say_nothing_do_not_keep_relays_out(producer: Producer, endpoint: str) -> None:
    host, port = endpoint.removeprefix("tcp/").split(":")
    with Server("run", endpoint):
        silent = [socket.create_connection((host, int(port)), LONG) for _ in range(150)]
        try:
            with Relay(endpoint, "run", "there", wait=LONG) as relay:
                producer.publish([[1.0] * 3] * N_ATOMS, 0, 0.0)
                producer.end()
                relay.wait(LONG)
        finally:
            for each in silent:
                each.close()
    assert Status.read("there").n_published == 1
