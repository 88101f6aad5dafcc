"""Tests of the access control of hubs."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import far_channels as far
from imd_client import LONG, ImdClient
from mdreel.errors import MismatchError, StreamError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.engines.imd import Engine, Hub
from mdreel.live.producers.producer import Producer
from privilege import without_privilege

N_ATOMS = 50
ANYWHERE = "127.0.0.1:0"


@pytest.fixture
def producer() -> Iterator[Producer]:
    with Producer("run", N_ATOMS, n_slots=8, timeout=LONG) as made:
        yield made


def test_stranger_is_sent_away(producer: Producer) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    with far.program("hub", "--channel", "run", "--listen", ANYWHERE) as hub:
        assert hub.stderr is not None
        port = hub.stderr.readline().rsplit(":", 1)[1]
        with without_privilege():  # whose a socket is, is who has made it
            stranger = socket.create_connection(("127.0.0.1", int(port)), LONG)
        assert stranger.recv(8) == b""
        stranger.close()
        far.says(hub, "refused: another user")
        with ImdClient(f"127.0.0.1:{int(port)}").go():
            producer.await_consumers(1, LONG)


def test_whoever_is_allowed_by_address_may_connect(producer: Producer) -> None:
    with Hub("run", ANYWHERE, allow=["127.0.0.0/8"]) as hub, ImdClient(hub.address).go():
        producer.await_consumers(1, LONG)
    with Hub("run", ANYWHERE, allow=["10.1.2.3"]) as hub, pytest.raises((EOFError, ConnectionError)):
        ImdClient(hub.address)


def test_hub_that_anybody_could_reach_is_refused(producer: Producer, tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match="all interfaces"):
        Hub("run", "0.0.0.0:0")
    with pytest.raises(MismatchError, match="anyone who can reach this address"):
        Hub("run", "0.0.0.0:0", all_interfaces=True)
    Hub("run", "0.0.0.0:0", all_interfaces=True, allow=["10.0.0.0/24"])
    token = tmp_path / "token"
    token.write_text("a secret of the two of us\n")
    with pytest.raises(PermissionError, match="no rights for others"):
        Hub("run", ANYWHERE, token_file=token)
    with pytest.raises(MismatchError, match="forwards requires an engine"):
        Hub("run", ANYWHERE, forwards=["pause"])
    with Hub("run", ANYWHERE) as hub, pytest.raises(OSError, match="in use"):
        Hub("run", hub.address).open()
    with pytest.raises(FileNotFoundError):
        Hub("absent", ANYWHERE).open()


def test_token_is_shown_by_another_hub_and_by_nobody_else(producer: Producer, tmp_path: Path) -> None:
    tokens = {}
    for name in ("right", "wrong"):
        tokens[name] = tmp_path / name
        tokens[name].touch(0o600)
        tokens[name].write_text(f"the {name} secret of the two of us\n")
    with Hub("run", ANYWHERE, token_file=tokens["right"]) as hub:
        with ImdClient(hub.address).go() as client, pytest.raises((EOFError, ConnectionError)):
            client.read(1)
        for engine in (Engine(hub.address), Engine(hub.address, token_file=tokens["wrong"])):
            with Hub("there", ANYWHERE, engine) as other, pytest.raises(StreamError):
                other.wait(LONG)
        with Hub("there", ANYWHERE, Engine(hub.address, token_file=tokens["right"])) as other:
            producer.await_consumers(1, LONG)
            for step in range(8):
                producer.publish(np.full((N_ATOMS, 3), step), step, 0.5 * step)
            producer.end()
            assert other.wait(LONG) == "stopped"
    assert [frame.step for frame in Consumer("there").open()] == list(range(8))
