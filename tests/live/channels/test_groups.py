"""Tests of consumer groups and of frames from staging."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest

import mdreel
from growing_file import N_ATOMS, positions
from mdreel.errors import MismatchError, StreamError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.producer import Producer
from publishing import publish

N_FRAMES = 20
STEPS = [10 * frame for frame in range(N_FRAMES)]


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    return Staging(tmp_path / "staging", segment_bytes=1000)


def all_published(staging: Staging | None, n_frames: int = N_FRAMES) -> None:
    """Publish all frames on the channel `run`, whose ring has four slots."""
    with Producer("run", N_ATOMS, n_slots=4, full="drop-oldest", staging=staging) as producer:
        for frame in range(n_frames):
            publish(producer, frame)


def rest(consumer: Consumer) -> list[int]:
    return [frame.step for frame in consumer]


def test_late_consumer_finds_in_staging_what_the_ring_has_not(staging: Staging) -> None:
    all_published(staging)
    with Consumer("run", timeout=20) as consumer:
        # More than the ring has slots for: those of staging are copies.
        frames = list(consumer)
        assert consumer.missed == 0
        assert [frame.step for frame in frames] == STEPS
        for number, frame in enumerate(frames):
            np.testing.assert_array_equal(frame.positions, positions(number).astype(np.float32))
            assert not frame.positions.flags.writeable
    with Consumer("run", timeout=20, start=("step", 55)) as consumer:
        assert rest(consumer) == STEPS[6:]


def test_consumer_that_holds_a_frame_goes_on_in_staging_when_it_has_fallen_behind(staging: Staging) -> None:
    with (
        Producer("run", N_ATOMS, n_slots=4, full="spill", staging=staging) as producer,
        Consumer("run", timeout=20) as consumer,
    ):
        publish(producer, 0)
        held = consumer.next()
        assert held is not None
        for frame in range(1, N_FRAMES):
            publish(producer, frame)
        kept = [consumer.next() for _ in range(N_FRAMES - 4)]
        assert [frame.step for frame in kept if frame is not None] == STEPS[1 : N_FRAMES - 3]
        np.testing.assert_array_equal(held.positions, positions(0).astype(np.float32))
        del held, kept
        assert [frame.step for frame in (consumer.next() for _ in range(3)) if frame is not None] == STEPS[-3:]
        publish(producer, N_FRAMES)
        last = consumer.next()
        assert last is not None
        assert (last.step, consumer.missed) == (10 * N_FRAMES, 0)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_late_analysis_has_the_bits_of_one_that_was_there(staging: Staging) -> None:
    atoms = MDAnalysis.Universe.empty(N_ATOMS).atoms

    def rmsd() -> np.ndarray[Any, Any]:
        return np.asarray(mdreel.RMSD(atoms).run(source=mdreel.live.channel("run", wait=20, timeout=20)).results.rmsd)

    with Producer("early", N_ATOMS, n_slots=N_FRAMES) as producer:
        for frame in range(N_FRAMES):
            publish(producer, frame)
    early = np.asarray(mdreel.RMSD(atoms).run(source=mdreel.live.channel("early")).results.rmsd)
    all_published(staging)
    assert len(early) == N_FRAMES
    np.testing.assert_array_equal(rmsd(), early)
    np.testing.assert_array_equal(rmsd(), early)


def test_member_goes_on_behind_its_last_commit(staging: Staging) -> None:
    all_published(staging)
    with Consumer("run", timeout=20, group="sum") as member:
        assert member.committed is None
        frames = [member.next() for _ in range(7)]
        member.commit(b"five", frames[4])
        assert member.members() == {"0": b"five"}
    with Consumer("run", timeout=20, group="sum") as member:
        assert member.committed == b"five"
        again = [member.next() for _ in range(3)]
        assert [frame.step for frame in again if frame is not None] == STEPS[5:8]
        member.commit(b"eight")
    with Consumer("run", timeout=20, group="sum") as member:
        assert (member.committed, rest(member)) == (b"eight", STEPS[8:])
    with Consumer("run", timeout=20, group="sum", member="other") as other:
        assert rest(other) == STEPS
        assert other.members() == {"0": b"eight", "other": None}


def test_members_that_share_have_each_step_once_and_take_over_from_one_that_left(staging: Staging) -> None:
    all_published(staging)

    def join(name: str) -> Consumer:
        return Consumer("run", timeout=20, group="work", member=name, share=True).open()

    one, two = join("one"), join("two")
    had: dict[str, list[int]] = {"one": [], "two": []}
    for _ in range(5):
        for name, member in (("one", one), ("two", two)):
            frame = member.next()
            assert frame is not None
            had[name].append(frame.step)
            del frame
    one.commit(b"1")
    two.close()  # its five are for others
    assert sorted(had["one"] + had["two"]) == STEPS[:10]
    found: list[int] = []
    while more := rest(one):  # who has something to commit is told of the end at once
        found += more
        one.commit(b"all")
    assert sorted(found) == sorted(had["two"] + STEPS[10:])
    one.close()
    with join("two") as two:
        assert (rest(two), two.members()) == ([], {"one": b"all", "two": None})


def test_groups_refuse_what_makes_no_sense(staging: Staging) -> None:
    all_published(staging)
    with pytest.raises(MismatchError, match="requires a group"):
        Consumer("run", share=True)
    with Consumer("run") as alone, pytest.raises(MismatchError, match="in no group"):
        alone.commit(b"")
    with Consumer("run", group="sum", timeout=20) as member:
        with pytest.raises(StreamError, match="member 0 of group sum is there already"):
            Consumer("run", group="sum").open()
        with pytest.raises(MismatchError, match="group sum"):
            Consumer("run", group="sum", member="other", share=True).open()
        first, second = member.next(), member.next()
        assert first is not None
        assert second is not None
        member.commit(b"", second)
        with pytest.raises(MismatchError, match="which member 0 was not handed out"):
            member.commit(b"", first)
        with pytest.raises(MismatchError, match="at most 65536 bytes"):
            member.commit(bytes(1 << 17))
    with pytest.raises(MismatchError, match="name"):
        Consumer("run", group="a/b").open()


SUMMING = """
import sys, time
from mdreel.live.channels.consumer import Consumer
with Consumer("run", timeout=60, wait=60, group="sum") as member:
    total = int(member.committed or 0)
    print("joined", flush=True)
    for frame in member:
        total += frame.step
        member.commit(str(total).encode())
        time.sleep(0.001)
"""


def test_member_that_is_killed_again_and_again_sums_up_every_frame_once(staging: Staging) -> None:
    n_frames = 400
    rng = np.random.default_rng(7)
    n_killed = 0
    all_published(staging, n_frames)
    while True:
        with subprocess.Popen([sys.executable, "-c", SUMMING], stdout=subprocess.PIPE) as member:
            assert member.stdout is not None
            assert member.stdout.readline() == b"joined\n"
            try:
                member.wait(0.02 + 0.1 * rng.random() if n_killed < 6 else 60)
            except subprocess.TimeoutExpired:
                member.kill()
                n_killed += 1
        if member.returncode == 0:
            break
        assert member.returncode == -signal.SIGKILL
    assert n_killed >= 2
    with Consumer("run", group="sum") as member_again:
        assert int(member_again.committed or 0) == sum(10 * frame for frame in range(n_frames))
