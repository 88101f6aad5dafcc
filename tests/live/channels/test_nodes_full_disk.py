"""Tests of relays whose staging is on a full disk."""

import errno
import os
import threading
from pathlib import Path

import numpy as np
import pytest

import far_channels as far
from full_disk import full_disk
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.nodes import Relay, Server
from mdreel.live.producers.producer import Producer

pytest.importorskip("zenoh")

N_ATOMS = 2000
N_FRAMES = 40
LONG = 30.0


def fill(path: Path) -> None:
    """Write a file until its disk is full."""
    with path.open("wb", buffering=0) as file, pytest.raises(OSError) as refused:
        while True:
            file.write(bytes(4096))
    assert refused.value.errno == errno.ENOSPC


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk can be mounted by root alone")
def test_relay_waits_while_its_disk_is_full_and_nothing_is_lost(endpoint: str, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    waits = threading.Event()

    def report(line: str) -> None:
        if "waiting for room on the disk" in line:
            waits.set()

    with full_disk(tmp_path / "disk", 2048) as disk, Server("run", endpoint):
        producer = Producer("run", N_ATOMS, n_slots=2 * N_FRAMES).open()
        with Relay(endpoint, "run", "there", staging=Staging(disk / "staging"), report=report) as relay:
            consumer = Consumer("there", timeout=LONG).open()

            def publish(frame: int) -> None:
                producer.publish(far.positions("run", frame, N_ATOMS), 10 * frame, 0.5 * frame, far.BOX)

            publish(0)
            assert consumer.next() is not None
            fill(disk / "other")
            for frame in range(1, N_FRAMES):
                publish(frame)
            producer.end()
            assert waits.wait(LONG)
            (disk / "other").unlink()
            relay.wait(LONG)
            seen = list(consumer)
            assert [frame.step for frame in seen] == [10 * frame for frame in range(1, N_FRAMES)]
            assert all(
                np.array_equal(frame.positions, far.positions("run", frame.step // 10, N_ATOMS)) for frame in seen
            )
            assert (consumer.missed, relay.statistics.n_missed, relay.statistics.n_joins) == (0, 0, 1)
            del seen
            consumer.close()
