"""MPI: ranks started by a real launcher give the bits of one thread."""

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import numpy as np
import pytest
from MDAnalysisTests.datafiles import PSF, XTC

from mdreel.errors import UnsupportedError
from mdreel.executors.mpi import Mpi
from mdreel.launcher import Launched, launched

MPIEXEC = shutil.which("mpiexec", path=sysconfig.get_path("scripts"))

pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="mpiexec of the mpich wheel is not installed")

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

SCRIPT = """
import sys
import numpy as np
from mdreel import Mpi, Serial
from mdreel._core import FrameSet, RmsdKernel
from mdreel.executors.job import Job
from mdreel.launcher import launched
from mdreel.run import run
from mdreel.sources.open import open_source

folder, schedule, communication, n_parts, located, repeats, checkpoint, *paths = sys.argv[1:]
executor = Mpi(schedule=schedule, communication=communication)

def compute():
    source = open_source(paths, index="none")
    atoms = np.arange(0, source.n_atoms, 5, dtype=np.uint32)
    reference = source.read(FrameSet.range(0, 1, 1), atoms).positions[0].astype(float)
    job = Job(source, atoms, RmsdKernel(reference, None, True))
    frames = None
    if int(repeats) > 1:
        frames = FrameSet.list(np.tile(np.arange(source.n_frames, dtype=np.uint64), int(repeats)))
    elif located == "located":
        frames = FrameSet.range(0, 1, source.n_frames)
    return run(job, frames, executor, n_parts=int(n_parts) or None, checkpoint=checkpoint or None)

outcome = executor.share(compute)
np.save(f"{folder}/rank{launched().rank}.npy", outcome.series)
if launched().rank == 0:
    np.save(f"{folder}/spans.npy", outcome.spans)
"""


def mpirun(n_ranks: int, *arguments: str) -> list[str]:
    assert MPIEXEC is not None
    return [MPIEXEC, "-n", str(n_ranks), sys.executable, *arguments]


def ranks_of(
    n_ranks: int,
    folder: Path,
    paths: list[Path],
    *,
    schedule: str = "demand",
    communication: str = "gather",
    n_parts: int = 0,
    located: str = "located",
    repeats: int = 1,
    checkpoint: str = "",
) -> list[bytes]:
    """The results that each of some ranks has, as bytes."""
    arguments = [str(folder), schedule, communication, str(n_parts), located, str(repeats), checkpoint]
    command = mpirun(n_ranks, "-c", SCRIPT, *arguments, *map(str, paths))
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=300)
    assert done.returncode == 0, done.stderr
    return [np.load(folder / f"rank{rank}.npy").tobytes() for rank in range(n_ranks)]


@pytest.fixture(scope="module")
def expected(adk_xtc: Path) -> dict[int, bytes]:
    """The rows of one and of three copies of the trajectory, and of one that is read over and over."""
    from mdreel import Serial
    from mdreel._core import FrameSet, RmsdKernel
    from mdreel.executors.job import Job
    from mdreel.run import run
    from mdreel.sources.open import open_source

    found = {}
    for n_files in (1, 3):
        source = open_source([adk_xtc] * n_files)
        atoms = np.arange(0, source.n_atoms, 5, dtype=np.uint32)
        reference = source.read(FrameSet.range(0, 1, 1), atoms).positions[0].astype(float)
        job = Job(source, atoms, RmsdKernel(reference, None, True))
        found[n_files] = run(job, None, Serial()).series.tobytes()
        if n_files == 1:
            frames = FrameSet.list(np.tile(np.arange(98, dtype=np.uint64), 1000))
            found[1000] = run(job, frames, Serial()).series.tobytes()
    return found


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("schedule", ["demand", "static"])
@pytest.mark.parametrize("communication", ["gather", "window"])
def test_every_rank_has_the_bits_of_one_thread(
    adk_xtc: Path, tmp_path: Path, expected: dict[int, bytes], n_ranks: int, schedule: str, communication: str
) -> None:
    located = "located" if communication == "window" else "not located"
    found = ranks_of(n_ranks, tmp_path, [adk_xtc] * 3, schedule=schedule, communication=communication, located=located)
    assert found == [expected[3]] * n_ranks


def test_all_ranks_take_part(adk_xtc: Path, tmp_path: Path, expected: dict[int, bytes]) -> None:
    from mdreel.spans import KINDS

    assert ranks_of(3, tmp_path, [adk_xtc], repeats=1000) == [expected[1000]] * 3
    spans = np.load(tmp_path / "spans.npy")
    computing = spans[spans["kind"] == KINDS.index("compute")]
    assert set(computing["worker"]) == {0, 1, 2}
    assert computing["n_frames"].sum() == 98_000


def test_rank_that_is_stopped_for_a_while_does_not_decide_the_time(
    adk_xtc: Path, tmp_path: Path, expected: dict[int, bytes]
) -> None:
    """Its tickets are done by others; the result is the same."""
    arguments = [str(tmp_path), "demand", "gather", "0", "located", "1000", ""]
    command = mpirun(3, "-c", SCRIPT, *arguments, str(adk_xtc))
    with subprocess.Popen(command, env=ENVIRONMENT) as process:
        victim = None
        while process.poll() is None:
            victim = victim or rank_process(process.pid, 2)
            if victim is not None and Path(f"/proc/{victim}").exists():
                for number, seconds in ((signal.SIGSTOP, 0.09), (signal.SIGCONT, 0.01)):
                    try:
                        os.kill(victim, number)
                    except ProcessLookupError:
                        break
                    time.sleep(seconds)
        assert process.returncode == 0
    assert [np.load(tmp_path / f"rank{rank}.npy").tobytes() for rank in range(3)] == [expected[1000]] * 3


def rank_process(launcher: int, rank: int) -> int | None:
    """The process of a rank, once it has begun."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            is_it = f"PMI_RANK={rank}\0".encode() in (path / "environ").read_bytes()
            if is_it and ancestor(int(path.name), launcher):
                return int(path.name)
        except OSError:
            continue
    return None


def ancestor(process: int, wanted: int) -> bool:
    while process > 1:
        process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
        if process == wanted:
            return True
    return False


@pytest.mark.parametrize("rank", [0, 1])
def test_run_of_which_a_rank_was_killed_goes_on_where_it_was(
    adk_xtc: Path, tmp_path: Path, expected: dict[int, bytes], rank: int
) -> None:
    from mdreel.spans import Timing

    checkpoint = tmp_path / "run.checkpoint"
    arguments = [str(tmp_path), "demand", "gather", "300", "located", "1000", str(checkpoint)]
    command = mpirun(2, "-c", SCRIPT, *arguments, str(adk_xtc))
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while sum(path.stat().st_size for path in tmp_path.glob("run.checkpoint*")) < 98_000 * 24 // 3:
            assert process.poll() is None
            time.sleep(0.005)
        victim = rank_process(process.pid, rank)
        assert victim is not None
        os.kill(victim, signal.SIGKILL)
    assert process.returncode != 0
    assert not (tmp_path / "rank0.npy").exists()
    again = ranks_of(3, tmp_path, [adk_xtc], repeats=1000, checkpoint=str(checkpoint))
    assert again == [expected[1000]] * 3
    assert 0 < Timing(np.load(tmp_path / "spans.npy")).n_frames < 98_000


@pytest.mark.parametrize("communication", ["gather", "window"])
def test_command_line_reads_the_topology_on_one_rank(adk_dcd: Path, tmp_path: Path, communication: str) -> None:
    arguments = ["rmsd", "-s", PSF, "-f", str(adk_dcd), "-q"]
    alone = subprocess.run(
        [sys.executable, "-m", "mdreel.cli", *arguments, "-o", str(tmp_path / "a.csv")], capture_output=True, text=True
    )
    assert alone.returncode == 0, alone.stderr
    command = mpirun(3, "-X", "importtime", "-m", "mdreel.cli", *arguments, "-o", str(tmp_path / "b.csv"))
    command += ["--communication", communication]
    together = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert together.returncode == 0, together.stderr
    numbers = [re.sub(r"(?m)^#.*\n", "", (tmp_path / f"{name}.csv").read_text()) for name in "ab"]
    assert numbers[0] == numbers[1]
    assert len(re.findall(r"\| +MDAnalysis$", together.stderr, re.MULTILINE)) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["rmsd", "-s", "no.psf", "-f", "no.xtc"], 3, "no.xtc"),
        (["rmsd", "--frobnicate"], 2, "frobnicate"),
        (["info", "-f", XTC], 0, ""),
    ],
)
def test_what_goes_wrong_on_the_command_line_ends_all_ranks_once(arguments: list[str], code: int, message: str) -> None:
    command = mpirun(2, "-m", "mdreel.cli", *arguments)
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    assert done.returncode == code, done.stderr
    assert done.stderr.count("mdreel: error") == (1 if code else 0)
    assert message in done.stderr


def test_launcher_of_another_mpi_is_noticed(adk_xtc: Path) -> None:
    """Each process would be a rank 0 of 1 otherwise, and do everything."""
    environment = {**ENVIRONMENT, "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}
    command = [sys.executable, "-m", "mdreel.cli", "info", "-f", str(adk_xtc)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode != 0
    assert "the launcher has started 4 ranks, the MPI library sees 1" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_launcher_mpi_is_not_imported() -> None:
    with pytest.raises(UnsupportedError, match="no MPI launcher"):
        Mpi()
    assert "mpi4py.MPI" not in sys.modules


def test_launchers_are_known_by_their_marks() -> None:
    assert launched({}) is None
    assert launched({"PMI_RANK": "2", "PMI_SIZE": "3"}) == Launched(2, 3)
    assert launched({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "8"}) == Launched(0, 8)
    assert launched({"PMIX_RANK": "1", "SLURM_STEP_NUM_TASKS": "4"}) == Launched(1, 4)
    assert launched({"SLURM_NTASKS": "4", "SLURM_PROCID": "0"}) is None  # a batch script, which srun has not started
