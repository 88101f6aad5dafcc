"""Tests of readers that join a channel whose run has ended."""

import threading
import time
import warnings
from dataclasses import replace
from typing import Any

import MDAnalysis
import pytest

import mdreel
from growing_file import N_ATOMS
from mdreel.errors import EndedRunWarning, MissedFramesWarning, StreamError, StreamTimeoutError
from mdreel.live.channels import runs
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.runs import describe_end
from mdreel.live.channels.status import Status
from mdreel.live.producers.producer import Producer
from publishing import publish, said, simulate


def run_of(n_frames: int, n_consumers: int = 0, **settings: Any) -> None:
    with Producer("run", N_ATOMS, n_slots=8, **settings) as producer:
        producer.await_consumers(n_consumers, timeout=20)
        for frame in range(n_frames):
            publish(producer, frame)


def lost_run_of(n_frames: int) -> None:
    """A run whose producer was killed."""
    process = simulate("run", 0, n_frames, "hang")
    assert (said(process), said(process)) == ("open", "published")
    process.kill()
    process.communicate()


def n_analysed(**settings: Any) -> int:
    atoms = MDAnalysis.Universe.empty(N_ATOMS, trajectory=True).atoms
    return len(mdreel.RMSD(atoms).run(source=mdreel.live.channel("run", **settings)).results.rmsd)


def n_taken(**settings: Any) -> int:
    with Consumer("run", **settings) as consumer:
        return sum(1 for _ in consumer)


READERS = pytest.mark.parametrize("read", [n_analysed, n_taken])


@READERS
def test_reader_of_an_ended_run_is_told_when_it_ended(read: Any) -> None:
    run_of(3)
    ended_at = Status.read("run").ended_at
    assert ended_at is not None
    assert abs(time.time() - ended_at) < 60
    clock = time.strftime("%H:%M", time.localtime(ended_at))
    expected = rf"run: the run ended at .*{clock} \(finished\); reading what is left.*new_run=True \(--new-run\)"
    with pytest.warns(EndedRunWarning, match=expected) as caught:
        assert read(wait=5) == 3
    assert len(caught) == 1


def test_end_of_another_day_has_its_date() -> None:
    run_of(1)
    status = Status.read("run")
    then = time.mktime((2026, 1, 2, 3, 4, 5, 0, 0, -1))
    found = describe_end(type(status)(**{**vars(status), "ended_at": then}))
    assert found == "the run ended at 2026-01-02 03:04 (finished)"
    assert describe_end(type(status)(**{**vars(status), "ended_at": None})) == "the run has ended (finished)"


@READERS
def test_reader_of_a_lost_run_is_told(read: Any) -> None:
    lost_run_of(3)
    loss = r"process \d+ \(.+\) on .+ has died without an end record"
    expected = f"the run was lost after 3 frames: {loss}; reading what is left"
    with pytest.warns(EndedRunWarning, match=expected), pytest.raises(StreamError, match="the producer was lost"):
        read()


@READERS
@pytest.mark.parametrize("before", ["none", "ended", "lost"])
def test_reader_waits_for_the_next_run_and_reads_only_that(read: Any, before: str) -> None:
    if before == "ended":
        run_of(3)
    elif before == "lost":
        lost_run_of(3)
    simulation = threading.Timer(0.1, run_of, (5, 1), {"resume_step": 0 if before == "lost" else None})
    simulation.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", EndedRunWarning)
            warnings.simplefilter("error", MissedFramesWarning)
            assert read(new_run=True, wait=20) == 5
    finally:
        simulation.join()


def test_producer_whose_epoch_has_not_begun_is_no_new_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run_of(3)
    ended = Status.read("run")
    opening, opened = replace(ended, state="running"), replace(ended, state="running", epoch=ended.epoch + 1)
    seen = iter([ended, opening, opening, opened])
    monkeypatch.setattr(runs.Status, "read", lambda channel: next(seen))
    runs.join_run(lambda: None, ended.path, 20.0, new_run=True)
    assert list(seen) == []


def test_run_that_goes_on_is_the_new_run() -> None:
    with Producer("run", N_ATOMS) as producer, Consumer("run", new_run=True) as consumer:
        publish(producer, 0)
        frame = consumer.next(timeout=20)
        assert frame is not None
        assert frame.step == 0


@READERS
def test_new_run_that_does_not_begin_is_an_error(read: Any) -> None:
    with pytest.raises(StreamTimeoutError, match=r"no new run began within 0.01 s; the channel does not exist"):
        read(new_run=True, wait=0.01)
    run_of(3)
    with pytest.raises(StreamTimeoutError, match=r"no new run began within 0.01 s; the run ended at .* \(finished\)"):
        read(new_run=True, wait=0.01)


def test_frames_that_a_restart_repeats_are_not_missed_by_a_late_reader() -> None:
    for _ in range(2):
        with Producer("run", N_ATOMS, n_slots=4, resume_step=0) as producer:
            for frame in range(4):
                publish(producer, frame)
    with warnings.catch_warnings(), Consumer("run") as consumer:
        warnings.simplefilter("error", MissedFramesWarning)
        assert [frame.step for frame in consumer] == [0, 10, 20, 30]
        assert consumer.missed_at_start == 0
