"""Tests of the OpenMM example."""

import re
import runpy
import signal
import subprocess
import sys
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

import mdreel
from architecture.checkout import ROOT
from mdreel._core import FrameSet
from mdreel.live.channels.status import Status
from publishing import running, said

EXAMPLE = ROOT / "examples" / "openmm_live_rmsd.py"
INTERVAL = 5
LONGEST_SECONDS = 120
ENDLESS = 1_000_000


@pytest.fixture(autouse=True)
def _needs_both() -> None:
    pytest.importorskip("openmm", reason="openmm is not installed")
    pytest.importorskip("h5py", reason="h5py is not installed")


def start(part: str, folder: Path, n_frames: int = ENDLESS) -> "AbstractContextManager[subprocess.Popen[str]]":
    """Start the simulation or the analyses in a separate process."""
    command = [sys.executable, EXAMPLE, part, folder, "--frames", str(n_frames), "--interval", str(INTERVAL)]
    return running(command)


def await_frames(folder: Path, n_frames: int) -> int:
    """Wait until a number of frames were published; return the actual number."""
    until = monotonic() + LONGEST_SECONDS
    while monotonic() < until:
        try:
            if (n_published := Status.read(folder / "channel").n_published) >= n_frames:
                return n_published
        except FileNotFoundError:
            pass
        sleep(0.01)
    raise AssertionError(f"{n_frames} frames were not published in time")


def test_live_results_of_openmm_are_those_of_its_archive_and_of_its_own_file() -> None:
    command = [sys.executable, EXAMPLE, "--frames", "300", "--interval", str(INTERVAL)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "300 frames; the same as of the archive and of OpenMM's own file, to the bit" in done.stdout


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_results_are_those_of_the_archive_when_analysis_and_simulation_were_killed(tmp_path: Path) -> None:
    with ExitStack() as processes:
        simulation = processes.enter_context(start("--simulate", tmp_path))
        assert said(simulation) == "the simulation publishes steps from 5 on"
        analysis = processes.enter_context(start("--analyse", tmp_path))
        assert "eigenvalues" in said(analysis)  # of the frames so far
        analysis.kill()
        assert analysis.wait() == -signal.SIGKILL
        analysis = processes.enter_context(start("--analyse", tmp_path))
        assert "eigenvalues" in said(analysis)
        await_frames(tmp_path, 100)
        simulation.kill()
        assert simulation.wait() == -signal.SIGKILL
        n_before = await_frames(tmp_path, 100)
        n_frames = n_before + 200
        simulation = processes.enter_context(start("--simulate", tmp_path, n_frames))
        again = re.search(r"steps from (\d+) on", said(simulation))
        assert again is not None
        first = int(again[1])
        assert 20 * INTERVAL < first <= (n_before + 1) * INTERVAL  # from a checkpoint, not from the beginning
        analysis.communicate(timeout=LONGEST_SECONDS)
        assert analysis.returncode == 0
        assert simulation.wait(LONGEST_SECONDS) == 0

    archive = mdreel.open(tmp_path / "live.h5md")
    steps = archive.reader(np.arange(1, dtype=np.uint32), []).read(FrameSet.range(0, 1, archive.n_frames)).steps
    np.testing.assert_array_equal(steps, INTERVAL * np.arange(1, n_frames + 1))
    example = runpy.run_path(str(EXAMPLE))
    analyses = example["make_analyses"](tmp_path / "live.h5md")
    mdreel.run(analyses)
    expected = example["results_of"](*analyses)
    with np.load(tmp_path / "live.npz") as live:
        assert sorted(live) == sorted(expected)
        for name, values in expected.items():
            assert len(values) == n_frames
            np.testing.assert_array_equal(live[name], values)
