"""MPI: ranks started by a real launcher give the bits of one thread."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from MDAnalysisTests.datafiles import PSF, XTC

from mdreel import RMSD
from mdreel.execution.executors.mpi.launcher import Launched, launched
from mdreel.timing.spans import KINDS
from mdreel.timing.timing import Timing
from mpi_launcher import EVERY_MPI, MPICH, OPEN_MPI, Launcher, needs, shared_memory_of
from repetitions import N_TIMES
from rmsd_on_ranks import Wanted, command, expected_of, kept, results_of, spans_of

N_LONG = 98_000
"""Frames of a run that takes a few seconds."""

N_REPEATS = 300
"""Number of times that a run with a killed rank reads the trajectory."""


@pytest.fixture(scope="module")
def long(adk_xtc: Path) -> Wanted:
    """A run of the trajectory, read over and over."""
    return Wanted([str(adk_xtc)], repeats=1000)


@pytest.fixture(scope="module")
def expected_of_long(long: Wanted) -> bytes:
    return expected_of(long)


@EVERY_MPI
@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
def test_every_rank_has_the_bits_of_one_thread(adk_xtc: Path, tmp_path: Path, mpi: Launcher, n_ranks: int) -> None:
    paths = [str(adk_xtc)] * 3
    runs = [
        Wanted(paths, schedule, communication, is_located=communication == "window")
        for schedule, communication in product(["demand", "static"], [None, "gather", "window"])
    ]
    assert results_of(mpi, n_ranks, tmp_path, runs) == [[expected_of(Wanted(paths))] * n_ranks] * len(runs)


@EVERY_MPI
def test_all_ranks_take_part(tmp_path: Path, mpi: Launcher, long: Wanted, expected_of_long: bytes) -> None:
    assert results_of(mpi, 3, tmp_path, [long]) == [[expected_of_long] * 3]
    spans = spans_of(tmp_path)
    computing = spans[spans["kind"] == KINDS.index("compute")]
    assert set(computing["worker"]) == {0, 1, 2}
    assert computing["n_frames"].sum() == N_LONG


@EVERY_MPI
def test_rank_that_is_stopped_for_a_while_does_not_decide_the_time(
    tmp_path: Path, mpi: Launcher, long: Wanted, expected_of_long: bytes
) -> None:
    """Its tasks are done by others; the result is the same."""
    with subprocess.Popen(command(mpi.unforked(), 3, tmp_path, [long]), env=mpi.environment) as process:
        victim = None
        while process.poll() is None:
            victim = victim or mpi.process_of(2, process.pid)
            if victim is not None and Path(f"/proc/{victim}").exists():
                for number, seconds in ((signal.SIGSTOP, 0.09), (signal.SIGCONT, 0.01)):
                    try:
                        os.kill(victim, number)
                    except ProcessLookupError:
                        break
                    time.sleep(seconds)
        assert process.returncode == 0
    assert victim is not None
    assert [np.load(kept(tmp_path, 0, rank)).tobytes() for rank in range(3)] == [expected_of_long] * 3


def size_of(checkpoint: Path) -> int:
    """The bytes of a checkpoint and of what ranks keep beside it."""
    paths = [checkpoint, *checkpoint.parent.glob(f"{checkpoint.name}.rank*[0-9]")]
    return sum(path.stat().st_size for path in paths if path.exists())


@pytest.fixture(scope="module")
def expected(adk_xtc: Path) -> bytes:
    """The result of the run of which a rank is killed."""
    return expected_of(Wanted([str(adk_xtc)], repeats=N_REPEATS))


@EVERY_MPI
@pytest.mark.parametrize("rank", [0, 1])
def test_run_of_which_a_rank_was_killed_goes_on_where_it_was(
    adk_xtc: Path, expected: bytes, tmp_path: Path, mpi: Launcher, rank: int
) -> None:
    chance = random.Random()
    for attempt in range(N_TIMES):
        checkpoint = tmp_path / f"{attempt}.checkpoint"
        runs = [Wanted([str(adk_xtc)], repeats=N_REPEATS, n_parts=300, checkpoint=str(checkpoint))]
        # A tenth at most are the numbers of the frames, which stand at the beginning of both files.
        wanted = chance.uniform(0.2, 0.8) * 98 * N_REPEATS * 24
        with subprocess.Popen(
            command(mpi.unforked(), 2, tmp_path, runs),
            env=mpi.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            while size_of(checkpoint) < wanted:
                assert process.poll() is None, "it ended before a rank was killed"
                time.sleep(0.005)
            victim = mpi.process_of(rank, process.pid)
            assert victim is not None
            left_behind = shared_memory_of(victim)
            os.kill(victim, signal.SIGKILL)
        for path in left_behind:
            path.unlink(missing_ok=True)
        assert process.returncode != 0
        assert not kept(tmp_path, 0, 0).exists()
        assert results_of(mpi, 3, tmp_path, runs) == [[expected] * 3], wanted
        assert 0 < Timing(spans_of(tmp_path)).n_frames < 98 * N_REPEATS
        kept(tmp_path, 0, 0).unlink()


@EVERY_MPI
@pytest.mark.parametrize("communication", ["gather", "window"])
def test_command_line_reads_the_topology_on_one_rank(
    adk_dcd: Path, tmp_path: Path, mpi: Launcher, communication: str
) -> None:
    arguments = ["-m", "mdreel.cli", "rmsd", "-s", PSF, "-f", str(adk_dcd), "-q"]
    alone = subprocess.run(
        [sys.executable, *arguments, "-o", str(tmp_path / "a.csv")], capture_output=True, text=True, timeout=60
    )
    assert alone.returncode == 0, alone.stderr
    together = subprocess.run(
        mpi.command(3, "-X", "importtime", *arguments, "-o", str(tmp_path / "b.csv"), "--communication", communication),
        capture_output=True,
        text=True,
        env=mpi.environment,
        timeout=60,
    )
    assert together.returncode == 0, together.stderr
    numbers = [re.sub(r"(?m)^#.*\n", "", (tmp_path / f"{name}.csv").read_text()) for name in "ab"]
    assert numbers[0] == numbers[1]
    assert len(re.findall(r"\| +MDAnalysis$", together.stderr, re.MULTILINE)) == 1


SCRIPT = """
import sys
import numpy as np
import mdreel
from mdreel.execution.executors.mpi.launcher import launched

def main():
    import MDAnalysis
    atoms = MDAnalysis.Universe(sys.argv[1]).select_atoms("name CA")
    twice = [mdreel.RMSD(atoms, trajectory=sys.argv[2]).run(backend="mpi").results.rmsd for _ in range(2)]
    return np.concatenate(twice)

np.save(f"{sys.argv[3]}/rank{launched().rank}.npy", mdreel.Mpi().share(main))
"""


@EVERY_MPI
@pytest.mark.filterwarnings("ignore:DCDReader currently makes independent timesteps")
def test_script_can_leave_the_topology_to_one_rank(adk_dcd: Path, tmp_path: Path, mpi: Launcher) -> None:
    import MDAnalysis

    atoms = MDAnalysis.Universe(PSF, adk_dcd).select_atoms("name CA")
    expected = RMSD(atoms, trajectory=adk_dcd).run(backend="serial").results.rmsd
    done = subprocess.run(
        mpi.command(3, "-X", "importtime", "-c", SCRIPT, PSF, str(adk_dcd), str(tmp_path)),
        capture_output=True,
        text=True,
        env=mpi.environment,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    for rank in range(3):
        np.testing.assert_array_equal(np.load(tmp_path / f"rank{rank}.npy"), np.concatenate([expected] * 2))
    assert len(re.findall(r"\| +MDAnalysis$", done.stderr, re.MULTILINE)) == 1


@EVERY_MPI
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["rmsd", "-s", "no.psf", "-f", "no.xtc"], 3, "no.xtc"),
        (["rmsd", "--frobnicate"], 2, "frobnicate"),
        (["info", "-f", XTC], 0, ""),
    ],
)
def test_what_goes_wrong_on_the_command_line_ends_all_ranks_once(
    mpi: Launcher, arguments: list[str], code: int, message: str
) -> None:
    done = subprocess.run(
        mpi.command(2, "-m", "mdreel.cli", *arguments), capture_output=True, text=True, env=mpi.environment, timeout=60
    )
    assert done.returncode == code, done.stderr
    assert done.stderr.count("mdreel: error") == (1 if code else 0)
    assert message in done.stderr


@needs(MPICH, OPEN_MPI)
@pytest.mark.parametrize(
    ("launcher", "library", "message"),
    [
        (MPICH, OPEN_MPI, "the launcher has started 2 ranks, but the MPI library sees 1"),
        (OPEN_MPI, MPICH, "unsupported PMI version PMIx"),  # MPICH sees it, and ends the process
    ],
)
def test_launcher_of_another_mpi_is_noticed(adk_xtc: Path, launcher: Launcher, library: Launcher, message: str) -> None:
    """Each process would be a rank 0 of 1 otherwise, and do everything."""
    mixed = replace(launcher, python=library.python, variables={**launcher.variables, **library.variables})
    command_line = mixed.command(2, "-m", "mdreel.cli", "info", "-f", str(adk_xtc))
    done = subprocess.run(command_line, capture_output=True, text=True, env=mixed.environment, timeout=60)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@needs(MPICH)
def test_mark_of_another_launcher_is_noticed(adk_xtc: Path) -> None:
    environment = {**MPICH.environment, "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}
    command_line = [sys.executable, "-m", "mdreel.cli", "info", "-f", str(adk_xtc)]
    done = subprocess.run(command_line, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode != 0
    assert "the launcher has started 4 ranks, but the MPI library sees 1" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_launcher_mpi_is_not_imported() -> None:
    lines = ["import sys", "from mdreel.execution.executors.mpi.executor import Mpi", "try:", "    Mpi()"]
    lines += ["except Exception as error:", "    print(type(error).__name__, error)"]
    lines.append("print('mpi4py.MPI' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=60)
    assert re.fullmatch(r"UnsupportedError .*no MPI launcher.*\nFalse\n", done.stdout), done


def test_launchers_are_known_by_their_marks() -> None:
    assert launched({}) is None
    assert launched({"PMI_RANK": "2", "PMI_SIZE": "3"}) == Launched(2, 3)
    assert launched({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "8"}) == Launched(0, 8)
    assert launched({"PMIX_RANK": "1", "SLURM_STEP_NUM_TASKS": "4"}) == Launched(1, 4)
    assert launched({"SLURM_NTASKS": "4", "SLURM_PROCID": "0"}) is None  # a batch script, which srun has not started
