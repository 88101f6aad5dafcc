"""Tests of relays that wait for consumers before the first frame."""

import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

import far_channels as far
from mdreel.errors import MissedFramesWarning
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.channels.status import Status
from mdreel.live.nodes import Relay, Server
from mdreel.live.producers.producer import Producer

pytest.importorskip("zenoh")

N_ATOMS = 50
LONG = 30.0


def publish_all(producer: Producer, n_frames: int) -> None:
    producer.await_consumers(1, LONG)
    for frame in range(n_frames):
        producer.publish(far.positions("run", frame, N_ATOMS), 10 * frame, 0.5 * frame, far.BOX)
    producer.end()


@pytest.mark.parametrize("how", ["python", "command line"])
def test_late_consumers_of_a_relay_that_waits_for_them_get_the_first_frame(endpoint: str, how: str) -> None:
    """Publish more frames than both rings hold; each consumer receives all of them."""
    producer = Producer("run", N_ATOMS, n_slots=4).open()
    simulation = threading.Thread(target=publish_all, args=(producer, 100))
    simulation.start()
    found: list[list[int]] = [[], []]

    def take(consumer: Consumer, seen: list[int]) -> None:
        seen.extend(frame.sequence for frame in consumer)

    def consume() -> None:
        consumers = [Consumer("there", timeout=LONG) for _ in found]
        consumers[0].open()
        assert Status.read("run").n_published == 0
        consumers[1].open()
        threads = [threading.Thread(target=take, args=each) for each in zip(consumers, found, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG)

    with Server("run", endpoint, without_authentication=True, patience=LONG):
        if how == "python":
            with Relay(endpoint, "run", "there", n_slots=4, n_consumers=2) as relay:
                consume()
                relay.wait(LONG)
        else:
            with far.program("relay", endpoint, "run", "--as", "there", "--await-consumers", 2) as process:
                far.says(process, "waiting for 2 consumers of there")
                consume()
                assert process.wait(LONG) == 0
    simulation.join(LONG)
    assert found == [list(range(100))] * 2


@pytest.mark.parametrize("how", ["python", "command line"])
def test_member_that_joins_a_declared_group_late_gets_every_frame(endpoint: str, how: str, tmp_path: Path) -> None:
    """Publish more frames than both rings hold; staging keeps those that the group has not read, and no others."""

    def take() -> list[int]:
        with Consumer("there", group="sum", timeout=LONG, start="latest") as consumer:
            return [frame.sequence for frame in consumer]

    staging = tmp_path / "staging"
    producer = Producer("run", N_ATOMS, n_slots=4).open()
    simulation = threading.Thread(target=publish_all, args=(producer, 100))
    simulation.start()
    with Server("run", endpoint, without_authentication=True, patience=LONG):
        if how == "python":
            with Relay(
                endpoint, "run", "there", n_slots=4, staging=Staging(staging, n_frames=1), groups=["sum"]
            ) as relay:
                wait_for_frames("there", 50)
                found = take()
                relay.wait(LONG)
        else:
            words = ("relay", endpoint, "run", "--as", "there", "--group", "sum", "--slots", 4, "--staging", staging)
            with far.program(*words) as process:
                wait_for_frames("there", 50)
                found = take()
                assert process.wait(LONG) == 0
    simulation.join(LONG)
    assert found == list(range(100))


def wait_for_frames(channel: str, n_frames: int) -> None:
    """Wait until so many frames have been published on a channel, which need not exist yet."""
    until = time.monotonic() + LONG
    while True:
        with suppress(FileNotFoundError):
            if Status.read(channel).n_published >= n_frames:
                return
        assert time.monotonic() < until, "the frames did not come"
        time.sleep(0.01)


def test_relay_that_waits_for_consumers_can_be_stopped(endpoint: str) -> None:
    Producer("run", N_ATOMS).open()
    with Server("run", endpoint):
        relay = Relay(endpoint, "run", "there", n_consumers=1).start()
        relay.close()
    assert Status.read("there").state == "lost"


def test_consumer_of_a_relay_that_joined_late_counts_what_had_gone(endpoint: str) -> None:
    with Producer("run", N_ATOMS, n_slots=4) as producer:
        for number in range(10):
            producer.publish(far.positions("run", number, N_ATOMS), 10 * number, 0.5 * number, far.BOX)
    with Server("run", endpoint), Relay(endpoint, "run", "there", n_consumers=1) as relay:
        consumer = Consumer("there", timeout=LONG).open()
        with pytest.warns(MissedFramesWarning, match="6 frames had left the channel before the consumer joined"):
            frame = consumer.next()
        assert frame is not None
        assert frame.sequence == 6
        relay.wait(LONG)
        assert [later.sequence for later in consumer] == [7, 8, 9]
        assert (consumer.missed, consumer.missed_at_start) == (0, 6)


def test_frames_that_a_relay_did_not_request_are_not_missed(endpoint: str) -> None:
    with Producer("run", N_ATOMS) as producer:
        for frame in range(10):
            producer.publish(far.positions("run", frame, N_ATOMS), 10 * frame, 0.5 * frame, far.BOX)
    with Server("run", endpoint), Relay(endpoint, "run", "there", start=("sequence", 7), n_consumers=1) as relay:
        consumer = Consumer("there", timeout=LONG).open()
        relay.wait(LONG)
        assert [frame.sequence for frame in consumer] == [7, 8, 9]
        assert (consumer.missed, consumer.missed_at_start) == (0, 0)
