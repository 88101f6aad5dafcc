"""Tests of chains of relays."""

from pathlib import Path

import numpy as np
import pytest

import far_channels as far
from mdreel.errors import StreamError
from mdreel.live.channels.channel import channel
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.channels.status import Status
from mdreel.live.nodes import Relay, Server
from mdreel.live.producers.producer import Producer

pytest.importorskip("zenoh")

N_ATOMS = 50
LONG = 30.0


def publish(producer: Producer, frames: range) -> None:
    for frame in frames:
        producer.publish(far.positions("run", frame, N_ATOMS), 10 * frame, 0.5 * frame, far.BOX)


def take(consumer: Consumer, n: int) -> list[tuple[int, int, int]]:
    """Check the positions of frames and return their sequence numbers, steps and epochs."""
    found = []
    for _ in range(n):
        frame = consumer.next(timeout=LONG)
        assert frame is not None
        assert frame.positions is not None
        assert np.array_equal(frame.positions, far.positions("run", frame.step // 10, N_ATOMS))
        assert np.array_equal(frame.box, far.BOX)
        assert frame.time == frame.step / 20
        found.append((frame.sequence, frame.step, frame.epoch))
    return found


@pytest.mark.parametrize(("how", "reason"), [("finished", ""), ("stopped", ""), ("failed", "no luck")])
def test_frames_and_end_arrive_behind_two_relays(endpoints: tuple[str, str], how: str, reason: str) -> None:
    first, second = endpoints
    producer = Producer("run", N_ATOMS, n_slots=4).open()
    with (
        Server("run", first),
        Relay(first, "run", "middle", n_slots=4) as one,
        Server("middle", second) as server,
        Relay(second, "middle", "there", n_slots=4) as two,
    ):
        consumer = Consumer("there", timeout=LONG).open()
        for frame in range(0, 40, 4):
            publish(producer, range(frame, frame + 4))
            assert take(consumer, 4) == [(number, 10 * number, 0) for number in range(frame, frame + 4)]
        producer.end(how, reason)
        if how == "failed":
            with pytest.raises(StreamError, match=reason):
                consumer.next(timeout=LONG)
        else:
            assert consumer.next(timeout=LONG) is None
        one.wait(LONG)
        two.wait(LONG)
        assert server.relays[0].n_frames == 40
    status = Status.read("there")
    assert (status.state, status.reason or "", status.n_published, consumer.missed) == (how, reason, 40, 0)
    assert status.manifest == Status.read("run").manifest


def test_epochs_arrive_behind_two_relays(endpoints: tuple[str, str]) -> None:
    first, second = endpoints
    with Server("run", first), Server("middle", second):
        with far.start(far.role("produce", 6, N_ATOMS, "hang", "run")) as process:
            assert far.line_of(process) == "open"
            one = Relay(first, "run", "middle").start()
            two = Relay(second, "middle", "there").start()
            consumer = Consumer("there", timeout=LONG).open()
            assert process.stdin is not None
            process.stdin.write("go\n")
            assert take(consumer, 6) == [(number, 10 * number, 0) for number in range(6)]
            process.kill()
            with pytest.raises(StreamError, match="the producer was lost"):
                consumer.next()
        patient = Consumer("there", timeout=LONG, restart=LONG).open()
        assert len(take(patient, 6)) == 6
        with Producer("run", N_ATOMS, resume_step=40) as producer:  # goes on: 40 and 50 were there before
            publish(producer, range(4, 9))
        assert take(patient, 3) == [(8, 60, 1), (9, 70, 1), (10, 80, 1)]
        one.wait(LONG)
        two.wait(LONG)
        assert patient.next(timeout=LONG) is None
        assert Status.read("there").epoch == Status.read("run").epoch == 1
        for _ in range(2):  # runs that begin anew
            producer = Producer("run", N_ATOMS).open()
            with Relay(first, "run", "middle") as one, Relay(second, "middle", "there") as two:
                publish(producer, range(3))
                producer.end()
                one.wait(LONG)
                two.wait(LONG)
            late = Consumer("there", timeout=LONG).open()
            assert [step for _, step, _ in take(late, 3)] == [0, 10, 20]
            assert late.next(timeout=LONG) is None
        assert Status.read("there").epoch == Status.read("run").epoch == 3


def test_late_relay_behind_a_relay_gets_what_that_has_staged(endpoints: tuple[str, str], tmp_path: Path) -> None:
    first, second = endpoints
    producer = Producer("run", N_ATOMS, n_slots=4, staging=Staging(tmp_path / "source")).open()
    publish(producer, range(20))
    with (
        Server("run", first),
        Relay(first, "run", "middle", n_slots=4, staging=Staging(tmp_path / "middle")) as one,
    ):
        publish(producer, range(20, 40))
        producer.end()
        one.wait(LONG)
    channel("run").remove()
    with (
        Server("middle", second),
        Relay(second, "middle", "there", n_slots=4, staging=Staging(tmp_path / "there")) as two,
    ):
        two.wait(LONG)
    consumer = Consumer("there", timeout=LONG).open()
    assert take(consumer, 40) == [(number, 10 * number, 0) for number in range(40)]
    assert consumer.next(timeout=LONG) is None


@pytest.mark.parametrize("which", [0, 1])
def test_relay_of_a_chain_that_was_killed_goes_on_where_it_was(endpoints: tuple[str, str], which: int) -> None:
    first, second = endpoints
    links = [(first, "run", "middle"), (second, "middle", "there")]
    producer = Producer("run", N_ATOMS, n_slots=16).open()
    with Server("run", first), Server("middle", second):
        consumer = None
        with far.program("relay", *links[which][:2], "--as", links[which][2], "--slots", 16, "--wait", LONG) as killed:
            other = Relay(*links[1 - which], n_slots=16, wait=LONG).start()
            far.says(killed, "joined")
            consumer = Consumer("there", timeout=LONG, restart=LONG).open()
            publish(producer, range(8))
            assert [number for number, _, _ in take(consumer, 8)] == list(range(8))
            killed.kill()
            killed.wait()
        with Relay(*links[which], n_slots=16) as again:
            publish(producer, range(8, 16))
            producer.end()
            again.wait(LONG)
            other.wait(LONG)
        assert [number for number, _, _ in take(consumer, 8)] == list(range(8, 16))
        assert consumer.next(timeout=LONG) is None
    assert consumer.missed == 0
