"""Every analysis on the executors that work elsewhere: the bits of a serial run. (`test_laws.py` has the others.)"""

import json
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import every_analysis_on_ranks
from every_analysis import CASES
from every_analysis_on_ranks import WAYS, digests
from mdreel import Dask
from mpi_launcher import EVERY_MPI, Launcher
from peptide_system import write_peptide

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def segments(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The trajectory of a peptide in three files."""
    folder = tmp_path_factory.mktemp("peptide")
    limits = list(pairwise([0, 40, 51, 81]))
    for first, end in limits:
        write_peptide(folder / f"from{first}.xtc", end - first, first)
    return [folder / f"from{first}.xtc" for first, _ in limits]


@pytest.fixture(scope="module")
def expected(segments: list[Path]) -> dict[str, str]:
    """The digests of a serial run."""
    return digests(segments, "serial")


@pytest.mark.parametrize("access", ["chain", "segments"])
@pytest.mark.parametrize("schedule", ["demand", "static"])
def test_dask_gives_the_bits_of_one(
    segments: list[Path], expected: dict[str, str], cluster: Dask, schedule: Any, access: str
) -> None:
    executor = Dask(client=cluster._client, schedule=schedule)
    assert digests(segments, executor, n_parts=5, access=access) == expected


@EVERY_MPI
@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
def test_ranks_give_the_bits_of_one(mpi: Launcher, n_ranks: int, segments: list[Path], tmp_path: Path) -> None:
    words = [every_analysis_on_ranks.__file__, str(tmp_path), *map(str, segments)]
    done = subprocess.run(
        mpi.command(n_ranks, *words), capture_output=True, text=True, env=mpi.environment, timeout=600
    )
    assert done.returncode == 0, done.stderr
    for rank in range(n_ranks):
        alone, *on_ranks = json.loads((tmp_path / f"rank{rank}.json").read_text())
        assert set(alone) == set(CASES)
        assert on_ranks == [alone] * 2 * len(WAYS)
