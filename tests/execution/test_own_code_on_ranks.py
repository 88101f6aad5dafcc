"""Code of users on the ranks of MPI: all ranks have the results that one process has."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import own_code_on_ranks
from mpi_launcher import EVERY_MPI, Launcher

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@EVERY_MPI
def test_code_of_users_gives_the_same_on_ranks(mpi: Launcher, adk_xtc: Path, tmp_path: Path) -> None:
    command = mpi.command(3, own_code_on_ranks.__file__, str(tmp_path), str(adk_xtc))
    done = subprocess.run(command, capture_output=True, text=True, env=mpi.environment, timeout=300)
    assert done.returncode == 0, done.stderr
    for name, expected in own_code_on_ranks.found(str(adk_xtc), "serial", tmp_path).items():
        for rank in range(3):
            with np.load(tmp_path / f"rank{rank}.npz") as kept:
                np.testing.assert_array_equal(kept[name], expected, err_msg=f"{name} on rank {rank}")
    assert (tmp_path / "mpi.gro").read_bytes() == (tmp_path / "serial.gro").read_bytes()
