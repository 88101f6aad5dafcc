"""Tests of relays at the beginning of an epoch, also of relays that are killed there."""

import signal
import subprocess
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dying_relay
import far_channels as far
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.channels.status import Status
from mdreel.live.nodes import Relay, Server
from mdreel.live.producers.producer import Producer

pytest.importorskip("zenoh")

N_ATOMS = 200_000  # three chunks
N_SLOTS = 16
LONG = 30.0
MOMENTS = [
    "behind the message of the epoch",
    "within its first frame",
    "behind the epoch of the local channel",
    "behind its first frame",
]


def publish(producer: Producer, run: str, frames: range) -> None:
    for frame in frames:
        producer.publish(far.positions(run, frame, N_ATOMS), 10 * frame, 0.5 * frame, far.BOX)


def take(consumer: Consumer, run: str, n: int) -> list[tuple[int, int, int]]:
    """Return the sequence number, the epoch and the number in the run of each frame."""
    found = []
    for _ in range(n):
        frame = consumer.next(timeout=LONG)
        assert frame is not None
        assert frame.positions is not None
        assert np.array_equal(frame.positions, far.positions(run, frame.step // 10, N_ATOMS))
        found.append((frame.sequence, frame.epoch, frame.step // 10))
    return found


def is_killed_at(moment: str, endpoint: str, n_before: int) -> "AbstractContextManager[subprocess.Popen[str]]":
    """Start a relay that is killed at a given moment."""
    return far.program_of([*far.PYTHON, dying_relay.__file__, endpoint, "run", "there", moment, n_before])


@pytest.mark.parametrize("moment", MOMENTS)
def test_relay_killed_where_a_run_goes_on_has_all_behind_what_was_seen_once(endpoint: str, moment: str) -> None:
    seen = [(number, 0, number) for number in range(6)]
    with Server("run", endpoint) as server:
        with far.start(far.role("produce", 6, N_ATOMS, "hang", "run")) as before:
            assert far.line_of(before) == "open"
            with is_killed_at(moment, endpoint, 6) as dying:
                far.says(dying, "joined")
                consumer = Consumer("there", timeout=LONG, restart=LONG).open()
                assert before.stdin is not None
                before.stdin.write("go\n")
                assert take(consumer, "run", 6) == seen
                before.kill()
                before.wait()
                producer = Producer("run", N_ATOMS, resume_step=40).open()
                publish(producer, "run", range(4, 9))
                assert dying.wait(LONG) == -signal.SIGKILL
        with Relay(endpoint, "run", "there", n_slots=N_SLOTS) as relay:
            producer.end()
            relay.wait(LONG)
        assert len(server.relays) == 1, "it is the same relay"
        fresh = [(8, 1, 6), (9, 1, 7), (10, 1, 8)]
        assert take(consumer, "run", 3) == fresh
        assert consumer.next(timeout=LONG) is None
    late = Consumer("there", timeout=LONG).open()
    assert take(late, "run", 9) == seen + fresh, "frames of the first time, and none twice"
    assert late.next(timeout=LONG) is None
    assert (consumer.missed, relay.statistics.n_missed) == (0, 0)
    assert (Status.read("there").state, Status.read("there").epoch) == ("finished", 1)


@pytest.mark.parametrize("moment", MOMENTS)
def test_relay_killed_where_a_new_run_begins_has_each_frame_of_it_once(endpoint: str, moment: str) -> None:
    with Server("run", endpoint):
        with Producer("run", N_ATOMS) as producer, Relay(endpoint, "run", "there", n_slots=N_SLOTS) as relay:
            publish(producer, "before", range(3))
            producer.end()
            relay.wait(LONG)
        with Producer("run", N_ATOMS) as producer:
            with is_killed_at(moment, endpoint, 0) as dying:
                publish(producer, "run", range(5))
                assert dying.wait(LONG) == -signal.SIGKILL
            with Relay(endpoint, "run", "there", n_slots=N_SLOTS) as relay:
                producer.end()
                relay.wait(LONG)
    consumer = Consumer("there", timeout=LONG).open()
    assert take(consumer, "run", 5) == [(3 + frame, 1, frame) for frame in range(5)]
    assert consumer.next(timeout=LONG) is None
    assert (consumer.missed, relay.statistics.n_missed) == (0, 0)


def dies_behind_six_frames(stack: ExitStack, endpoint: str, **options: Any) -> Consumer:
    """Have a producer die whose six frames were relayed to the channel `there`, and return a consumer of these."""
    before = stack.enter_context(far.start(far.role("produce", 6, N_ATOMS, "hang", "run")))
    assert far.line_of(before) == "open"
    with Server("run", endpoint), Relay(endpoint, "run", "there", n_slots=N_SLOTS, **options):
        consumer = Consumer("there", timeout=LONG, restart=LONG).open()
        assert before.stdin is not None
        before.stdin.write("go\n")
        assert [number for _, _, number in take(consumer, "run", 6)] == list(range(6))
    before.kill()
    before.wait()
    return consumer


@pytest.mark.parametrize("has_staging", [False, True])
def test_frames_that_are_published_again_are_not_missed_behind_a_relay(
    endpoint: str, tmp_path: Path, has_staging: bool
) -> None:
    options = {"staging": Staging(tmp_path / "staging")} if has_staging else {}
    with ExitStack() as stack:
        consumer = dies_behind_six_frames(stack, endpoint, **options)
        with Server("run", endpoint), Relay(endpoint, "run", "there", n_slots=N_SLOTS, **options) as relay:
            with Producer("run", N_ATOMS, resume_step=40) as producer:
                publish(producer, "run", range(4, 8))
            relay.wait(LONG)
        assert take(consumer, "run", 2) == [(8, 1, 6), (9, 1, 7)]
        assert consumer.next() is None
        assert (consumer.missed, relay.statistics.n_missed) == (0, 0)


@pytest.mark.parametrize("has_staging", [False, True])
def test_frames_that_are_lost_while_a_producer_restarts_are_missed_behind_a_relay(
    endpoint: str, tmp_path: Path, has_staging: bool
) -> None:
    options = {"staging": Staging(tmp_path / "staging")} if has_staging else {}
    with ExitStack() as stack:
        consumer = dies_behind_six_frames(stack, endpoint, **options)
        with Producer("run", N_ATOMS, resume_step=40) as producer:
            publish(producer, "run", range(4, 14))  # six of them stay in the ring
        with Server("run", endpoint), Relay(endpoint, "run", "there", n_slots=N_SLOTS, **options) as relay:
            relay.wait(LONG)
        assert take(consumer, "run", 6) == [(number + 2, 1, number) for number in range(8, 14)]
        assert consumer.next() is None
        # Nobody knows of a frame that has gone whether its step was seen before.
        assert (consumer.missed, relay.statistics.n_missed) == (4, 4)
