"""Parallel HDF5: ranks that open a file together have the bits of one thread, and none hangs when something fails."""

import re
import subprocess
from dataclasses import replace
from itertools import product
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from MDAnalysisTests.datafiles import PSF

from all_pairs import with_all_pairs
from h5md_writer import write_h5md
from mdreel import Processes, Threads
from mdreel.errors import UnsupportedError
from mdreel.execution.executors.local.serial import Serial
from mdreel.timing.spans import KINDS
from mdreel.trajectory.parallel_hdf5 import _runs
from mixed_job import bits_of
from mpi_launcher import EVERY_MPI, PARALLEL_HDF5, Launcher, needs
from rmsd_on_ranks import Wanted, compute, expected_of, results_of, spans_of

INDEPENDENT, COLLECTIVE = "hdf5-independent", "hdf5-collective"

LAYOUTS = {
    "gzip": ("f4", {"chunks": (3, 3341, 3), "compression": "gzip"}, "nm"),
    "contiguous": (">f8", {}, "Angstrom"),
    "pieces": ("i4", {"chunks": (7, 500, 2), "shuffle": True, "compression": "lzf"}, "pm"),
    "filled": ("f4", {"chunks": (5, 3341, 3), "fillvalue": 1.5}, "nm"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, adk_positions: np.ndarray) -> dict[str, str]:
    """The AdK trajectory in several layouts of H5MD."""
    folder = tmp_path_factory.mktemp("parallel")
    box = np.linspace(90, 110, 98 * 3).reshape(98, 3)
    for name, (number, layout, unit) in LAYOUTS.items():
        values = adk_positions * {"nm": 0.1, "Angstrom": 1, "pm": 100}[unit]
        write_h5md(
            folder / f"{name}.h5md",
            {"position": values.astype(number)},
            box=box,
            layout=layout,
            units={"position": unit, "box": "Angstrom"},
        )
    with h5py.File(folder / "filled.h5md", "r+") as file:
        group = file["particles/atoms/position"]
        kept, attributes = group["value"][:50], dict(group["value"].attrs)
        del group["value"]
        value = group.create_dataset("value", (98, 3341, 3), "f4", **LAYOUTS["filled"][1])
        value.attrs.update(attributes)
        value[:50] = kept  # the chunks behind these are not stored
    return {name: str(folder / f"{name}.h5md") for name in LAYOUTS}


def accesses() -> list[tuple[str, str]]:
    return [("demand", INDEPENDENT), ("static", INDEPENDENT), ("static", COLLECTIVE)]


@needs(PARALLEL_HDF5)
@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
def test_every_rank_has_the_bits_of_one_thread(files: dict[str, str], tmp_path: Path, n_ranks: int) -> None:
    settings = product(
        files.values(),
        [*accesses(), ("static", "shared")],
        ["gather", "window"],
        # Shares of different lengths; more ranks than blocks; frames that come again.
        [(None, 1), (n_ranks + 1, 1), (1, 1), (5, 2)],
    )
    suitable = (each for each in settings if each[:2] != (files["filled"], ("static", COLLECTIVE)))
    runs = [
        Wanted([path], schedule, communication, n_parts=n_parts, repeats=repeats, access=access, batch_bytes=500_000)
        for path, (schedule, access), communication, (n_parts, repeats) in (
            suitable if n_ranks == 3 else with_all_pairs(suitable)
        )
    ]
    alone = {(path, n): expected_of(Wanted([path], repeats=n)) for path in files.values() for n in (1, 2)}
    expected = [[alone[wanted.paths[0], wanted.repeats]] * n_ranks for wanted in runs]
    assert results_of(PARALLEL_HDF5, n_ranks, tmp_path, runs) == expected
    for i, wanted in enumerate(runs):
        if wanted.schedule == "static" and wanted.n_parts is None:
            spans = spans_of(tmp_path, i)
            assert set(spans["worker"][spans["kind"] == KINDS.index("read")]) == set(range(n_ranks))


@needs(PARALLEL_HDF5)
def test_run_with_a_checkpoint_goes_on(files: dict[str, str], tmp_path: Path) -> None:
    for i, (schedule, access) in enumerate(accesses()):
        wanted = Wanted(
            [files["gzip"]], schedule, n_parts=6, access=access, checkpoint=str(tmp_path / f"{i}.checkpoint")
        )
        assert results_of(PARALLEL_HDF5, 3, tmp_path, [wanted, wanted]) == [[expected_of(Wanted(wanted.paths))] * 3] * 2


def damaged(path: str, copy: Path, chunk: int) -> str:
    """A copy of a file of which the bytes of a chunk are not what they were."""
    content = bytearray(Path(path).read_bytes())
    with h5py.File(path, "r") as file:
        info = file["particles/atoms/position/value"].id.get_chunk_info(chunk)
    content[info.byte_offset : info.byte_offset + info.size] = bytes(info.size)
    copy.write_bytes(content)
    return str(copy)


@needs(PARALLEL_HDF5)
@pytest.mark.parametrize(("schedule", "access"), accesses())
def test_what_goes_wrong_on_one_rank_ends_all_ranks_once(
    files: dict[str, str], tmp_path: Path, schedule: str, access: str
) -> None:
    torn = damaged(files["gzip"], tmp_path / "torn.h5md", 20)
    infinite = tmp_path / "infinite.h5md"
    infinite.write_bytes(Path(files["gzip"]).read_bytes())
    with h5py.File(infinite, "r+") as file:
        file["particles/atoms/position/value"][70, 3] = np.inf
    for path, found in ((torn, r"torn\.h5md, frame 60: .*inflate"), (infinite, r"infinite\.h5md: .*frame 70")):
        done = on_command_line(PARALLEL_HDF5, path, "--select", "all", "--schedule", schedule, "--access", access)
        assert done.returncode == 3, done.stderr
        assert done.stderr.count("mdreel: error") == 1
        assert re.search(found, done.stderr), done.stderr


def on_command_line(mpi: Launcher, path: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = mpi.command(3, "-m", "mdreel.cli", "rmsd", "-s", PSF, "-f", path, "-q", *arguments)
    return subprocess.run(command, capture_output=True, text=True, env=mpi.environment, timeout=60)


@needs(PARALLEL_HDF5)
def test_damaged_frames_are_left_out_where_ranks_read_each_on_its_own(files: dict[str, str], tmp_path: Path) -> None:
    torn = damaged(files["gzip"], tmp_path / "torn.h5md", 20)
    runs = [Wanted([torn], schedule, access=INDEPENDENT, on_error="skip") for schedule in ("demand", "static")]
    alone = compute(replace(runs[0], access=None), Serial())
    assert [damage.frame for damage in alone.damage] == [60, 61, 62]
    assert results_of(PARALLEL_HDF5, 2, tmp_path, runs) == [[bits_of(alone).tobytes()] * 2] * 2


FAULTS = """
import os, signal, sys
from pathlib import Path
import numpy as np
from mdreel import Mpi
from mdreel._core import FrameSet, Pass, plan, rmsd
from mdreel.execution.job import Job
from mdreel.execution.work import Work
from mdreel.execution.executors.mpi.launcher import launched
from mdreel.trajectory.parallel_hdf5 import SharedPositions
from mdreel.trajectory.open import open as open_trajectory

folder, path, schedule, access, fault = sys.argv[1:]
executor = Mpi(schedule=schedule)

def happen(n_frames):
    if n_frames > 500 and fault == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    if n_frames > 500 and fault == "shrink":
        os.truncate(path, Path(path).stat().st_size // 2)

def compute():
    source = open_trajectory(path)
    atoms = np.arange(source.n_atoms, dtype=np.uint32)
    reference = source.read(FrameSet.range(0, 1, 1), atoms).positions[0].astype(float)
    job = Job(source, atoms, Pass.of(rmsd(reference, None, True)), SharedPositions.of)
    frames = FrameSet.list(np.tile(np.arange(98, dtype=np.uint64), 300))
    blocks = plan(source, frames, executor.n_workers, executor.n_workers)
    return executor.run(Work(job, blocks, monitor=happen, access=access))

try:
    executor.share(compute)
except BaseException as error:
    Path(folder, f"rank{launched().rank}.txt").write_text(f"{type(error).__name__}: {error}")
assert executor.share(lambda: "still there") == "still there"
"""


def seen_of(folder: Path, path: str, schedule: str, access: str, fault: str) -> list[str]:
    """The error that each of three ranks has seen."""
    command = PARALLEL_HDF5.command(3, "-c", FAULTS, str(folder), path, schedule, access, fault)
    done = subprocess.run(command, capture_output=True, text=True, env=PARALLEL_HDF5.environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return [(folder / f"rank{rank}.txt").read_text() for rank in range(3)]


@needs(PARALLEL_HDF5)
@pytest.mark.parametrize(("schedule", "access"), accesses())
def test_ctrl_c_reaches_all_ranks_between_two_reads(
    files: dict[str, str], tmp_path: Path, schedule: str, access: str
) -> None:
    seen = seen_of(tmp_path, files["gzip"], schedule, access, "interrupt")
    assert seen == ["KeyboardInterrupt: ", *["RuntimeError: rank 0 was interrupted"] * 2]


@needs(PARALLEL_HDF5)
@pytest.mark.parametrize(("schedule", "access"), accesses())
@pytest.mark.parametrize("layout", ["gzip", "contiguous"])
def test_file_that_shrinks_is_an_error_on_all_ranks(
    files: dict[str, str], tmp_path: Path, schedule: str, access: str, layout: str
) -> None:
    path = tmp_path / "shrinking.h5md"
    path.write_bytes(Path(files[layout]).read_bytes())
    seen = seen_of(tmp_path, str(path), schedule, access, "shrink")
    assert len(set(seen)) == 1
    assert seen[0].startswith(f"FormatError: {path}")
    assert "the file was cut while being read: it had" in seen[0]


@EVERY_MPI
@pytest.mark.parametrize("access", [INDEPENDENT, COLLECTIVE])
def test_serial_h5py_is_refused_on_all_ranks(files: dict[str, str], mpi: Launcher, access: str) -> None:
    done = on_command_line(mpi, files["gzip"], "--schedule", "static", "--access", access)
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("mdreel: error") == 1
    assert "parallel HDF5 needs an h5py that is built with the MPI of the launcher, this one is serial" in done.stderr


@needs(PARALLEL_HDF5)
@pytest.mark.parametrize(
    ("schedule", "access", "message"),
    [
        ("static", INDEPENDENT, "parallel HDF5 is for one file of H5MD, this is XTC"),
        ("static", COLLECTIVE, "/particles/atoms/position/value has chunks that are not stored"),
        ("demand", COLLECTIVE, "--access hdf5-collective needs --schedule static"),
    ],
)
def test_what_does_not_suit_parallel_hdf5_is_refused(
    files: dict[str, str], adk_xtc: Path, schedule: str, access: str, message: str
) -> None:
    path = str(adk_xtc) if "XTC" in message else files["filled"]
    done = on_command_line(PARALLEL_HDF5, path, "--schedule", schedule, "--access", access)
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("mdreel: error") == 1
    assert message in done.stderr


@pytest.mark.parametrize("executor", [Serial(), Threads(2), Processes(2)])
def test_other_executors_refuse_parallel_hdf5(files: dict[str, str], executor: Serial | Threads | Processes) -> None:
    for access in (INDEPENDENT, COLLECTIVE):
        with pytest.raises(UnsupportedError, match=f"'{access}' is for the backend mpi, not {executor.name}"):
            compute(Wanted([files["gzip"]], access=access), executor)


@given(st.lists(st.integers(0, 200), unique=True), st.integers(1, 5))
def test_runs_are_the_numbers(numbers: list[int], step: int) -> None:
    ascending = np.array(sorted(numbers), np.uint64)
    runs = _runs(ascending)
    assert [first + step * i for first, step, count in runs for i in range(count)] == ascending.tolist()
    assert len(_runs(np.arange(7, 100, step, np.uint64))) == 1
