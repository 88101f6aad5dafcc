"""Opens of the files of a chain: the process that plans opens all of them once, each worker those that it reads."""

import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from h5md_writer import write_h5md
from mdreel.errors import FormatError
from mdreel.execution.job import Job
from mdreel.trajectory.convert import convert
from mdreel.trajectory.open import open as open_trajectory
from mixed_job import mixed_job
from mpi_launcher import MPICH, needs
from watched_calls import OPENS, counting_opens, opens_of, watcher

N_FILES, N_WORKERS = 1000, 4
MOST = N_FILES // N_WORKERS + 3
"""Files of the share of a worker, and the borders of the share."""

PROGRAM = Path(__file__).parents[1] / "opened_chain.py"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return watcher(tmp_path_factory.mktemp("opening"), OPENS)


@pytest.fixture(scope="module")
def segments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files of one frame each."""
    folder = tmp_path_factory.mktemp("segments")
    positions = np.random.default_rng(3).normal(0, 5, (1, 12, 3)).astype(np.float32)
    whole = folder.parent / "whole.h5md"
    write_h5md(whole, {"position": positions})
    first = folder / "0000.xtc"
    convert(whole, first)
    for i in range(1, N_FILES):
        shutil.copy(first, folder / f"{i:04}.xtc")
    return folder


def opens(library: Path, folder: Path, name: str, is_located: bool, place: Path) -> list[int]:
    """Return how many files each process of a run opens, the busiest first; check that all frames were read."""
    arguments = [str(PROGRAM), str(folder), name, "true" if is_located else "false", str(place / "rows.npy")]
    launcher = MPICH.unforked()
    command = launcher.command(N_WORKERS, *arguments) if name == "mpi" else [sys.executable, *arguments]
    environment = {**(launcher.environment if name == "mpi" else os.environ)}
    log = place / "log"
    environment |= counting_opens(library, folder, log)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    rows = np.load(place / "rows.npy")
    assert rows[:, 0].tolist() == list(range(len(list(folder.iterdir()))))
    return list(opens_of(log).values())


@pytest.mark.parametrize("name", ["processes", "dask", pytest.param("mpi", marks=needs(MPICH))])
@pytest.mark.parametrize("is_located", [True, False])
def test_each_worker_opens_the_files_that_it_reads(
    name: str, is_located: bool, library: Path, segments: Path, tmp_path: Path
) -> None:
    planning, *workers = opens(library, segments, name, is_located, tmp_path)
    assert len(workers) == N_WORKERS - (name == "mpi")
    assert max(workers) <= MOST, workers
    # Rank 0 opens all files to plan, and again those of its share that were closed since.
    assert planning <= N_FILES + (MOST if name == "mpi" else 3)
