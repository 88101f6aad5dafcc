"""Runs that are killed: the same command goes on where it was, and gives the same bits."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from forked_python.command import forked_python
from repetitions import N_TIMES

CODE = """
import sys
import numpy as np
from mdreel._core import FrameSet, Pass, rmsd
from mdreel.execution.executors.resolve_executor import find_executor
from mdreel.execution.job import Job
from mdreel.execution.pipeline import run
from mdreel.trajectory.open import open as open_trajectory
from mdreel.timing.timing import Timing

trajectory, backend, checkpoint, output = sys.argv[1:]
source = open_trajectory(trajectory)
atoms = np.arange(3341, dtype=np.uint32)
reference = source.read(FrameSet.range(0, 1, 1), atoms).positions[0].astype(float)
frames = FrameSet.list(np.tile(np.arange(98, dtype=np.uint64), 600))
executor = find_executor(backend, None if backend == "serial" else 4)
job = Job(source, atoms, Pass.of(rmsd(reference, None, True)))
outcome = run(job, frames, executor, n_parts=300, checkpoint=checkpoint or None)
np.save(output, outcome.rows)
print(Timing(outcome.spans).n_frames)
"""
N_FRAMES = 98 * 600


def command(python: str, trajectory: Path, backend: str, checkpoint: Path | str, output: Path) -> list[str]:
    return [python, "-c", CODE, str(trajectory), backend, str(checkpoint), str(output)]


@pytest.fixture(scope="module")
def expected(adk_xtc: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run gives that nobody kills."""
    output = tmp_path_factory.mktemp("expected") / "expected.npy"
    subprocess.run(command(forked_python(), adk_xtc, "threads", "", output), check=True, capture_output=True)
    return output


@pytest.mark.parametrize("backend", ["serial", "threads", "processes", "dask"])
def test_run_that_was_killed_goes_on_where_it_was(backend: str, adk_xtc: Path, expected: Path, tmp_path: Path) -> None:
    output = tmp_path / "output.npy"
    chance = random.Random()
    for attempt in range(N_TIMES):
        checkpoint = tmp_path / f"{attempt}.checkpoint"
        wanted = chance.uniform(0.05, 0.8) * N_FRAMES * 24
        with subprocess.Popen(
            command(sys.executable, adk_xtc, backend, checkpoint, output),  # its workers are in its group
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            while not checkpoint.exists() or checkpoint.stat().st_size < wanted:
                assert process.poll() is None, "it ended before it was killed"
                time.sleep(0.005)
            os.killpg(process.pid, signal.SIGKILL)
        assert not output.exists()
        again = subprocess.run(
            command(forked_python(), adk_xtc, backend, checkpoint, output), check=True, capture_output=True, text=True
        )
        assert output.read_bytes() == expected.read_bytes(), wanted
        assert 0 < int(again.stdout) < N_FRAMES
        output.unlink()
