"""Tests of changes of the wall clock while channels are in use."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import far_channels as far
from told_channels import Told
from wall_clock import HOUR, WallClock, why_there_is_none

N_FRAMES = 300
OLD = {"seconds": HOUR / 2, "segment_bytes": 2000}
"""Frames that were written half an hour ago go; a file has some five of them."""


@pytest.fixture
def clock(tmp_path: Path) -> WallClock:
    why_not = why_there_is_none()
    if why_not is not None:
        pytest.skip(why_not)
    return WallClock(tmp_path / "clock")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def test_clock_of_a_process_is_set_while_it_runs(clock: WallClock, stack: ExitStack, folder: Path) -> None:
    producer = stack.enter_context(Told("produce", folder / "run", clock.environment()))
    for hours in (0, 10, -10):
        clock.set(hours * HOUR)
        assert abs(producer.does("clock") - time.time() - hours * HOUR) < HOUR


@pytest.mark.parametrize("staged", [True, False], ids=["with staging", "in the ring alone"])
def test_frames_reach_consumers_and_groups_once_while_the_clock_is_set(
    clock: WallClock, stack: ExitStack, folder: Path, tmp_path: Path, staged: bool
) -> None:
    there = clock.environment()
    staging = {"path": str(tmp_path / "staging"), **OLD} if staged else None
    producer = stack.enter_context(Told("produce", folder / "run", there, n_slots=4, timeout=60, staging=staging))
    consumers = [stack.enter_context(Told("consume", folder / "run", there)) for _ in range(2)]
    members = [
        stack.enter_context(Told("consume", folder / "run", there, group="both", member=name, share=True))
        for name in "ab"
    ]
    with clock.set_again_and_again():
        for consumer in consumers:  # these wait before there is a frame
            consumer.tell("take", -1)
        for member in members:
            member.tell("share", 5)
        assert producer.does("publish", N_FRAMES) == N_FRAMES
        producer.does("end")
        found = [consumer.answer() for consumer in consumers]
        shared = [step for member in members for step in member.answer()]
        assert [consumer.does("missed") for consumer in consumers] == [0, 0]
    assert found == [list(range(N_FRAMES))] * 2
    assert sorted(shared) == list(range(N_FRAMES))


def test_frames_reach_another_node_once_while_its_clock_and_that_of_the_source_are_set(
    clock: WallClock, stack: ExitStack, folder: Path, endpoint: str
) -> None:
    pytest.importorskip("zenoh")
    there = clock.environment()
    producer = stack.enter_context(Told("produce", folder / "run", there, n_slots=4, timeout=60))
    with clock.set_again_and_again():
        server = stack.enter_context(far.program_of(far.mdreel("serve", "run", "--listen", endpoint), env=there))
        far.says(server, "served at")
        relaying = ("relay", endpoint, "run", "--as", "there", "--patience", 20)
        relay = stack.enter_context(far.program_of(far.mdreel(*relaying), env=there))
        far.says(relay, "joined")
        consumer = stack.enter_context(Told("consume", folder / "there", there))
        consumer.tell("take", -1)
        assert producer.does("publish", N_FRAMES) == N_FRAMES
        producer.does("end")
        assert consumer.answer() == list(range(N_FRAMES))
        assert consumer.does("missed") == 0
        far.says(relay, f"finished after {N_FRAMES} frames")


def test_death_of_a_producer_is_told_while_the_clock_is_set(clock: WallClock, stack: ExitStack, folder: Path) -> None:
    there = clock.environment()
    producer = stack.enter_context(Told("produce", folder / "run", there))
    consumer = stack.enter_context(Told("consume", folder / "run", there))
    with clock.set_again_and_again():
        producer.does("publish", 3)
        assert consumer.does("take", 3) == [0, 1, 2]
        consumer.tell("lost")
        producer.process.kill()
        assert "the producer was lost" in consumer.answer()


def test_time_outs_are_as_long_as_they_are_while_the_clock_is_set(
    clock: WallClock, stack: ExitStack, folder: Path
) -> None:
    there = clock.environment()
    producer = stack.enter_context(Told("produce", folder / "run", there, n_slots=4, timeout=1.0))
    consumer = stack.enter_context(Told("consume", folder / "run", there))
    with clock.set_again_and_again():
        assert 0.99 < consumer.does("refused", 1.0) < 30  # hours, or nothing at all, if it were counted by that clock
        assert 0.99 < producer.does("refused") < 30
        assert consumer.does("take", 4) == list(range(4))


def test_retention_by_age_goes_by_no_clock_that_is_set(
    clock: WallClock, stack: ExitStack, folder: Path, tmp_path: Path
) -> None:
    settings = {"n_slots": 4, "full": "spill", "staging": {"path": str(tmp_path / "staging"), **OLD}}
    producer = stack.enter_context(Told("produce", folder / "run", clock.environment(), **settings))
    for number, hours in enumerate((0, 10, -10, 1000, 0), start=1):
        clock.set(hours * HOUR)
        producer.does("publish", 20)
        late = stack.enter_context(Told("consume", folder / "run", clock.environment()))
        assert late.does("take", 20 * number) == list(range(20 * number))


def test_frames_stay_when_the_clock_is_set_back_between_two_runs(
    clock: WallClock, stack: ExitStack, folder: Path, tmp_path: Path
) -> None:
    settings = {"n_slots": 4, "full": "spill", "staging": {"path": str(tmp_path / "staging"), **OLD}}
    first = stack.enter_context(Told("produce", folder / "run", clock.environment(), **settings))
    first.does("publish", 20)
    first.process.kill()
    first.process.wait()
    clock.set(-10 * HOUR)
    second = stack.enter_context(Told("produce", folder / "run", clock.environment(), **settings, resume_step=20))
    second.does("publish", 20)
    late = stack.enter_context(Told("consume", folder / "run", clock.environment()))
    assert late.does("take", 40) == list(range(40))


def test_retention_by_age_goes_by_the_monotonic_clock(
    clock: WallClock, stack: ExitStack, folder: Path, tmp_path: Path
) -> None:
    settings = {"n_slots": 4, "full": "spill", "staging": {"path": str(tmp_path / "staging"), **OLD}}
    producer = stack.enter_context(Told("produce", folder / "run", clock.environment(also_monotonic=True), **settings))
    producer.does("publish", 20)
    clock.set(10 * HOUR)
    producer.does("publish", 20)
    producer.does("end")
    late = stack.enter_context(Told("consume", folder / "run", clock.environment()))
    found = late.does("take", -1)
    assert found == list(range(found[0], 40))
    assert 10 < found[0] <= 20, "the file that was written to last is younger than the others"
