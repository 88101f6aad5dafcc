"""Tests of groups that a producer declares before its first frame."""

import os
from pathlib import Path

import numpy as np
import pytest

import mdreel
from full_disk import full_disk
from growing_file import N_ATOMS
from mdreel.errors import MismatchError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.groups import Group
from mdreel.live.producers.producer import Producer
from publishing import publish

N_FRAMES = 60
LARGE = 1000  # atoms of a frame of 12 kB


@pytest.mark.parametrize("share", [False, True])
def test_group_that_joins_behind_the_end_has_every_frame(share: bool, tmp_path: Path) -> None:
    staging = Staging(tmp_path / "staging", n_frames=5, segment_bytes=1000)
    groups = [Group("work", share=share)]
    with Producer("run", N_ATOMS, n_slots=4, full="spill", staging=staging, groups=groups) as producer:
        for frame in range(N_FRAMES):
            publish(producer, frame)
    steps = []
    for member in "ab":
        with Consumer("run", group="work", member=member, share=share) as consumer:
            for frame in consumer:
                steps.append(frame.step)
                if len(steps) == N_FRAMES // 2 and share:
                    break
            consumer.commit()
    expected = [10 * frame for frame in range(N_FRAMES)]
    assert steps == (expected if share else 2 * expected)


def test_group_without_staging_keeps_its_place_in_the_ring() -> None:
    with Producer("run", N_ATOMS, groups=["sum"]) as producer:
        publish(producer, 0)
        with Consumer("run", group="sum", start="latest") as consumer:
            frame = consumer.next(timeout=20)
            assert frame is not None
            assert frame.step == 0  # the group begins with the first frame, whatever its members ask for


def test_group_of_a_restarted_producer_goes_on() -> None:
    def open_producer(share: bool = False) -> Producer:
        return Producer("run", N_ATOMS, groups=[Group("sum", share)])

    with open_producer() as producer:
        publish(producer, 0)
        with Consumer("run", group="sum") as consumer:
            consumer.next(timeout=20)
            consumer.commit(b"one")
    with open_producer() as producer, Consumer("run", group="sum") as consumer:
        assert consumer.committed == b"one"
        publish(producer, 0)
        frame = consumer.next(timeout=20)
        assert frame is not None
        assert frame.sequence == 1
    with pytest.raises(MismatchError, match="group sum gives each member every frame, but this member wants a share"):
        open_producer(share=True).open()
    assert mdreel.live.Status.read("run").state == "failed"


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("sum", r"groups must be a sequence of names, such as \['sum'\], not 'sum'"),
        (["sum", Group("sum", share=True)], "each group may be declared once, got sum, sum"),
        (["a/b"], "name of a group: expected 1 to 64 letters"),
    ],
)
def test_groups_that_are_none_are_refused(groups: list[str], expected: str) -> None:
    with pytest.raises(MismatchError, match=expected):
        Producer("run", N_ATOMS, groups=groups).open()


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk can be mounted by root alone")
def test_disk_that_is_full_of_frames_gets_room_when_groups_commit(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    with full_disk(tmp_path / "disk", 1024) as disk:
        staging = Staging(disk / "staging", n_frames=5, segment_bytes=20_000)
        with Producer("run", LARGE, n_slots=4, full="spill", staging=staging, groups=["sum", "late"]) as producer:

            def publish_until_full(frame: int) -> int:
                with pytest.raises(OSError, match="staging"):
                    while True:
                        producer.publish(np.full((LARGE, 3), frame, np.float32), frame, 0.0)
                        frame += 1
                return frame

            n_full = publish_until_full(0)
            assert publish_until_full(n_full) == n_full
            # The groups have no member yet, and all room is taken by frames that they have not had.
            for group in ("sum", "late"):
                with Consumer("run", group=group, timeout=20) as consumer:
                    for number in range(n_full):
                        frame = consumer.next()
                        assert frame is not None
                        assert frame.step == number
                        consumer.commit(bytes(20_000))
                        del frame
            producer.publish(np.full((LARGE, 3), n_full, np.float32), n_full, 0.0)
