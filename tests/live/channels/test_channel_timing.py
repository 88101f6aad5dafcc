"""Tests of the timing of analyses on channels, which counts time without frames as waiting."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import MDAnalysis
import pytest

import mdreel
from growing_file import N_ATOMS, write_xtc
from mdreel._core import Source
from mdreel.cli.analyses import runner
from mdreel.cli.analyses.request import AnalysisRequest, AnalysisSpec, Request, Table
from mdreel.live.notices.timing import time_by_kind
from mdreel.live.producers.producer import Producer
from mdreel.live.producers.replay import Pace, replay
from mdreel.timing.spans import NO_BLOCK
from mdreel.trajectory.open import open as open_trajectory
from publishing import publish

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
N_FRAMES, FRAMES_PER_SECOND = 11, 20.0
SECONDS_BEFORE = 0.2


def run_at_the_end(analysis: mdreel.RMSD) -> None:
    analysis.run(source=mdreel.live.channel("run", wait=60), backend="serial")


def run_live(analysis: mdreel.RMSD) -> None:
    for _ in mdreel.live.stream_results([analysis], source=mdreel.live.channel("run", wait=60), every=0):
        pass


@pytest.mark.parametrize("run", [run_at_the_end, run_live])
def test_run_that_waits_for_most_of_its_time_shows_waiting(run: Callable[..., None], tmp_path: Path) -> None:
    write_xtc(N_FRAMES, tmp_path / "whole.xtc")
    source = open_trajectory(tmp_path / "whole.xtc")
    settings = {"n_consumers": 1, "pace": Pace(frames=FRAMES_PER_SECOND)}
    simulation = threading.Thread(target=lambda: replay(source, "run", **settings))
    simulation.start()
    analysis = mdreel.RMSD(MDAnalysis.Universe.empty(N_ATOMS).atoms)
    try:
        run(analysis)
    finally:
        simulation.join(60)
    timing = analysis.timing
    assert timing.n_frames == N_FRAMES
    least = 0.5 * (N_FRAMES - 1) / FRAMES_PER_SECOND
    assert timing.shares["wait"] > 0.5
    assert timing.shares["wait"] * timing.run_seconds > least
    assert timing.per_worker("wait")[0] > least
    assert timing.observables.t_wait[0] + timing.observables.t_idle[0] > least
    assert timing.bottleneck.kind == "wait"
    waits = timing.spans[timing.spans["block"] != NO_BLOCK]
    assert (waits["stop_ns"] >= waits["start_ns"]).all()
    assert time_by_kind(timing)["wait"] == pytest.approx(timing.shares["wait"] * timing.run_seconds)


@pytest.mark.parametrize("run", [run_at_the_end, run_live])
def test_time_before_the_first_frame_is_waiting(run: Callable[..., None]) -> None:
    def simulate() -> None:
        time.sleep(SECONDS_BEFORE)  # the channel does not exist yet
        with Producer("run", N_ATOMS) as producer:
            producer.await_consumers(1, timeout=20)
            time.sleep(SECONDS_BEFORE)  # and the reference is the first frame
            publish(producer, 0)

    simulation = threading.Thread(target=simulate)
    simulation.start()
    analysis = mdreel.RMSD(MDAnalysis.Universe.empty(N_ATOMS).atoms)
    run(analysis)
    simulation.join(60)
    timing = analysis.timing
    assert timing.run_seconds > 2 * SECONDS_BEFORE
    assert timing.shares["wait"] * timing.run_seconds > 2 * SECONDS_BEFORE - 0.01
    assert (timing.bottleneck.kind, timing.topology_seconds) == ("wait", 0.0)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of MDAnalysis, for atoms without masses
@pytest.mark.parametrize("is_growing", [False, True])
def test_topology_is_not_blamed_for_the_wait_for_a_reference(
    is_growing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(runner, "perf_counter", lambda: clock[0])

    def prepare(atoms: MDAnalysis.AtomGroup, source: Source) -> mdreel.RMSD:
        clock[0] += 100.0  # reads its reference
        return mdreel.RMSD(atoms, trajectory=source)

    def tabulate(analysis: mdreel.RMSD) -> Table:
        return Table(analysis.columns(), "", lambda title: analysis.plot(title=title))

    MDAnalysis.Universe.empty(N_ATOMS, trajectory=True).atoms.write(tmp_path / "atoms.gro")
    write_xtc(1, tmp_path / "whole.xtc")
    source = open_trajectory(tmp_path / "whole.xtc")
    if is_growing:
        replay(source, "run")
        source = mdreel.live.channel("run").source()
    spec = AnalysisSpec("RMSD", prepare, tabulate, {})
    request = Request(tmp_path / "atoms.gro", (), "all")
    prepared = runner.prepare(request, [AnalysisRequest(spec, "all")], lambda _: source)
    assert prepared.topology_seconds == (0.0 if is_growing else 100.0)
