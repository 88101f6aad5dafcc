"""Test of an ensemble as a job array of a local Slurm installation."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.slurm_service import Slurm, reason_to_skip, running_slurm, wait_for
from forked_python.command import forked_python
from live.ensemble.conftest import Walks
from live.ensemble.test_again import standing

FRAMES = 100

pytestmark = [
    pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or "Slurm is there"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with running_slurm(tmp_path_factory.mktemp("slurm"), n_nodes=2) as slurm:
        yield slurm


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """Return the environment of the tests for a job."""
    folder = tmp_path / "environment"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "activate").write_text(f"export PATH={folder / 'bin'}:$PATH\n")
    command = folder / "bin" / "mdreel"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m mdreel.cli "$@"\n')
    command.chmod(0o755)
    return folder


def script_of(walks: Walks) -> Path:
    """Write the batch script."""
    command = [forked_python(), "-m", "mdreel.cli", "ensemble", "slurm", "e.toml", "-o", "job.sh"]
    done = subprocess.run(command, cwd=walks.folder, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return walks.folder / "job.sh"


def logs(walks: Walks) -> str:
    return "\n".join(path.read_text() for path in sorted(walks.folder.glob("*.log")))


def settings(environment: Path) -> str:
    table = f'replicas-per-job = 3\ncpus-per-job = 2\ntime = "00:10:00"\nenvironment = "{environment}"'
    return f"at-once = 2\ngrace = 1\n[slurm]\n{table}"


def test_array_of_jobs_runs_the_whole_ensemble(slurm: Slurm, walks: Walks, environment: Path) -> None:
    walks.say(5, FRAMES, "--die-at", 44, "--only", 2, settings=settings(environment))
    script = script_of(walks)
    assert "#SBATCH --array=0-1\n" in script.read_text()
    slurm.environment["MDREEL_CHANNELS"] = os.environ["MDREEL_CHANNELS"]
    job = slurm.submit(script)
    for part in (0, 1):
        assert slurm.wait_for_end(f"{job}_{part}") == "COMPLETED", logs(walks)
    walks.check([f"{number:03}" for number in range(5)], FRAMES)
    assert [one["n_deaths"] for one in walks.status()] == [0, 1, 0, 0, 0]
    assert "replicas of other parts are left" in logs(walks) or "replicas.csv" in logs(walks)


def test_job_whose_time_is_over_is_queued_again_and_goes_on(slurm: Slurm, walks: Walks, environment: Path) -> None:
    walks.say(3, FRAMES, "--hang-at", 60, "--only", 3, settings=settings(environment), staging=True)
    slurm.environment["MDREEL_CHANNELS"] = os.environ["MDREEL_CHANNELS"]
    job = slurm.submit(script_of(walks))
    wait_for(lambda: standing(walks, "002"), "the last replica", lambda: logs(walks))
    slurm.command("scancel", "--signal=USR1", "--batch", f"{job}_0")  # as when the time is nearly over
    slurm.wait_for_state(f"{job}_0", "PENDING")
    assert "the job is requeued and continues from" in logs(walks)
    assert slurm.wait_for_end(f"{job}_0") == "COMPLETED", logs(walks)
    assert slurm.facts(f"{job}_0")["Restarts"] == "1"
    walks.check(["000", "001", "002"], FRAMES)
    went_on = ["started", "observed", "interrupted", "started", "finished"]
    assert walks.events("002") == went_on
