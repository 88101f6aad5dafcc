"""Tests of the notices of analyses on a channel."""

import threading
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest

import mdreel
from growing_file import N_ATOMS
from mdreel.errors import StreamError
from mdreel.live.notices.notice import Notice
from mdreel.live.notices.reader import NoticeReader, list_notices
from mdreel.live.producers.producer import Producer
from publishing import publish, said, simulate
from told_notices import Series, Told

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def atoms() -> MDAnalysis.AtomGroup:
    return MDAnalysis.Universe.empty(N_ATOMS, trajectory=True).atoms


def notices(channel: Path) -> list[Notice]:
    """Return the notices of the analyses on a channel."""
    found = [NoticeReader(path).read() for path in list_notices(channel)]
    assert None not in found
    return [notice for notice in found if notice is not None]


def publish_all(n_frames: int, **settings: Any) -> None:
    """Publish at most 16 frames on the channel `run1`, whose ring has a slot for each."""
    with Producer("run1", N_ATOMS, n_slots=16, **settings) as producer:
        for frame in range(n_frames):
            publish(producer, frame)


def test_rows_are_seen_while_frames_come(folder: Path, atoms: Any) -> None:
    with Producer("run1", N_ATOMS, n_slots=64) as producer:
        publish(producer, 0)
        rmsd = mdreel.RMSD(atoms)
        live = mdreel.live.stream_results([rmsd], source=mdreel.live.channel("run1"), every=0)
        next(live)
        (notice,) = notices(folder / "run1")
        assert notice.state == "running"
        assert notice.columns == (("frame", ""), ("time", "ps"), ("rmsd", "Å"))
        assert notice.n_frames == len(notice.rows) == 1
        for frame in range(1, 40):
            publish(producer, frame)
    for _ in live:
        pass
    (notice,) = notices(folder / "run1")
    assert (notice.state, notice.n_frames) == ("finished", 40)
    np.testing.assert_array_equal(notice.rows, rmsd.results.rmsd)
    assert notice.last is not None
    np.testing.assert_array_equal(notice.last, rmsd.results.rmsd[-1])
    seconds = notice.seconds
    assert {"wall", "wait", "read", "compute"} <= set(seconds)
    assert sum(seconds.values()) - seconds["wall"] <= seconds["wall"] * 1.01
    assert notice.idle is not None
    assert notice.movement is not None


def test_run_shows_how_far_it_has_come_and_its_rows_at_the_end(folder: Path, atoms: Any) -> None:
    with Producer("run1", N_ATOMS, n_slots=64) as producer:
        radius = mdreel.RMSD(atoms)
        thread = threading.Thread(target=lambda: radius.run(source=mdreel.live.channel("run1")))
        thread.start()
        frame = 0
        while not (folder / "run1" / "analyses").exists() or not any(one.n_frames for one in notices(folder / "run1")):
            publish(producer, frame)
            frame += 1
            assert frame < 2000
            thread.join(0.05)
            assert thread.is_alive()
        (notice,) = notices(folder / "run1")
        assert (notice.state, notice.columns) == ("running", ())
    thread.join(60)
    (notice,) = notices(folder / "run1")
    assert (notice.state, notice.n_frames) == ("finished", frame)
    np.testing.assert_array_equal(notice.last, radius.results.rmsd[-1])


def test_analyses_of_one_pass_have_a_notice_each(folder: Path, atoms: Any) -> None:
    publish_all(5)
    analyses = [mdreel.RMSD(atoms), mdreel.RMSD(atoms[:5]), mdreel.EndToEnd(atoms)]
    mdreel.run(analyses, source=mdreel.live.channel("run1"))
    found = {path.name.rsplit("-", 1)[0]: NoticeReader(path).read() for path in list_notices(folder / "run1")}
    assert len(found) == 3
    names = sorted(notice.name for notice in found.values() if notice is not None)
    assert names == ["EndToEnd", "RMSD", "RMSD"]


class Named(mdreel.RMSD):
    """Analysis with its own columns."""

    def columns(self) -> list[Any]:
        from mdreel.results.column import Column

        return [*super().columns()[:2], Column("distance", "nm", self.results.rmsd[:, 2] / 10)]


def test_own_analysis_says_what_is_seen_of_it(folder: Path, atoms: Any) -> None:
    publish_all(5)
    Named(atoms).run(source=mdreel.live.channel("run1"))
    (notice,) = notices(folder / "run1")
    assert notice.columns[2] == ("distance", "nm")


class Broken(mdreel.RMSD):
    """Analysis whose columns raise an error."""

    def columns(self) -> list[Any]:
        raise RuntimeError("nothing to see")


def test_what_cannot_be_shown_or_written_is_no_matter_to_the_analysis(folder: Path, atoms: Any) -> None:
    publish_all(5)
    broken = Broken(atoms).run(source=mdreel.live.channel("run1"))
    (notice,) = notices(folder / "run1")
    assert (notice.state, notice.n_frames, notice.columns) == ("finished", 5, ())
    mdreel.live.channel("run1").remove()
    publish_all(5)
    (folder / "run1" / "analyses").touch()  # where the folder should be
    rmsd = mdreel.RMSD(atoms).run(source=mdreel.live.channel("run1"))
    np.testing.assert_array_equal(rmsd.results.rmsd, broken.results.rmsd)
    assert list((folder / "run1").rglob("*.jsonl")) == []


def test_failure_and_loss_of_interest_are_told_apart(folder: Path, atoms: Any) -> None:
    publish_all(5)
    for _ in mdreel.live.stream_results([mdreel.RMSD(atoms)], source=mdreel.live.channel("run1"), every=0):
        break
    (notice,) = notices(folder / "run1")
    assert notice.state == "finished"  # all frames were there
    process = simulate(folder / "run2", 0, 5, "hang")
    with process:
        assert [said(process), said(process)] == ["open", "published"]
        live = mdreel.live.stream_results([mdreel.RMSD(atoms)], source=mdreel.live.channel("run2"), every=0)
        next(live)
        live.close()  # type: ignore[attr-defined]
        (notice,) = notices(folder / "run2")
        assert (notice.state, notice.reason) == ("stopped", None)
        process.kill()
    with pytest.raises(StreamError):
        mdreel.RMSD(atoms).run(source=mdreel.live.channel("run2"))
    (notice,) = notices(folder / "run2")
    assert notice.state == "failed"
    assert "lost" in str(notice.reason)


def test_channel_is_removed_with_what_analyses_have_said(folder: Path, atoms: Any) -> None:
    publish_all(5)
    mdreel.RMSD(atoms).run(source=mdreel.live.channel("run1"))
    assert notices(folder / "run1")
    mdreel.live.channel("run1").remove()
    assert list(folder.iterdir()) == []


def test_channel_is_removed_while_somebody_writes_there(folder: Path) -> None:
    for _ in range(20):
        publish_all(1)
        told = Told(folder / "run1", Series(10))
        is_over = threading.Event()

        def write(told: Told = told, is_over: threading.Event = is_over) -> None:
            while not is_over.is_set():
                told.say(n_frames=700)  # which often makes the file anew

        thread = threading.Thread(target=write)
        thread.start()
        try:
            mdreel.live.channel("run1").remove()
        finally:
            is_over.set()
            thread.join(60)
        assert list(folder.iterdir()) == []


def test_next_simulation_on_a_channel_bears_what_is_there(folder: Path, atoms: Any) -> None:
    publish_all(5)
    mdreel.RMSD(atoms).run(source=mdreel.live.channel("run1"))
    publish_all(7)
    rmsd = mdreel.RMSD(atoms).run(source=mdreel.live.channel("run1"))
    assert rmsd.n_frames == 7
    (notice,) = notices(folder / "run1")
    assert notice.n_frames == 7


def test_nothing_is_written_beside_files(tmp_path: Path, atoms: Any) -> None:
    from growing_file import write_xtc

    write_xtc(5, tmp_path / "a.xtc")
    mdreel.RMSD(atoms).run(source=tmp_path / "a.xtc")
    assert [path.name for path in tmp_path.iterdir() if path.name != "a.xtc"] == []
