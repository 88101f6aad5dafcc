"""Tests of the timing of analyses on channels, which counts time without frames as waiting."""

import threading
from collections.abc import Callable
from pathlib import Path

import MDAnalysis
import pytest

import mdreel
from growing_file import N_ATOMS, write_xtc
from mdreel.live.notices.timing import time_by_kind
from mdreel.live.producers.replay import Pace, replay
from mdreel.timing.spans import NO_BLOCK
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
N_FRAMES, FRAMES_PER_SECOND = 11, 20.0


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
