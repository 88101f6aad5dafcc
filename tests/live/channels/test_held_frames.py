"""Tests that frames in use never change and never hold up a simulation."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from growing_file import N_ATOMS, positions
from mdreel.errors import MismatchError, StreamTimeoutError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.frame import Frame
from mdreel.live.channels.staging import Staging
from mdreel.live.channels.status import Status
from mdreel.live.producers.producer import Producer
from publishing import publish

STOPPED = """
import os, signal, sys
from mdreel.live.channels.consumer import Consumer
with Consumer("run", policy=sys.argv[1]) as frames:
    for frame in frames:
        array = frame.positions
        print(frame.step, flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
"""


def next_step(process: "subprocess.Popen[bytes]") -> int:
    """Return the step that a process has printed before it stopped, and wait until it has stopped."""
    assert process.stdout is not None
    step = int(process.stdout.readline())
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    return step


def take(consumer: Consumer) -> Frame:
    frame = consumer.next(timeout=20)
    assert frame is not None
    return frame


@pytest.mark.parametrize("full", ["block", "drop-oldest", "spill"])
def test_frames_that_are_kept_never_change_and_the_others_still_come(full: str, tmp_path: Path) -> None:
    staging = Staging(tmp_path / "staging") if full == "spill" else None
    with Producer("run", N_ATOMS, n_slots=4, full=full, staging=staging, timeout=20) as producer:
        holding, other = Consumer("run").open(), Consumer("run").open()
        frames, arrays = [], []
        for frame in range(40):
            publish(producer, frame)
            frames.append(take(holding))
            arrays.append(frames[-1].positions)
            assert take(other).step == 10 * frame
        assert (holding.missed, other.missed, producer.dropped) == (0, 0, 0)
    assert [frame.step for frame in frames] == [10 * frame for frame in range(40)]
    for number, array in enumerate(arrays):
        np.testing.assert_array_equal(array, positions(number))
        assert not array.flags.writeable


def test_loop_variable_holds_up_nobody_while_the_next_frame_is_waited_for() -> None:
    with Producer("run", N_ATOMS, n_slots=2, timeout=20) as producer, Consumer("run") as consumer:
        publish(producer, 0)
        for seen, frame in enumerate(consumer):
            array = frame.positions
            assert frame.step == 10 * seen
            np.testing.assert_array_equal(array, positions(seen))
            if seen == 20:
                break
            publish(producer, seen + 1)


def test_slow_member_of_a_group_that_shares_goes_on_behind_the_frames_of_others() -> None:
    with Producer("run", N_ATOMS, n_slots=4, timeout=20) as producer:
        members = [Consumer("run", group="work", member=name, share=True).open() for name in "ab"]
        publish(producer, 0)
        kept = take(members[0])
        for frame in range(1, 30):
            publish(producer, frame)
            assert take(members[1]).step == 10 * frame
            members[1].commit()
            with pytest.raises(StreamTimeoutError):
                members[0].next(timeout=0)
        publish(producer, 30)
        assert take(members[0]).step == 300  # `kept` came 30 frames ago, and is alive
        np.testing.assert_array_equal(kept.positions, positions(0))


def test_consumer_that_holds_a_frame_never_stops_a_producer_that_drops_frames() -> None:
    with Producer("run", N_ATOMS, n_slots=4, full="drop-oldest", timeout=0) as producer:
        consumer = Consumer("run").open()
        publish(producer, 0)
        frame = take(consumer)
        array = frame.positions
        for number in range(1, 100):
            assert publish(producer, number) == number
        # Three slots have the last frames; 96 of 99 were lost.
        assert (producer.dropped, Status.read("run").n_dropped) == (96, 96)
        assert [take(consumer).step for _ in range(3)] == [970, 980, 990]
        assert consumer.missed == 96
        np.testing.assert_array_equal(array, positions(0))


def test_frame_is_dropped_and_counted_where_consumers_hold_all_slots() -> None:
    with Producer("run", N_ATOMS, n_slots=2, full="drop-oldest") as producer:
        stopped = [subprocess.Popen([sys.executable, "-c", STOPPED, "every"], stdout=subprocess.PIPE) for _ in range(2)]
        try:
            producer.await_consumers(2, timeout=20)
            publish(producer, 0)
            for process in stopped:
                assert next_step(process) == 0
            levels = [producer.publish(positions(frame), 10 * frame, 0.0).level for frame in range(1, 50)]
            assert set(levels) <= {"ring", "dropped"}
            assert producer.dropped >= 47
        finally:
            for process in stopped:
                process.kill()
                process.communicate()


@pytest.mark.parametrize("full", ["block", "drop-oldest"])
def test_stopped_viewer_of_the_latest_frame_is_waited_for_by_nobody(full: str) -> None:
    with Producer("run", N_ATOMS, n_slots=4, full=full, timeout=0) as producer, Consumer("run") as other:
        publish(producer, 0)
        viewer = subprocess.Popen([sys.executable, "-c", STOPPED, "latest"], stdout=subprocess.PIPE)
        try:
            assert next_step(viewer) == 0
            for number in range(1, 50):
                assert take(other).step == 10 * (number - 1)
                publish(producer, number)
            os.kill(viewer.pid, signal.SIGCONT)
            assert next_step(viewer) == 490
            assert (producer.dropped, other.missed, producer.n_consumers) == (0, 0, 1)
        finally:
            viewer.kill()
            viewer.communicate()


def test_stopped_consumer_loses_frames_where_they_may_be_dropped_and_is_told_how_many() -> None:
    with Producer("run", N_ATOMS, n_slots=4, full="drop-oldest", timeout=0) as producer, Consumer("run") as other:
        stopped = subprocess.Popen([sys.executable, "-c", STOPPED, "every"], stdout=subprocess.PIPE)
        try:
            producer.await_consumers(2, timeout=20)
            publish(producer, 0)
            assert next_step(stopped) == 0
            for number in range(1, 50):
                assert take(other).step == 10 * (number - 1)
                publish(producer, number)
            assert (producer.dropped, other.missed) == (46, 0)
            os.kill(stopped.pid, signal.SIGCONT)
            assert next_step(stopped) == 470
        finally:
            stopped.kill()
            stopped.communicate()


def test_viewer_of_the_latest_frame_counts_what_it_has_skipped() -> None:
    with Producer("run", N_ATOMS, n_slots=4) as producer, Consumer("run", policy="latest") as viewer:
        for number in range(10):
            publish(producer, number)
        assert (take(viewer).step, viewer.missed, producer.lag) == (90, 9, None)
        publish(producer, 10)
        assert (take(viewer).step, viewer.missed) == (100, 9)
        producer.end()
        assert viewer.next() is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"policy": "newest"}, "policy must be one of every, latest, not 'newest'"),
        ({"policy": "latest", "group": "work"}, "cannot be combined with a group"),
        ({"policy": "latest", "start": ("step", 3)}, r"cannot be combined with start=\('step', 3\)"),
    ],
)
def test_policy_that_means_nothing_is_refused(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(MismatchError, match=words):
        Consumer("run", **arguments)
