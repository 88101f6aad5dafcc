"""Tests of network failures and crashes on separate hosts."""

from pathlib import Path

import pytest

import far_channels as far
from far_nodes import PORT, go, nodes, token_in
from mdreel_lab.bench.rigs.hosts import Host

pytest.importorskip("zenoh")

N_FRAMES = 128
N_ATOMS = 23_558


def test_eight_producers_on_two_hosts_reach_eight_consumers_on_a_third(hosts: list[Host], tmp_path: Path) -> None:
    token = token_in(tmp_path)
    with nodes(hosts, tmp_path) as (*far_nodes, here):
        names, producers = [], []
        for node in far_nodes:
            own = [f"{node.host.name}{i}" for i in range(4)]
            producers.append(node.start(far.role("produce", N_FRAMES, N_ATOMS, "finish", *own)))
            assert far.line_of(producers[-1]) == "open"
            address = f"tcp/{node.host.address}:{PORT}"
            node.says("served", "serve", *own, "--listen", address, "--token-file", token)
            for name in own:
                here.says("joined", "relay", address, name, "--wait", 60, "--token-file", token)
            names += own
        consumer = here.start(far.role("consume", *names))
        assert far.line_of(consumer) == "joined"
        for producer in producers:
            go(producer)
        found = far.results_of(consumer)
    assert found == {name: far.expected(name, N_FRAMES, N_ATOMS) for name in names}


@pytest.mark.parametrize("seconds", [1, 6])
def test_cut_network_heals_and_nothing_is_lost_torn_or_twice(hosts: list[Host], tmp_path: Path, seconds: int) -> None:
    token = token_in(tmp_path)
    with nodes(hosts, tmp_path) as (far_node, _, here):
        producer = far_node.start(far.role("produce", N_FRAMES, N_ATOMS, "finish", "run"))
        assert far.line_of(producer) == "open"
        address = f"tcp/{far_node.host.address}:{PORT}"
        serve = ("serve", "run", "--listen", address, "--token-file", token, "--patience", 60)
        far_node.says("served", *serve)
        here.says("joined", "relay", address, "run", "--wait", 60, "--token-file", token, "--slots", 4)
        consumer = here.start(far.role("consume", "run"))
        assert far.line_of(consumer) == "joined"
        go(producer)
        assert far.line_of(consumer) == "first"
        here.host.run("ip", "link", "set", "eth0", "down", check=True)
        try:
            here.host.run("sleep", str(seconds), check=True)
        finally:
            here.host.run("ip", "link", "set", "eth0", "up", check=True)
        found = far.results_of(consumer)
    assert found == {"run": far.expected("run", N_FRAMES, N_ATOMS)}


def test_death_of_a_simulation_is_told_on_the_other_node(hosts: list[Host], tmp_path: Path) -> None:
    token = token_in(tmp_path)
    with nodes(hosts, tmp_path) as (far_node, _, here):
        producer = far_node.start(far.role("produce", 5, N_ATOMS, "hang", "run"))
        assert far.line_of(producer) == "open"
        address = f"tcp/{far_node.host.address}:{PORT}"
        far_node.says("served", "serve", "run", "--listen", address, "--token-file", token)
        here.says("joined", "relay", address, "run", "--wait", 60, "--token-file", token)
        consumer = here.start(far.role("consume", "run"))
        assert far.line_of(consumer) == "joined"
        go(producer)
        assert far.line_of(producer) == "published"
        far_node.host.run("kill", "-KILL", far.line_of(producer), check=True)
        found = far.results_of(consumer)["run"]
    assert found["sequences"] == list(range(5))
    assert "the producer was lost" in found["end"]
