"""Tests of full disks, full memory, slow consumers and name conflicts."""

import errno
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from full_disk import full_disk
from growing_file import N_ATOMS
from mdreel.errors import StreamError
from mdreel.live.channels.channel import channel
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.channels.status import list_channels
from mdreel.live.producers.producer import Producer
from publishing import publish, said

SECONDS = 60.0
NO_ROOM = {errno.ENOSPC, errno.EFBIG}  # without the rights for a small disk, a limit on the size of files stands for it
LARGE = 5000  # atoms of a frame of 60 kB


def test_full_disk_in_staging_refuses_the_frame_and_takes_it_when_there_is_room(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    n_frames = 0

    def attempt() -> None:
        nonlocal n_frames
        sequence, _ = producer.publish(np.full((LARGE, 3), n_frames, np.float32), n_frames, 0.0)
        assert sequence == n_frames
        n_frames += 1

    with full_disk(tmp_path / "disk", 512) as disk:
        other_file = disk / "other"
        other_file.write_bytes(bytes(200_000))
        staging = Staging(disk / "staging")
        with (
            Producer("run", LARGE, n_slots=4, full="drop-oldest", staging=staging) as producer,
            Consumer("run", timeout=SECONDS) as consumer,
        ):
            with pytest.raises(OSError, match="segment-") as refused:
                while True:
                    attempt()
            assert refused.value.errno in NO_ROOM
            n_before = n_frames
            assert n_before > 0
            other_file.unlink()
            attempt()
            attempt()
            producer.end()
            seen = list(consumer)
            assert [(frame.sequence, frame.step) for frame in seen] == [(i, i) for i in range(n_before + 2)]
            assert all(np.all(frame.positions == frame.step) for frame in seen)
            assert consumer.missed == 0
            del seen


def test_full_disk_at_the_making_of_the_ring_is_an_error_and_a_smaller_ring_fits(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    with full_disk(tmp_path / "disk", 256) as disk:
        folder = disk / "folder"
        folder.mkdir(mode=0o700)
        with pytest.raises(OSError, match="ring") as refused:
            Producer(folder / "run", N_ATOMS, n_slots=200_000).open()
        assert refused.value.errno in NO_ROOM
        with pytest.raises(FileNotFoundError, match="run"):
            Consumer(folder / "run").open()
        with Producer(folder / "run", N_ATOMS, n_slots=4) as producer:
            publish(producer, 0)
        assert [frame.step for frame in Consumer(folder / "run").open()] == [0]


@pytest.mark.parametrize("full", ["block", "drop-oldest", "spill"])
def test_slow_consumer_sees_every_frame_whatever_the_producer_does_with_a_full_ring(tmp_path: Path, full: str) -> None:
    n_frames = 60

    def simulate() -> None:
        with producer:
            for frame in range(n_frames):
                publish(producer, frame)
                published.release()

    published = threading.Semaphore(0)
    staging = Staging(tmp_path / "staging", segment_bytes=2000)
    producer = Producer("run", N_ATOMS, n_slots=4, full=full, timeout=SECONDS, staging=staging).open()
    consumer = Consumer("run", timeout=SECONDS).open()
    simulation = threading.Thread(target=simulate)
    simulation.start()
    seen = []
    for _ in range(10):
        # As long as it takes for five frames; who blocks has room for four.
        for _ in range(1 if full == "block" else 5):
            assert published.acquire(timeout=SECONDS)
        frame = consumer.next()
        assert frame is not None
        seen.append(frame.step)
        del frame
    seen += [frame.step for frame in consumer]
    simulation.join(SECONDS)
    assert seen == [10 * frame for frame in range(n_frames)]
    assert consumer.missed == 0


RIVAL = """
import sys
from mdreel.live.producers.producer import Producer
print("ready")
sys.stdin.readline()
try:
    producer = Producer("run", 20).open()
except Exception as error:
    print(type(error).__name__, error)
else:
    print("open")
    sys.stdin.read()
"""


def test_one_of_many_producers_has_the_name_that_all_of_them_want_at_once() -> None:
    command = [sys.executable, "-u", "-c", RIVAL]
    rivals = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(5)]
    try:
        assert [said(rival) for rival in rivals] == ["ready"] * len(rivals)
        for rival in rivals:
            assert rival.stdin is not None
            rival.stdin.write("go\n")
            rival.stdin.flush()
        answers = sorted(said(rival) for rival in rivals)
        assert answers[-1] == "open"
        for answer in answers[:-1]:
            assert answer.startswith("StreamError") and "running producer" in answer, answers  # noqa: PT018
        (status,) = list_channels()
        assert (status.name, status.state, status.epoch) == ("run", "running", 0)
    finally:
        for rival in rivals:
            rival.communicate()
    with pytest.raises(StreamError, match="the producer was lost"):
        Consumer("run").open().next()
    channel("run").remove()
