"""Throttled links of hosts, and networks that hosts have apart from each other."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdreel_lab.bench.rigs.hosts import Host, network_hosts, why_there_are_none
from mdreel_lab.bench.rigs.links import Throttle, throttle, why_there_is_none

WHY_NOT = why_there_are_none() or why_there_is_none()

pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))

N_BYTES = 3_000_000
RECEIVE = """
import socket, sys
with socket.create_server((sys.argv[1], 17717)) as server:
    print("listening", flush=True)
    connection, _ = server.accept()
    with connection, connection.makefile("rb") as stream:
        print(len(stream.read()))
from mdreel_lab.bench.rigs.links import received_bytes
print(received_bytes(0), received_bytes(1))
"""
SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], 17717)) as connection:
    connection.sendall(bytes(int(sys.argv[2])))
"""


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[list[Host]]:
    with network_hosts(["anna", "bert"], tmp_path, n_networks=2) as made:
        yield made


def sent(sender: Host, receiver: Host, network: int) -> tuple[float, list[int]]:
    """Send bytes through a network; return the seconds, and what the receiver has got from each network."""
    address = receiver.address.replace("10.83.71.", f"10.83.{71 + network}.")
    command = receiver.command(sys.executable, "-c", RECEIVE, address)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "listening\n"
        began = time.monotonic()
        sender.run(sys.executable, "-c", SEND, address, str(N_BYTES), check=True)
        assert int(server.stdout.readline()) == N_BYTES
        return time.monotonic() - began, [int(word) for word in server.stdout.readline().split()]


@pytest.mark.parametrize("network", [0, 1])
def test_bytes_take_the_network_of_the_address_and_no_less_time_than_its_link_allows(hosts, network):
    anna, bert = hosts
    limit = Throttle(2e6)
    throttle([bert], limit, network)
    seconds, received = sent(anna, bert, network)
    assert seconds > 0.9 * (N_BYTES - limit.queue_bytes) / limit.bytes_per_s
    assert received[network] > N_BYTES
    assert received[1 - network] < N_BYTES / 100


def test_a_link_is_limited_in_both_directions(hosts):
    anna, bert = hosts
    throttle([bert], Throttle(2e6))
    seconds, _ = sent(bert, anna, 0)
    assert seconds > 0.9 * (N_BYTES - Throttle(2e6).queue_bytes) / 2e6
