"""Batch scripts for PBS: no PBS is here, so bash runs them as one would, with the variables that it sets."""

import os
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.slurm_service import wait_for

MPIRUN = shutil.which("mpirun", path=sysconfig.get_path("scripts"))

pytestmark = pytest.mark.skipif(MPIRUN is None, reason="mpirun of the mpich wheel is not installed")


@pytest.fixture
def submissions(tmp_path: Path) -> Path:
    """What was submitted, by a qsub that only writes it down."""
    (tmp_path / "pbs").mkdir()
    qsub = tmp_path / "pbs" / "qsub"
    qsub.write_text('#!/bin/sh\necho "$@" >> "$(dirname "$0")/submissions"\n')
    qsub.chmod(0o755)
    return qsub.with_name("submissions")


@contextmanager
def running(script: Path, folder: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PBS_O_WORKDIR": str(folder), "PATH": f"{folder / 'pbs'}:{os.environ['PATH']}"}
    words = ["bash", script]
    with subprocess.Popen(words, cwd="/", env=environment, stderr=subprocess.PIPE, text=True) as process:
        yield process


def end_of_time(process: subprocess.Popen[str]) -> None:
    """Tell a script that its time is over, as its own clock does."""
    process.send_signal(signal.SIGUSR1)


def write(mdreel, folder: Path, environment: Path, words: list[str], *options: str) -> Path:
    script = folder / "job of mine.sh"
    job = ["--nodes", "1", "--ntasks-per-node", "2", "--environment", environment, "--output-script", script]
    mdreel(folder, "cluster", "pbs", *job, *options, "--", "mdreel", *words)
    return script


def test_script_gives_the_bits_of_one_process(mdreel, environment, adk, tmp_path, submissions):
    words, expected = adk
    with running(write(mdreel, tmp_path, environment, words), tmp_path) as process:
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert (tmp_path / "rmsd.csv").read_bytes() == expected
    assert not submissions.exists()


def test_script_submits_itself_again_before_its_time_is_over(mdreel, environment, long_run, tmp_path, submissions):
    words, expected = long_run
    script = write(mdreel, tmp_path, environment, words, "--time", "01:00:00")

    with running(script, tmp_path) as process:
        wait_for((tmp_path / "rmsd.csv.checkpoint").exists, "a checkpoint", lambda: "")
        end_of_time(process)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "the job is requeued and continues from rmsd.csv.checkpoint" in errors
    assert submissions.read_text() == f"{script}\n"

    with running(script, tmp_path) as process:
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert (tmp_path / "rmsd.csv").read_bytes() == expected


def test_script_starts_nothing_where_it_cannot_write(mdreel, environment, adk, tmp_path, submissions):
    words = [*adk[0][:-1], "results/rmsd.csv"]
    (tmp_path / "results").mkdir()
    script = write(mdreel, tmp_path, environment, words)
    (tmp_path / "results").rmdir()
    with running(script, tmp_path) as process:
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert errors.count("results cannot be written to") == 1, "one rank of a node looks"


def test_script_is_not_submitted_again_when_nothing_is_finished(mdreel, environment, long_run, tmp_path, submissions):
    script = write(mdreel, tmp_path, environment, long_run[0], "--time", "01:00:00")
    started = tmp_path / "started"
    # An analysis that comes to nothing.
    command = environment.parent / "idle"
    command.write_text(f"#!/bin/sh\ntouch {started}\nexec sleep 100\n")
    command.chmod(0o755)
    script.write_text(script.read_text().replace("command -v mdreel", f"command -v {command}"))
    with running(script, tmp_path) as process:
        wait_for(started.exists, "the analysis", lambda: "")
        end_of_time(process)
        _, errors = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "the job made no progress" in errors
    assert not submissions.exists()
