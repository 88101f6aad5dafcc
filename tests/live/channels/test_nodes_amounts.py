"""Tests of the network traffic and resources of servers and relays on separate hosts."""

import json
from pathlib import Path
from typing import Any

import pytest

import far_channels as far
from far_nodes import PORT, Node, go, nodes, token_in
from mdreel_lab.bench.rigs.hosts import Host

pytest.importorskip("zenoh")

N_FRAMES = 128
N_ATOMS = 23_558


def relayed_for(n_consumers: int, far_node: Node, here: Node, name: str) -> tuple[int, dict[str, Any]]:
    """Relay a channel to consumers on one node; return the received bytes and the statistics of the server."""
    producer = far_node.start(far.role("produce", N_FRAMES, N_ATOMS, "finish", name))
    assert far.line_of(producer) == "open"
    address = f"tcp/{far_node.host.address}:{PORT}"
    server = far_node.start(far.role("serve", address, name))
    assert far.line_of(server) == "served"
    here.says("joined", "relay", address, name, "--wait", 60)
    consumers = [here.start(far.role("consume", name)) for _ in range(n_consumers)]
    for consumer in consumers:
        assert far.line_of(consumer) == "joined"
    before = here.received()
    go(producer)
    found = [far.results_of(consumer) for consumer in consumers]
    n_bytes = here.received() - before
    assert found == [{name: far.expected(name, N_FRAMES, N_ATOMS)}] * n_consumers
    assert server.stdin is not None
    server.stdin.close()
    (relay,) = json.loads(far.line_of(server))
    server.wait(60)
    return n_bytes, relay


def test_frames_cross_the_network_once_whatever_the_number_of_consumers(hosts: list[Host], tmp_path: Path) -> None:
    with nodes(hosts, tmp_path) as (far_node, _, here):
        one_bytes, one = relayed_for(1, far_node, here, "one")
        three_bytes, three = relayed_for(3, far_node, here, "three")
    frames_bytes = N_FRAMES * 12 * N_ATOMS
    for relay in (one, three):
        assert (relay["n_frames"], relay["n_again"]) == (N_FRAMES, 0)
        assert frames_bytes < relay["n_bytes"] < 1.01 * frames_bytes
    assert three_bytes < 1.03 * one_bytes
    for n_bytes in (one_bytes, three_bytes):  # with what TCP and Zenoh put before the bytes of frames
        assert frames_bytes < n_bytes < 1.05 * frames_bytes


@pytest.mark.parametrize(("n_atoms", "n_frames", "most_more"), [(8_192, 1_000, 8 << 20), (100, 10_000, 4 << 20)])
def test_memory_of_server_and_relay_does_not_grow_with_the_number_of_frames(
    hosts: list[Host], tmp_path: Path, n_atoms: int, n_frames: int, most_more: int
) -> None:
    token = token_in(tmp_path)
    with nodes(hosts, tmp_path) as (far_node, _, here):
        producer = far_node.start(far.role("produce_parts", n_atoms, "run"))
        assert far.line_of(producer) == "open"
        address = f"tcp/{far_node.host.address}:{PORT}"
        server = far_node.says("served", "serve", "run", "--listen", address, "--token-file", token)
        relay = here.says("joined", "relay", address, "run", "--wait", 60, "--token-file", token)
        consumer = here.start(far.role("consume", "run"))
        assert far.line_of(consumer) == "joined"
        assert producer.stdin is not None
        most = []
        for n_more in (n_frames, 3 * n_frames):
            producer.stdin.write(f"{n_more}\n")
            assert far.line_of(producer) == "published"
            most.append((far_node.most_resident(server), here.most_resident(relay)))
        producer.stdin.close()
        found = far.results_of(consumer)
    assert found == {"run": far.expected("run", 4 * n_frames, n_atoms)}
    # What they keep of freed memory comes with the first frames. Each 35th frame of some 100 KB that was kept, or 140
    # bytes of each small one, would be more.
    for before, after in zip(*most, strict=True):
        assert after < before + most_more, most
