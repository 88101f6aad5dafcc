"""Tests that analyses of a channel give bit for bit the results of the file."""

import pickle
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest

import mdreel
from growing_file import N_ATOMS, write_xtc
from mdreel.errors import FrameIndexError, MismatchError, StreamError, StreamTimeoutError, UnsupportedError
from mdreel.live.producers.producer import Producer
from mdreel.live.producers.replay import Pace, replay
from mdreel.trajectory.open import open as open_trajectory
from publishing import publish

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
N_FRAMES = 3000


@pytest.fixture(scope="module")
def atoms() -> MDAnalysis.AtomGroup:
    return MDAnalysis.Universe.empty(N_ATOMS).atoms


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "whole.xtc"
    write_xtc(N_FRAMES, path)
    return path


@contextmanager
def replayed(path: Path, **settings: Any) -> Iterator[None]:
    """Publish a file on the channel `run` in a thread."""
    done: list[int] = []
    thread = threading.Thread(target=lambda: done.append(replay(open_trajectory(path), "run", **settings)))
    thread.start()
    try:
        yield
    finally:
        thread.join(60)
    assert done == [N_FRAMES]


def all_in_ring(path: Path) -> None:
    """Publish a file on the channel `run`, whose ring has a slot for each frame."""
    assert replay(open_trajectory(path), "run", n_slots=N_FRAMES) == N_FRAMES


def rmsd(atoms: Any, **options: Any) -> np.ndarray:
    return np.asarray(mdreel.RMSD(atoms).run(**options).results.rmsd)


@pytest.mark.parametrize("backend", ["threads", "serial"])
def test_channel_gives_the_bits_of_the_file(whole: Path, atoms: Any, backend: str) -> None:
    with replayed(whole, n_slots=8, n_consumers=1):
        found = rmsd(atoms, source=mdreel.live.channel("run", wait=20), backend=backend)
    np.testing.assert_array_equal(found, rmsd(atoms, source=whole))


class Width(mdreel.AnalysisBase):
    """Analysis defined by a user."""

    def _prepare(self) -> None:
        self.results.width = np.zeros(self.n_frames)

    def _single_frame(self) -> None:
        self.results.width[self._frame_index] = np.ptp(self.atomgroup.positions[:, 0])

    def _conclude(self) -> None:
        self.results.widest = self.results.width.max()


@pytest.mark.parametrize("backend", ["threads", "serial"])
def test_analysis_of_ones_own_gives_the_bits_of_the_file(whole: Path, atoms: Any, backend: str) -> None:
    with replayed(whole, n_slots=8, n_consumers=1):
        found = Width(atoms).run(source=mdreel.live.channel("run", wait=20), backend=backend)
    np.testing.assert_array_equal(found.results.width, Width(atoms).run(source=whole).results.width)


def test_live_results_of_code_of_ones_own_are_those_of_the_frames_so_far(whole: Path, atoms: Any) -> None:
    expected, own = Width(atoms).run(source=whole).results.width, Width(atoms)
    widest = mdreel.from_function(lambda frame: float(np.ptp(frame[:, 0])), atoms, reduce=mdreel.analysis.Reducer(max))
    with replayed(whole, n_slots=8, n_consumers=1, pace=Pace(frames=20_000)):
        for _ in mdreel.live.stream_results([own, widest], source=mdreel.live.channel("run", wait=20), every=0):
            np.testing.assert_array_equal(own.results.width, expected[: own.n_frames])
            assert widest.results.value == own.results.widest == expected[: own.n_frames].max()
    assert own.n_frames == N_FRAMES


@pytest.mark.parametrize("window", [{"start": 5}, {"step": 7}, {"start": 3, "stop": 1001, "step": 50}, {"stop": 9999}])
def test_channel_obeys_start_stop_and_step(whole: Path, atoms: Any, window: dict[str, int]) -> None:
    all_in_ring(whole)
    found = rmsd(atoms, source=mdreel.live.channel("run"), **window)
    np.testing.assert_array_equal(found, rmsd(atoms, source=whole, **window))


def test_one_pass_over_a_channel_gives_the_results_of_each(whole: Path, atoms: Any) -> None:
    atoms.universe.add_TopologyAttr("masses", np.arange(1.0, N_ATOMS + 1))
    all_in_ring(whole)
    analyses = [mdreel.RMSD(atoms, ref_frame=7), mdreel.Rg(atoms), mdreel.EndToEnd(atoms)]
    mdreel.run(analyses, source=mdreel.live.channel("run"))
    alone = [mdreel.RMSD(atoms, ref_frame=7), mdreel.Rg(atoms), mdreel.EndToEnd(atoms)]
    mdreel.run(alone, source=whole)
    for found, expected in zip(analyses, alone, strict=True):
        assert found.results.keys() == expected.results.keys()
        for name in expected.results:
            np.testing.assert_array_equal(found.results[name], expected.results[name])


def test_live_results_are_those_of_the_frames_so_far_and_of_all_at_the_end(whole: Path, atoms: Any) -> None:
    expected = rmsd(atoms, source=whole)
    analysis = mdreel.RMSD(atoms)
    n_seen = []
    with replayed(whole, n_slots=8, n_consumers=1, pace=Pace(frames=20_000)):
        for (same,) in mdreel.live.stream_results([analysis], source=mdreel.live.channel("run", wait=20), every=0):
            assert same is analysis
            found = analysis.results.rmsd
            np.testing.assert_array_equal(found, expected[: len(found)])
            n_seen.append(len(found))
    assert n_seen == sorted(set(n_seen))
    assert n_seen[-1] == N_FRAMES
    assert analysis.timing.summary()


def test_live_results_obey_the_window_and_follow_files_as_well(whole: Path, atoms: Any) -> None:
    window = {"start": 10, "stop": 1500, "step": 7}
    for source in (mdreel.live.channel("run"), mdreel.trajectory.follow(whole, idle=0.1)):
        all_in_ring(whole)
        analysis = mdreel.RMSD(atoms)
        for _ in mdreel.live.stream_results([analysis], source=source, **window):
            pass
        np.testing.assert_array_equal(analysis.results.rmsd, rmsd(atoms, source=whole, **window))
    with pytest.raises(UnsupportedError, match="does not grow"):
        next(mdreel.live.stream_results([mdreel.RMSD(atoms)], source=whole))


def test_live_results_are_there_when_the_simulation_fails(atoms: Any) -> None:
    with pytest.raises(RuntimeError), Producer("run", N_ATOMS) as producer:
        for frame in range(5):
            publish(producer, frame)
        raise RuntimeError("no more money")
    analysis = mdreel.RMSD(atoms)
    given = []
    with pytest.raises(StreamError, match="failed after 5 frames: RuntimeError: no more money"):
        live = mdreel.live.stream_results([analysis], source=mdreel.live.channel("run"), every=1000)
        given.extend(len(analysis.results.rmsd) for _ in live)
    assert given == [5]
    with pytest.raises(StreamError, match="no more money"):
        rmsd(atoms, source=mdreel.live.channel("run"))


def test_channel_without_frames_and_frames_that_do_not_come_are_errors(atoms: Any) -> None:
    with Producer("run", N_ATOMS), pytest.raises(StreamTimeoutError, match=r"nothing came for 0.1 s"):
        rmsd(atoms, source=mdreel.live.channel("run", timeout=0.1))
    with pytest.raises(FrameIndexError, match="frame 0 does not exist: the trajectory has 0 frames"):
        rmsd(atoms, source=mdreel.live.channel("run"))


def test_channel_says_what_it_cannot_do(whole: Path, atoms: Any) -> None:
    all_in_ring(whole)
    source = mdreel.live.channel("run").source()
    assert (source.format, source.n_atoms, source.is_growing, source.quantities) == (
        "channel",
        N_ATOMS,
        True,
        ["positions"],
    )
    with pytest.raises(UnsupportedError, match="come once, to one process: use the threads or the serial executor"):
        pickle.dumps(source)
    for options in ({"frames": [1, 2]}, {"start": -5}, {"n_parts": 3}, {"on_error": "skip"}):
        with pytest.raises(UnsupportedError):
            rmsd(atoms, source=source, **options)
    assert len(rmsd(atoms, source=source)) == N_FRAMES
    with pytest.raises(StreamError, match="frame 0: the frame has gone by"):
        rmsd(atoms, source=source)
    with pytest.raises(MismatchError, match="the trajectory has 20 atoms, the topology has 3"):
        rmsd(MDAnalysis.Universe.empty(3).atoms, source=mdreel.live.channel("run"))
    with pytest.raises(MismatchError, match="on_missed must be one of"):
        mdreel.live.channel("run", on_missed="ignore")


def test_frames_that_were_overwritten_are_an_error_unless_that_is_borne(atoms: Any) -> None:
    with Producer("run", N_ATOMS, n_slots=4, full="drop-oldest") as producer:
        strict, tolerant = (mdreel.live.channel("run", on_missed=way).source() for way in ("raise", "skip"))
        for frame in range(10):
            publish(producer, frame)
    with pytest.raises(StreamError, match="6 frames were overwritten before they were taken"):
        rmsd(atoms, source=strict)
    found = rmsd(atoms, source=tolerant)
    np.testing.assert_array_equal(found[:, :2], [(i, 0.5 * (6 + i)) for i in range(4)])


def test_run_over_a_channel_stops_waiting_when_a_signal_handler_raises(atoms: Any) -> None:
    class EnoughError(Exception):
        pass

    def ring(*_: object) -> None:
        raise EnoughError

    with Producer("run", N_ATOMS) as producer:
        publish(producer, 0)
        for backend in ("threads", "serial", "live"):
            before = signal.signal(signal.SIGALRM, ring)
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                with pytest.raises(EnoughError):
                    if backend == "live":
                        list(mdreel.live.stream_results([mdreel.RMSD(atoms)], source=mdreel.live.channel("run")))
                    else:
                        rmsd(atoms, source=mdreel.live.channel("run"), backend=backend)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)


def test_replay_refuses_what_cannot_be_published(whole: Path) -> None:
    with pytest.raises(MismatchError, match="no frame is left"):
        replay(open_trajectory(whole), "run", start=N_FRAMES)
    for wrong in ({"frames": 0.0}, {"time": -1.0}, {"frames": float("inf")}):
        with pytest.raises(MismatchError, match="a pace must be more than 0"):
            Pace(**wrong)
    assert Pace(frames=2.0).due(3, 100.0) == 1.5
    assert Pace(time=50.0).due(3, 100.0) == 2.0
    assert Pace().due(3, 100.0) == 0.0
