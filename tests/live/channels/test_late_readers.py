"""Tests that a reader which joins a run late is told how many frames it lacks."""

import warnings
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest

import mdreel
from growing_file import N_ATOMS
from mdreel.errors import MismatchError, MissedFramesWarning, StreamError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.producer import Producer
from mdreel.live.stream_results import stream_results
from publishing import publish

ADVICE = "6 frames had left the channel before the {} joined.*await_consumers.*staging"


@pytest.fixture
def atoms() -> MDAnalysis.AtomGroup:
    return MDAnalysis.Universe.empty(N_ATOMS, trajectory=True).atoms


def publish_all(n_frames: int = 10, staging: Staging | None = None) -> None:
    with Producer("run", N_ATOMS, n_slots=4, staging=staging) as producer:
        for frame in range(n_frames):
            publish(producer, frame)


def n_missed_frames_warnings(caught: pytest.WarningsRecorder) -> int:
    """The number of warnings, without the one that the run has ended."""
    return sum(one.category is MissedFramesWarning for one in caught)


def test_run_on_what_is_left_warns_once_and_counts(atoms: MDAnalysis.AtomGroup) -> None:
    publish_all()
    with pytest.warns(MissedFramesWarning, match=ADVICE.format("analysis")) as caught:
        rmsd = mdreel.RMSD(atoms).run(source=mdreel.live.channel("run"))
    assert n_missed_frames_warnings(caught) == 1
    assert (len(rmsd.results.rmsd), rmsd.timing.missed) == (4, 6)
    assert "4 frames (6 missed)" in rmsd.timing.summary()


def test_stream_of_results_warns_once_and_counts(atoms: MDAnalysis.AtomGroup) -> None:
    publish_all()
    rmsd = mdreel.RMSD(atoms, trajectory=mdreel.live.channel("run"))
    with pytest.warns(MissedFramesWarning, match=ADVICE.format("analysis")) as caught:
        for _ in stream_results([rmsd], every=0):
            pass
    assert (n_missed_frames_warnings(caught), rmsd.timing.missed) == (1, 6)


def test_run_fails_where_a_complete_result_was_asked_for(atoms: MDAnalysis.AtomGroup) -> None:
    publish_all()
    with pytest.raises(StreamError, match="6 frames had left the channel before this reader joined"):
        mdreel.RMSD(atoms).run(source=mdreel.live.channel("run", on_late="raise"))
    with pytest.raises(MismatchError, match="on_late must be one of warn, raise, not 'ignore'"):
        mdreel.live.channel("run", on_late="ignore")


def test_consumer_warns_once_and_counts() -> None:
    publish_all()
    with Consumer("run") as consumer:
        with pytest.warns(MissedFramesWarning, match=ADVICE.format("consumer")) as caught:
            assert [frame.step for frame in consumer] == [60, 70, 80, 90]
        assert (len(caught), consumer.missed_at_start, consumer.missed) == (1, 6, 0)


@pytest.mark.parametrize("how", ["in time", "staging", "from a frame on", "from the last frame on", "next run"])
def test_reader_that_lacks_nothing_is_not_warned(how: str, atoms: MDAnalysis.AtomGroup, tmp_path: Path) -> None:
    start: str | tuple[str, float] = {"from a frame on": ("sequence", 7), "from the last frame on": ("step", 90)}.get(
        how, "earliest"
    )
    publish_all(4 if how == "in time" else 10, Staging(tmp_path / "staging") if how == "staging" else None)
    if how == "next run":
        publish_all(3)
    n_frames = {"in time": 4, "staging": 10, "from a frame on": 3, "from the last frame on": 1, "next run": 3}[how]
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissedFramesWarning)
        rmsd = mdreel.RMSD(atoms).run(source=mdreel.live.channel("run", start=start, on_late="raise"))
    assert (len(rmsd.results.rmsd), rmsd.timing.missed) == (n_frames, 0)
    assert np.isfinite(rmsd.results.rmsd).all()


def test_retention_of_staging_is_told_as_well(atoms: MDAnalysis.AtomGroup, tmp_path: Path) -> None:
    publish_all(60, Staging(tmp_path / "staging", n_frames=5, segment_bytes=1000))
    with pytest.warns(MissedFramesWarning, match="frames had left the channel"):
        rmsd = mdreel.RMSD(atoms).run(source=mdreel.live.channel("run"))
    assert rmsd.timing.missed + len(rmsd.results.rmsd) == 60
