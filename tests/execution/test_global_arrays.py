"""Results that go to rank 0 through arrays of the Global Arrays toolkit have the bits of one thread."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from MDAnalysisTests.datafiles import PSF

from mpi_launcher import EVERY_MPI, GLOBAL_ARRAYS, Launcher, needs
from rmsd_on_ranks import Wanted, command, expected_of, kept, results_of

ARRAYS = """
import atexit
import re
import numpy as np
from mpi4py import MPI
import _global_arrays as arrays

def refused(kind, message, function, *arguments):
    try:
        function(*arguments)
    except kind as error:
        assert re.search(message, str(error)), error
    else:
        raise AssertionError(f"{kind.__name__} was expected")

ranks = MPI.COMM_WORLD
refused(ValueError, "no global array 0", arrays.put, 0, 0, np.zeros((1, 3)))
array = arrays.create(10, 3)
atexit.register(arrays.terminate)
rows = np.arange(24.0).reshape(8, 3)
if ranks.rank == ranks.size - 1:
    arrays.put(array, 2, rows)
arrays.sync()
found = np.empty((8, 3))
arrays.get(array, 2, found)
assert np.array_equal(found, rows)
refused(IndexError, "rows 3 to 11 are not among the 10 rows", arrays.put, array, 3, rows)
refused(IndexError, "rows -1 to 7", arrays.get, array, -1, rows)
refused(ValueError, "expected rows of 3 doubles", arrays.put, array, 0, np.zeros((2, 4)))
refused(ValueError, "expected rows of 3 doubles", arrays.put, array, 0, np.zeros((2, 3), np.float32))
refused(BufferError, "not writable", arrays.get, array, 0, b"")
refused(ValueError, "positive numbers, got .0, 3.", arrays.create, 0, 3)
ranks.Barrier()
arrays.destroy(array)
refused(ValueError, "no global array", arrays.destroy, array)
"""

LARGE = """
import atexit
import numpy as np
from mpi4py import MPI
import _global_arrays as arrays

n_rows, n_moved = 95_000_000, 12_000_000  # beyond 2**31 bytes; beyond the largest transfer
array = arrays.create(n_rows, 3)
atexit.register(arrays.terminate)
rows = np.arange(3.0 * n_moved).reshape(-1, 3)
arrays.put(array, n_rows - n_moved, rows)
found = np.empty_like(rows)
arrays.get(array, n_rows - n_moved, found)
assert np.array_equal(found, rows)
arrays.destroy(array)
"""

COUNTED = """
import sys
from pathlib import Path
from mdreel import Mpi
from mdreel.execution.executors.mpi.global_arrays import GlobalArray
from mdreel.execution.executors.mpi.launcher import launched
from rmsd_on_ranks import Wanted, compute

fetched, get = [], GlobalArray.get

def counted(array, part, n_rows):
    fetched.append(n_rows)
    get(array, part, n_rows)

GlobalArray.get = counted
executor = Mpi(schedule="static", communication="global-arrays")  # each block once
executor.share(lambda: compute(Wanted(sys.argv[2:]), executor))
# Into a file: launchers lose lines of ranks that end.
Path(sys.argv[1], f"rows{launched().rank}").write_text(str(sum(fetched)))
"""


@needs(GLOBAL_ARRAYS)
@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
def test_every_rank_has_the_bits_of_one_thread(adk_xtc: Path, tmp_path: Path, n_ranks: int) -> None:
    paths = [str(adk_xtc)] * 3
    runs = [
        Wanted(paths, schedule, "global-arrays", is_located=is_located)
        for schedule in ("demand", "static")
        for is_located in (True, False)
    ]
    runs.append(Wanted(paths, "demand", "global-arrays", n_parts=1))  # most ranks have nothing to put
    assert results_of(GLOBAL_ARRAYS, n_ranks, tmp_path, runs) == [[expected_of(Wanted(paths))] * n_ranks] * len(runs)


@needs(GLOBAL_ARRAYS)
def test_rows_of_all_ranks_come_through_the_array(
    adk_xtc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    done = started(GLOBAL_ARRAYS, 3, "-c", COUNTED, str(tmp_path), str(adk_xtc))
    assert done.returncode == 0, done.stderr
    assert [(tmp_path / f"rows{rank}").read_text() for rank in range(3)] == ["98", "0", "0"]


@needs(GLOBAL_ARRAYS)
def test_long_run_has_the_bits_of_one_thread(adk_xtc: Path, tmp_path: Path) -> None:
    wanted = Wanted([str(adk_xtc)], communication="global-arrays", repeats=1000)
    assert results_of(GLOBAL_ARRAYS, 3, tmp_path, [wanted]) == [[expected_of(wanted)] * 3]


@needs(GLOBAL_ARRAYS)
def test_command_line_gives_the_numbers_of_one_process(adk_dcd: Path, tmp_path: Path) -> None:
    arguments = ["-m", "mdreel.cli", "rmsd", "-s", PSF, "-f", str(adk_dcd), "-q"]
    alone = [sys.executable, *arguments, "-o", str(tmp_path / "a.csv")]
    subprocess.run(alone, check=True, capture_output=True, timeout=60)
    together = [*arguments, "-o", str(tmp_path / "b.csv"), "--communication", "global-arrays"]
    done = started(GLOBAL_ARRAYS, 2, *together)
    assert done.returncode == 0, done.stderr
    numbers = [re.sub(r"(?m)^#.*\n", "", (tmp_path / f"{name}.csv").read_text()) for name in "ab"]
    assert numbers[0] == numbers[1]


@needs(GLOBAL_ARRAYS)
@pytest.mark.parametrize(("n_ranks", "program"), [(1, ARRAYS), (3, ARRAYS), (1, LARGE)], ids=["1", "3", "large"])
def test_arrays_keep_rows_and_refuse_what_is_no_row(n_ranks: int, program: str) -> None:
    done = started(GLOBAL_ARRAYS, n_ranks, "-c", program)
    assert done.returncode == 0, done.stderr  # of a rank that failed; of those that end, launchers lose lines


@EVERY_MPI
def test_interpreter_without_global_arrays_is_named(adk_xtc: Path, tmp_path: Path, mpi: Launcher) -> None:
    done = subprocess.run(
        command(mpi, 2, tmp_path, [Wanted([str(adk_xtc)], communication="global-arrays")]),
        capture_output=True,
        text=True,
        env=mpi.environment,
        timeout=60,
    )
    assert done.returncode != 0
    expected = r"UnsupportedError: communication 'global-arrays': \S+/python\S* has no Global Arrays built in"
    assert re.search(expected, done.stderr), done.stderr


@needs(GLOBAL_ARRAYS)
@pytest.mark.parametrize("without", [0, 1])
def test_all_ranks_end_when_one_has_no_global_arrays(adk_xtc: Path, tmp_path: Path, without: int) -> None:
    whole = command(GLOBAL_ARRAYS, 1, tmp_path, [Wanted([str(adk_xtc)], communication="global-arrays")])
    at = whole.index(str(GLOBAL_ARRAYS.python))
    programs = [whole[at:], whole[at:]]
    programs[without] = ["/usr/bin/env", f"MPI4PY_LIBMPI={library()}", sys.executable, *whole[at + 1 :]]
    several = [*whole[:at], *programs[0], ":", "-n", "1", *programs[1]]
    done = subprocess.run(several, capture_output=True, text=True, env=GLOBAL_ARRAYS.environment, timeout=60)
    assert done.returncode != 0
    assert f"{sys.executable} has no Global Arrays built in" in done.stderr
    assert not kept(tmp_path, 0, 0).exists()


def started(mpi: Launcher, n_ranks: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        mpi.command(n_ranks, *arguments), capture_output=True, text=True, env=mpi.environment, timeout=120
    )


def library() -> str:
    """The MPI library that the interpreter with Global Arrays is linked with."""
    code = "import os; print(os.environ['MPI4PY_LIBMPI'])"
    return subprocess.run([GLOBAL_ARRAYS.python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
