"""Ranges of bytes that ranks read through MPI-IO."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpiio_on_ranks
from mpi_launcher import EVERY_MPI, Launcher

A, B = 0, 1

PLANS = [
    # The first rank reads most often, and no rank reads the same.
    [(A, [(5, 10)]), (A, [(0, 3000), (4000, 4001)]), (B, [(7, 8)]), (A, [(9_000, 10_000)])],
    [(B, [(0, 2500), (3000, 3001), (4000, 4001)])],
    [],
]


def run(
    mpi: Launcher, folder: Path, paths: list[str], kind: str, plans: list[Any], blind: int = -1
) -> list[dict[str, Any]]:
    """What each rank has found, and its calls. One rank, if any, does not see the files."""
    arguments = [mpiio_on_ranks.__file__, str(folder), json.dumps(paths), kind, json.dumps(plans), str(blind)]
    done = subprocess.run(
        mpi.command(len(plans), *arguments), capture_output=True, text=True, env=mpi.environment, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"{kind}.{rank}.json").read_text()) for rank in range(len(plans))]


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    chance = np.random.default_rng(1)
    for name in "ab":
        (tmp_path / name).write_bytes(chance.bytes(10_000))
    return [str(tmp_path / name) for name in "ab"]


def expected(paths: list[str], plan: list[Any]) -> list[str]:
    contents = [Path(path).read_bytes() for path in paths]
    return [b"".join(contents[file][start:end] for start, end in ranges).hex() for file, ranges in plan]


@EVERY_MPI
@pytest.mark.parametrize("kind", ["independent", "collective"])
def test_ranks_have_the_bytes_of_the_files(tmp_path: Path, paths: list[str], mpi: Launcher, kind: str) -> None:
    found = run(mpi, tmp_path, paths, kind, PLANS)
    assert [one["found"] for one in found] == [expected(paths, plan) for plan in PLANS]
    calls = [one["calls"] for one in found]
    if kind == "independent":
        # At most 1000 bytes a call: 1 + 3 + 1 + 1 for the first rank.
        assert calls == [{"a": {"Read_at": 6}, "b": {"Read_at": 1}}, {"b": {"Read_at": 5}}, {}]
    else:
        # In the first round, the file b takes as many calls as the second rank needs.
        assert calls == [{"a": {"Read_at_all": 6}, "b": {"Read_at_all": 6}}] * 3


@EVERY_MPI
@pytest.mark.parametrize("kind", ["independent", "collective"])
def test_file_that_one_rank_cannot_open_is_an_error_there_and_no_rank_hangs(
    tmp_path: Path, paths: list[str], mpi: Launcher, kind: str
) -> None:
    plans = [[(A, [(0, 10)])], [(B, [(0, 10)]), (A, [(5, 10)])], [(A, [(0, 2000)])]]
    Path(paths[B]).unlink()
    found = run(mpi, tmp_path, paths, kind, plans)
    assert found[0]["found"] == expected([paths[A]], plans[0])
    assert found[2]["found"] == expected([paths[A]], plans[2])
    failed, read = found[1]["found"]
    assert failed.startswith("OSError: MPI-IO failed: ")
    assert "such as access='shared'" in failed
    assert read == expected([paths[A]], plans[1][1:])[0]


@EVERY_MPI
@pytest.mark.parametrize("blind", [0, 1, 2])
def test_rank_that_does_not_see_the_files_is_an_error_on_all_ranks(
    tmp_path: Path, paths: list[str], mpi: Launcher, blind: int
) -> None:
    found = run(mpi, tmp_path, paths, "collective", [[(A, [(0, 10)])], [(A, [(5, 10)])], []], blind)
    for rank in (0, 1):
        (message,) = found[rank]["found"]
        assert "No such file or directory" in message
        assert (f"rank {blind}: " in message) == (rank != blind)
    assert found[2]["found"] == []


@EVERY_MPI
def test_file_that_ends_early_gives_fewer_bytes(tmp_path: Path, paths: list[str], mpi: Launcher) -> None:
    found = run(mpi, tmp_path, paths, "independent", [[(A, [(9_000, 9_500), (9_900, 10_100), (11_000, 11_010)])]])
    assert found[0]["found"] == expected(paths, [(A, [(9_000, 9_500), (9_900, 10_000)])])
