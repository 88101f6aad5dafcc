"""Tests of channels with dead, missing or unauthorised producers and consumers."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from growing_file import N_ATOMS
from mdreel.errors import FormatError, MismatchError, StreamError, StreamTimeoutError
from mdreel.live.channels.channel import Channel, channel
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.status import Status, list_channels
from mdreel.live.producers.producer import Producer
from privilege import without_privilege
from publishing import publish, said, simulate

LONGEST_SECONDS = 5.0  # 0.2 s are meant, but a test must not fail because a machine is busy


def steps(consumer: Consumer, n: int) -> list[int]:
    found = []
    for _ in range(n):
        frame = consumer.next(timeout=20)
        assert frame is not None
        found.append(frame.step)
    return found


@pytest.mark.filterwarnings("ignore::mdreel.errors.MissedFramesWarning")  # the simulation waits for nobody
def test_consumer_in_another_process_sees_every_frame_and_the_end() -> None:
    with simulate("run", 0, 500, "finish") as process:
        assert said(process) == "open"
        with Consumer("run", timeout=20) as consumer:
            found = [frame.step for frame in consumer]
            assert consumer.end == "finished"
    assert found[-1] == 4990
    assert found == list(range(found[0], 5000, 10))


def test_producer_that_was_killed_is_lost_and_its_successor_goes_on() -> None:
    with simulate("run", 0, 6, "hang") as process:
        assert said(process) == "open"
        assert said(process) == "published"
        consumer = Consumer("run").open()
        assert steps(consumer, 6) == list(range(0, 60, 10))
        threading.Timer(0.1, process.kill).start()
        began = time.monotonic()
        with pytest.raises(StreamError, match="the producer was lost"):
            consumer.next()
        assert time.monotonic() - began < LONGEST_SECONDS
    assert Status.read("run").state == "lost"
    with pytest.raises(MismatchError, match="its producer died after 6 frames; set resume_step="):
        Producer("run", N_ATOMS, n_slots=8).open()
    with simulate("run", 4, 9, "finish"):
        patient = Consumer("run", timeout=20, restart=20).open()
        assert [frame.step for frame in patient][-5:] == [40, 50, 60, 70, 80]
        assert steps(consumer, 3) == [60, 70, 80]
        assert consumer.next(timeout=20) is None
    assert (Status.read("run").state, Status.read("run").epoch) == ("finished", 1)


def test_consumer_waits_for_the_successor_as_long_as_it_was_told() -> None:
    with simulate("run", 0, 2, "hang") as process:
        assert [said(process) for _ in range(2)] == ["open", "published"]
        consumer = Consumer("run", timeout=20, restart=20).open()
        assert steps(consumer, 2) == [0, 10]
        process.kill()
    threading.Timer(0.2, lambda: simulate("run", 1, 3, "finish").communicate()).start()
    assert steps(consumer, 1) == [20]
    assert consumer.next() is None


def test_new_run_on_a_channel_that_has_ended_begins_anew() -> None:
    for _ in range(2):
        with Producer("run", N_ATOMS) as producer:
            for frame in range(3):
                publish(producer, frame)
        assert [frame.step for frame in Consumer("run").open()] == [0, 10, 20]


def test_dead_consumer_does_not_stop_the_producer() -> None:
    with Producer("run", N_ATOMS, n_slots=4, timeout=20) as producer:
        code = "from mdreel.live import Consumer; joined = Consumer('run').open(); print('joined'); input()"
        with subprocess.Popen(
            [sys.executable, "-u", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert said(process) == "joined"
            assert Status.read("run").n_consumers == 1
            process.kill()
        for frame in range(20):
            publish(producer, frame)
        assert producer.n_consumers == 0


def test_second_producer_and_other_frames_are_refused() -> None:
    with Producer("run", N_ATOMS), pytest.raises(StreamError, match="run: the channel has a running producer"):
        Producer("run", N_ATOMS, resume_step=0).open()
    with pytest.raises(MismatchError, match="the channel has 20 atoms, you gave 21 atoms"):
        Producer("run", N_ATOMS + 1).open()
    with pytest.raises(MismatchError, match=r"the channel has \d+ slots, you gave 5"):
        Producer("run", N_ATOMS, n_slots=5).open()


def test_absent_channel_is_a_missing_file_unless_it_is_waited_for(folder: Path) -> None:
    for join in (Consumer("run").open, channel("run").source, channel("run").status, channel("run").remove):
        with pytest.raises(FileNotFoundError, match="run"):
            join()
    assert list_channels() == []
    process = None

    def begin() -> None:
        nonlocal process
        process = simulate("run", 0, 5, "finish")

    timer = threading.Timer(0.2, begin)
    timer.start()
    assert steps(Consumer("run", wait=20).open(), 5) == [0, 10, 20, 30, 40]
    timer.join()
    assert process is not None
    process.communicate()
    assert [path.name for path in folder.iterdir()] == ["run"]


@pytest.mark.parametrize("name", ["", ".hidden", "a b", "x" * 65, "ö", "-x"])
def test_names_that_are_no_names_are_refused(name: str) -> None:
    for made in (lambda: Producer(name, 3), lambda: Consumer(name), lambda: Channel(name)):
        with pytest.raises(MismatchError, match="the name of a channel must be"):
            made()


def test_channel_that_others_may_enter_is_refused(folder: Path) -> None:
    with Producer("run", N_ATOMS):
        (folder / "run").chmod(0o750)
        for join in (Consumer("run").open, channel("run").source, channel("run").status):
            with pytest.raises(PermissionError, match="expected no rights for others, got mode 750"):
                join()
        (folder / "run").chmod(0o700)
        (folder / "run" / "ring").chmod(0o604)
        with pytest.raises(PermissionError, match="got mode 604"):
            Consumer("run").open()


def test_folder_that_others_may_enter_or_have_made_is_refused(folder: Path) -> None:
    folder.chmod(0o755)
    with pytest.raises(PermissionError, match="expected no rights for others, got mode 755"):
        Producer("run", N_ATOMS).open()
    with pytest.raises(PermissionError):
        list_channels()
    folder.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(folder, 65534, -1)
        with pytest.raises(PermissionError, match="expected user 0 as the owner, got 65534; set MDREEL_CHANNELS"):
            Producer("run", N_ATOMS).open()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_channel_of_another_user_is_refused() -> None:
    with tempfile.TemporaryDirectory() as name, Producer(f"{name}/run", N_ATOMS):
        Path(name).chmod(0o711)
        message = "expected it to belong to user 65534, got 0"
        with without_privilege(), pytest.raises(PermissionError, match=message):
            Consumer(f"{name}/run").open()


def test_directory_that_is_no_channel_is_refused(folder: Path) -> None:
    with Producer("run", N_ATOMS):
        pass
    (folder / "run" / "ring").write_bytes(b"nothing of the kind" * 1000)
    for join in (Consumer("run").open, channel("run").source, channel("run").status):
        with pytest.raises(FormatError, match=r"ring.*expected a ring of version"):
            join()


def test_channel_is_removed_when_its_producer_has_gone(folder: Path) -> None:
    with Producer("run", N_ATOMS) as producer:
        publish(producer, 0)
        consumer = Consumer("run").open()
        with pytest.raises(StreamError, match="running producer"):
            channel("run").remove()
    channel("run").remove()
    assert list(folder.iterdir()) == []
    assert [frame.step for frame in consumer] == [0]


def test_status_of_all_channels_says_how_they_are() -> None:
    with Producer("b", N_ATOMS, n_slots=4) as producer, Consumer("b"):
        for frame in range(3):
            publish(producer, frame)
        with pytest.raises(RuntimeError), Producer("a", 7):
            raise RuntimeError("no luck")
        failed, running = list_channels()
    assert (failed.name, failed.state, failed.reason) == ("a", "failed", "RuntimeError: no luck")
    assert (running.name, running.state, running.n_published, running.lags) == ("b", "running", 3, (3,))
    assert (running.lag, running.n_consumers, running.n_slots) == (3, 1, 4)
    assert running.manifest.n_atoms == N_ATOMS


@pytest.mark.parametrize("waiting", ["frame", "channel", "room", "successor"])
def test_waiting_ends_when_a_signal_handler_raises(waiting: str) -> None:
    class EnoughError(Exception):
        pass

    def ring(*_: object) -> None:
        raise EnoughError

    producer = Producer("run", N_ATOMS, n_slots=2).open()
    consumer = Consumer("run", restart=1000).open()
    if waiting == "room":
        publish(producer, 0)
        publish(producer, 1)
    if waiting == "successor":
        assert producer._core is not None
        producer._core.leave()
    actions: dict[str, Callable[[], object]] = {
        "frame": consumer.next,
        "channel": Consumer("absent", wait=1000).open,
        "room": lambda: publish(producer, 2),
        "successor": consumer.next,
    }
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        began = time.monotonic()
        with pytest.raises(EnoughError):
            actions[waiting]()
        assert time.monotonic() - began < LONGEST_SECONDS
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_frame_that_is_late_is_a_timeout_and_may_still_come() -> None:
    with Producer("run", N_ATOMS) as producer:
        consumer = Consumer("run", timeout=0.05).open()
        with pytest.raises(StreamTimeoutError, match=r"run: no frame came within 0.05 s"):
            consumer.next()
        publish(producer, 0)
        assert steps(consumer, 1) == [0]
        with pytest.raises(MismatchError, match="timeout must be a time in seconds, 0 or more, not -1"):
            consumer.next(timeout=-1)
