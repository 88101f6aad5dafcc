"""MPI-IO: ranks that read through it have the bits of one thread, and none hangs when something fails."""

import gzip
import os
import re
import signal
import subprocess
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from MDAnalysisTests.datafiles import PSF

import mpiio_faults_on_ranks
from all_pairs import with_all_pairs
from h5md_writer import write_h5md
from mdreel import Processes, Threads
from mdreel.errors import UnsupportedError
from mdreel.execution.executors.local.serial import Serial
from mdreel.timing.spans import KINDS
from mdreel.trajectory.convert import convert
from mixed_job import bits_of
from mpi_launcher import EVERY_MPI, Launcher, shared_memory_of
from rmsd_on_ranks import Wanted, command, compute, expected_of, kept, results_of, spans_of

INDEPENDENT, COLLECTIVE = "mpiio", "mpiio-collective"

SCHEMES = [("demand", INDEPENDENT), ("static", INDEPENDENT), ("static", COLLECTIVE)]

each_scheme = pytest.mark.parametrize(("schedule", "access"), SCHEMES)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, adk_xtc: Path, adk_dcd: Path) -> dict[str, list[str]]:
    """The AdK trajectory in each format, and as chains of the same and of different formats."""
    trr = tmp_path_factory.mktemp("mpiio") / "adk.trr"
    convert(adk_xtc, trr)
    xtc, dcd = str(adk_xtc), str(adk_dcd)
    return {"xtc": [xtc], "trr": [str(trr)], "dcd": [dcd], "chain": [xtc] * 3, "mixed chain": [dcd, str(trr), xtc]}


@EVERY_MPI
@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
def test_every_rank_has_the_bits_of_one_thread(
    files: dict[str, list[str]], tmp_path: Path, mpi: Launcher, n_ranks: int
) -> None:
    read = [
        {"is_located": False},  # blocks of bytes, where the format has them
        {},
        {"window": (5, 7, 12)},
        {"window": (97, 1, 1)},  # a single frame: the other ranks have nothing to read
        {"repeats": 2},
        {"n_parts": n_ranks + 1},  # shares of different lengths
        {"n_parts": 1},
        {"atom_step": 1},
        {"atom_step": 20},
    ]
    settings = product(files, SCHEMES, range(len(read)), [None, 10_000])
    runs = [
        Wanted(files[name], schedule, access=access, batch_bytes=at_once, **read[i])
        for name, (schedule, access), i, at_once in with_all_pairs(settings)
    ]
    of_one_thread = [
        replace(one, schedule="demand", access=None, batch_bytes=None, n_parts=None, is_located=True) for one in runs
    ]
    alone = {repr(one): one for one in of_one_thread}
    bits = {key: expected_of(one) for key, one in alone.items()}
    expected = [[bits[repr(one)]] * n_ranks for one in of_one_thread]
    assert results_of(mpi, n_ranks, tmp_path, runs) == expected
    for i, wanted in enumerate(runs):
        if wanted.schedule == "static" and wanted.is_located and wanted.n_parts is None and wanted.window is None:
            spans = spans_of(tmp_path, i)
            reading = spans[(spans["kind"] == KINDS.index("read")) & (spans["n_bytes"] > 0)]
            assert set(reading["worker"]) == set(range(n_ranks))


@EVERY_MPI
@each_scheme
def test_mpiio_reads_all_bytes_that_the_run_counts(
    files: dict[str, list[str]], tmp_path: Path, mpi: Launcher, schedule: str, access: str
) -> None:
    for name in ("xtc", "trr", "dcd"):
        folder = tmp_path / name
        folder.mkdir()
        seen = run_with(mpi, folder, files[name][0], schedule, access, "none")
        counted = np.load(folder / "n_bytes.npy")
        assert all(message.startswith("read: ") for message in seen), seen
        by_mpiio = [int(message.removeprefix("read: ")) for message in seen]
        if schedule == "demand":
            assert sum(by_mpiio) >= counted  # a late task may have been done twice
        else:
            assert sum(by_mpiio) == counted
            assert min(by_mpiio) > 0


def run_with(mpi: Launcher, folder: Path, path: str, schedule: str, access: str, fault: str) -> list[str]:
    """What each rank has seen of a run with a fault."""
    program = mpiio_faults_on_ranks.__file__
    command = mpi.command(3, program, str(folder), path, schedule, access, fault)
    done = subprocess.run(command, capture_output=True, text=True, env=mpi.environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return [(folder / f"rank{rank}.txt").read_text() for rank in range(3)]


@EVERY_MPI
@each_scheme
def test_ctrl_c_reaches_all_ranks(
    files: dict[str, list[str]], tmp_path: Path, mpi: Launcher, schedule: str, access: str
) -> None:
    seen = run_with(mpi, tmp_path, files["xtc"][0], schedule, access, "interrupt")
    assert seen == ["KeyboardInterrupt: ", *["RuntimeError: rank 0 was interrupted"] * 2]


@EVERY_MPI
@each_scheme
@pytest.mark.parametrize("name", ["xtc", "dcd"])
def test_file_that_shrinks_is_an_error_on_all_ranks(
    files: dict[str, list[str]], tmp_path: Path, mpi: Launcher, schedule: str, access: str, name: str
) -> None:
    path = tmp_path / f"shrinking.{name}"
    path.write_bytes(Path(files[name][0]).read_bytes())
    seen = run_with(mpi, tmp_path, str(path), schedule, access, "shrink")
    assert len(set(seen)) == 1
    assert seen[0].startswith("FormatError: ")
    assert "was cut while being read" in seen[0]


@EVERY_MPI
@each_scheme
def test_function_that_fails_on_one_rank_ends_all_ranks(
    files: dict[str, list[str]], tmp_path: Path, mpi: Launcher, schedule: str, access: str
) -> None:
    seen = run_with(mpi, tmp_path, files["xtc"][0], schedule, access, "raise")
    assert len(set(seen)) == 1
    assert "this frame fails" in seen[0]


@pytest.fixture(scope="module")
def long_run(files: dict[str, list[str]]) -> tuple[Wanted, bytes]:
    """A run of a second or more, and its result by one thread."""
    wanted = Wanted(files["xtc"], n_parts=150, repeats=150, atom_step=1)
    return wanted, expected_of(wanted)


@EVERY_MPI
@each_scheme
def test_run_of_which_a_rank_was_killed_ends_and_goes_on_later(
    long_run: tuple[Wanted, bytes], tmp_path: Path, mpi: Launcher, schedule: str, access: str
) -> None:
    checkpoint = tmp_path / "checkpoint"
    wanted, expected = long_run
    n_frames = 98 * wanted.repeats
    wanted = replace(wanted, schedule=schedule, access=access, checkpoint=str(checkpoint))

    def size() -> int:
        paths = [checkpoint, *tmp_path.glob("checkpoint.rank*[0-9]")]
        return sum(path.stat().st_size for path in paths if path.exists())

    with subprocess.Popen(
        command(mpi.unforked(), 3, tmp_path, [wanted]),
        env=mpi.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while size() < n_frames * 8:
            assert process.poll() is None, "it ended before a rank was killed"
            time.sleep(0.005)
        victim = mpi.process_of(1, process.pid)
        assert victim is not None
        left_behind = shared_memory_of(victim)
        os.kill(victim, signal.SIGKILL)
        assert process.wait(120) != 0
    for path in left_behind:
        path.unlink(missing_ok=True)
    assert not kept(tmp_path, 0, 0).exists()
    assert results_of(mpi, 2, tmp_path, [wanted]) == [[expected] * 2]


@pytest.fixture(scope="module")
def torn(tmp_path_factory: pytest.TempPathFactory, adk_xtc: Path) -> str:
    """A copy of an XTC file in which the header of one frame is damaged."""
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    with XTCFile(str(adk_xtc)) as file:
        start = int(file.offsets[60])
    content = bytearray(adk_xtc.read_bytes())
    content[start + 56 : start + 80] = bytes(24)  # the smallest and the largest integers of the frame
    path = tmp_path_factory.mktemp("torn") / "torn.xtc"
    path.write_bytes(content)
    return str(path)


@EVERY_MPI
def test_damaged_frames_are_left_out(torn: str, tmp_path: Path, mpi: Launcher) -> None:
    runs = [Wanted([torn], schedule, access=access, on_error="skip") for schedule, access in SCHEMES]
    alone = compute(replace(runs[0], schedule="demand", access=None), Serial())
    assert [damage.frame for damage in alone.damage] == [60]
    assert results_of(mpi, 3, tmp_path, runs) == [[bits_of(alone).tobytes()] * 3] * 3


def on_command_line(mpi: Launcher, path: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = mpi.command(3, "-m", "mdreel.cli", "rmsd", "-s", PSF, "-f", path, "-q", *arguments)
    return subprocess.run(command, capture_output=True, text=True, env=mpi.environment, timeout=120)


@EVERY_MPI
@each_scheme
def test_damaged_or_truncated_file_is_one_error(
    torn: str, adk_xtc: Path, tmp_path: Path, mpi: Launcher, schedule: str, access: str
) -> None:
    short = tmp_path / "short.xtc"
    short.write_bytes(adk_xtc.read_bytes()[:-100])
    compressed = tmp_path / "adk.xtc.gz"
    compressed.write_bytes(gzip.compress(adk_xtc.read_bytes()))
    for path, found in ((torn, r"torn\.xtc, frame 60"), (short, r"short\.xtc, .*97 whole frames"), (compressed, "adk")):
        done = on_command_line(mpi, str(path), "--select", "all", "--schedule", schedule, "--access", access)
        assert done.returncode == 3, done.stderr
        assert done.stderr.count("mdreel: error") == 1
        assert re.search(found, done.stderr), done.stderr


@EVERY_MPI
@pytest.mark.parametrize("access", [INDEPENDENT, COLLECTIVE])
def test_what_does_not_suit_mpiio_is_refused(
    adk_xtc: Path, adk_positions: np.ndarray, tmp_path: Path, mpi: Launcher, access: str
) -> None:
    write_h5md(tmp_path / "adk.h5md", {"position": adk_positions[:3]}, units={"position": "Angstrom"})
    convert(adk_xtc, tmp_path / "adk.nc", stop=3)
    cases = [(tmp_path / "adk.h5md", "static", "not for H5MD"), (tmp_path / "adk.nc", "static", "not for NCDF")]
    if access == COLLECTIVE:
        cases.append((adk_xtc, "demand", "--access mpiio-collective needs --schedule static"))
    for path, schedule, message in cases:
        done = on_command_line(mpi, str(path), "--schedule", schedule, "--access", access)
        assert done.returncode == 3, done.stderr
        assert done.stderr.count("mdreel: error") == 1
        assert message in done.stderr, done.stderr


@pytest.mark.parametrize("executor", [Serial(), Threads(2), Processes(2)])
def test_other_executors_refuse_mpiio(adk_xtc: Path, executor: Serial | Threads | Processes) -> None:
    for access in (INDEPENDENT, COLLECTIVE):
        with pytest.raises(UnsupportedError, match=f"'{access}' is for the backend mpi, not {executor.name}: use 'sh"):
            compute(Wanted([str(adk_xtc)], access=access), executor)
        with pytest.raises(UnsupportedError, match=f"'{access}' is for the backend mpi, not {executor.name}: use 'ch"):
            compute(Wanted([str(adk_xtc)] * 2, access=access), executor)
