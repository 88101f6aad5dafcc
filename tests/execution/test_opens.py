"""Opens of the files of a chain: the process that plans opens all of them once, each worker those that it reads.

MPI ranks plan together: each opens its share once.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from chain_files import CHANGES, SPOILING, elsewhere, segments, two_processes
from h5md_writer import write_h5md
from mdreel._core import FrameSet, plan
from mdreel.errors import FormatError, MdreelError
from mdreel.execution.executors.local.serial import Serial
from mdreel.execution.job import Job
from mdreel.execution.serving_processes import current_kept
from mdreel.execution.shared_files import SharedFiles, check_end, locate
from mdreel.trajectory.convert import convert
from mdreel.trajectory.open import open as open_trajectory
from mixed_job import bits_of, mixed_job
from mpi_launcher import MPICH, needs
from opened_chain import compute
from watched_calls import OPENS, counting_opens, opens_of, watcher

N_WORKERS = 4

PROGRAM = Path(__file__).parents[1] / "opened_chain.py"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return watcher(tmp_path_factory.mktemp("opening"), OPENS)


@pytest.fixture(scope="module")
def frame(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a file of one frame."""
    positions = np.random.default_rng(3).normal(0, 5, (1, 12, 3)).astype(np.float32)
    return write_h5md(tmp_path_factory.mktemp("frame") / "frame.h5md", {"position": positions})


def opens(library: Path, folder: Path, name: str, is_located: bool, place: Path) -> list[int]:
    """Return how many files each process of a run opens, the busiest first; check that all frames were read."""
    arguments = [str(PROGRAM), str(folder), name, "true" if is_located else "false", str(place / "rows.npy")]
    launcher = MPICH.unforked()
    command = launcher.command(N_WORKERS, *arguments) if name == "mpi" else [sys.executable, *arguments]
    environment = dict(launcher.environment if name == "mpi" else os.environ)
    environment |= counting_opens(library, folder, place / "log")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    rows = np.load(place / "rows.npy")
    paths = sorted(str(path) for path in folder.iterdir())
    assert rows[:, 0].tolist() == list(range(len(paths)))
    np.testing.assert_array_equal(rows, compute(paths, Serial(), True).rows)
    return list(opens_of(place / "log").values())


@pytest.mark.parametrize(
    ("name", "n_files", "is_located"),
    [
        ("processes", 200, True),
        ("processes", 200, False),
        ("dask", 200, True),
    ],
)
def test_each_worker_opens_the_files_that_it_reads(
    name: str, n_files: int, is_located: bool, library: Path, frame: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "segments"
    folder.mkdir()
    planning, *workers = opens(library, segments(frame, folder, ".xtc", n_files), name, is_located, tmp_path)
    assert len(workers) == N_WORKERS
    assert max(workers) <= n_files // N_WORKERS + 3, workers
    # The process that plans opens all files once, and once more to locate the frames.
    assert planning <= (1 + is_located) * n_files + 3


@needs(MPICH)
@pytest.mark.parametrize(
    ("suffix", "n_files", "is_located"), [(".xtc", 1000, True), (".xtc", 1000, False), (".dcd", 200, True)]
)
def test_each_rank_opens_its_share_of_the_files(
    suffix: str, n_files: int, is_located: bool, library: Path, frame: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "segments"
    folder.mkdir()
    ranks = opens(library, segments(frame, folder, suffix, n_files), "mpi", is_located, tmp_path)
    assert len(ranks) == N_WORKERS
    assert max(ranks) <= n_files // N_WORKERS + 3, ranks


@needs(MPICH)
@pytest.mark.parametrize("spoil", SPOILING)
@pytest.mark.parametrize("is_located", [True, False])
def test_every_rank_raises_the_error_of_one_process(
    is_located: bool, spoil: Callable[[Path], None], frame: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "segments"
    folder.mkdir()
    spoilt = segments(frame, folder, ".xtc", 12) / "0007.xtc"
    spoilt.unlink()
    spoil(spoilt)
    with pytest.raises((MdreelError, OSError)) as raised:
        compute(sorted(str(path) for path in folder.resolve().iterdir()), Serial(), is_located)
    arguments = [str(PROGRAM), str(folder), "mpi", "true" if is_located else "false", str(tmp_path / "rows.npy")]
    done = subprocess.run(
        MPICH.command(N_WORKERS, *arguments),
        env=MPICH.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {(tmp_path / f"rows.{rank}").read_text() for rank in range(N_WORKERS)}
    assert found == {f"{type(raised.value).__name__}: {raised.value}"}


@needs(MPICH)
def test_ranks_keep_the_frame_index_of_their_files(frame: Path, tmp_path: Path) -> None:
    folder = tmp_path / "segments"
    folder.mkdir()
    paths = sorted(str(path) for path in segments(frame, folder, ".xtc", 8).iterdir())
    arguments = [str(PROGRAM), str(folder), "mpi", "false", str(tmp_path / "rows.npy"), "beside"]
    command = MPICH.command(N_WORKERS, *arguments)
    subprocess.run(command, env=MPICH.environment, capture_output=True, timeout=60, check=True)
    assert open_trajectory(paths, index="beside").is_located
    np.testing.assert_array_equal(np.load(tmp_path / "rows.npy"), compute(paths, Serial(), True).rows)


FORMATS = ("xtc", "trr", "dcd", "nc", "h5md", "mixed")


def chain_of(format_: str, adk_xtc: Path, folder: Path) -> list[Path]:
    """Write three files of the AdK trajectory in one format, or in several."""
    suffixes = ["xtc", "h5md", "dcd"] if format_ == "mixed" else [format_] * 3
    paths = [folder / f"{i}.{suffix}" for i, suffix in enumerate(suffixes)]
    for path in paths:
        convert(adk_xtc, path, stop=9)
    return paths


def rows_of(job: Job, on_error: str = "raise") -> np.ndarray:
    blocks = plan(job.source, FrameSet.range(0, 1, job.source.n_frames), 3, 1, False, 8)
    outcome = job.finish(job.map(blocks, 0, len(blocks)))
    assert outcome is not None
    return bits_of(outcome)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("overlaps", ["keep", "drop"])
def test_chain_that_processes_open_together_is_the_chain(
    format_: str, overlaps: str, adk_xtc: Path, tmp_path: Path
) -> None:
    paths = chain_of(format_, adk_xtc, tmp_path)
    expected = open_trajectory(paths, index="none", overlaps=overlaps)
    atoms = np.arange(0, expected.n_atoms, 5, dtype=np.uint32)
    with two_processes():
        source = open_trajectory(paths, index="none", overlaps=overlaps)
        kept = current_kept()
        assert kept is not None
        assert isinstance(kept.item, SharedFiles)
        locate(source)
        for name in ("n_atoms", "n_frames", "n_bytes", "n_segments", "format", "quantities"):
            assert getattr(source, name) == getattr(expected, name), name
        assert source.describe() == expected.describe()
        np.testing.assert_array_equal(source.times(), expected.times())
        check_end(source)
        found = rows_of(mixed_job(source, atoms))
        there = rows_of(elsewhere(mixed_job(source.with_on_error("skip"), atoms)))
    np.testing.assert_array_equal(found, rows_of(mixed_job(expected, atoms)))
    np.testing.assert_array_equal(there, found)


def test_file_that_another_process_sees_otherwise_is_opened_here(adk_xtc: Path, tmp_path: Path) -> None:
    paths = chain_of("xtc", adk_xtc, tmp_path)
    replaced_by = tmp_path / "new.xtc"
    convert(adk_xtc, replaced_by, stop=5)
    with two_processes(lambda: replaced_by.exists() and replaced_by.replace(paths[2])):
        source = open_trajectory(paths, index="none")
        kept = current_kept()
        assert kept is not None
        assert kept.item is None
        assert source.n_frames == 9 + 9 + 5


def test_threads_share_the_files_that_are_open(library: Path, frame: Path, tmp_path: Path) -> None:
    folder = tmp_path / "segments"
    folder.mkdir()
    (alone,) = opens(library, segments(frame, folder, ".xtc", 200), "threads", False, tmp_path)
    assert alone <= 2 * 200 + 3 * N_WORKERS


@pytest.mark.parametrize("n_files", [1, 40])
def test_workers_do_not_read_the_structure_of_hdf5_again(
    n_files: int, library: Path, frame: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "segments"
    folder.mkdir()
    _, *workers = opens(library, segments(frame, folder, ".h5md", n_files), "processes", True, tmp_path)
    assert len(workers) <= N_WORKERS
    assert max(workers) <= n_files // N_WORKERS + 1 + (n_files > 1), workers


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_chain_elsewhere_is_the_chain_that_was_opened(
    format_: str, on_error: str, adk_xtc: Path, tmp_path: Path
) -> None:
    paths = chain_of(format_, adk_xtc, tmp_path)
    source = open_trajectory(paths, index="none").with_on_error(on_error)
    assert source.n_frames == 27
    job = mixed_job(source, np.arange(0, source.n_atoms, 5, dtype=np.uint32))
    there = elsewhere(job).source
    for name in ("n_atoms", "n_frames", "n_bytes", "n_segments", "format", "quantities", "on_error", "is_located"):
        assert getattr(there, name) == getattr(source, name), name
    np.testing.assert_array_equal(elsewhere(job).source.times(), source.times())
    assert elsewhere(job).source.describe() == source.describe()
    np.testing.assert_array_equal(rows_of(elsewhere(elsewhere(job))), rows_of(job))


@pytest.mark.parametrize("format_", ["xtc", "dcd", "mixed"])
def test_overlaps_are_dropped_elsewhere_without_opening_the_files(format_: str, adk_xtc: Path, tmp_path: Path) -> None:
    paths = chain_of(format_, adk_xtc, tmp_path)
    source = open_trajectory(paths, index="none", overlaps="drop")
    assert source.n_frames == 9
    job = mixed_job(source, np.arange(0, source.n_atoms, 5, dtype=np.uint32))
    content = pickle.dumps(job)
    expected = rows_of(job)
    for path in paths[:2]:
        path.unlink()  # no frame of these is left
    there: Job = pickle.loads(content)
    if format_ != "mixed":
        assert there.source.n_frames == 9
    np.testing.assert_array_equal(rows_of(there), expected)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("n_files", [1, 3])
def test_file_that_changed_since_it_was_opened_is_noticed(
    n_files: int, format_: str, change: Callable[[Path], None], adk_xtc: Path, tmp_path: Path
) -> None:
    paths = chain_of(format_, adk_xtc, tmp_path)[-n_files:]
    source = open_trajectory(paths, index="none")
    assert source.n_frames == 9 * n_files
    content = pickle.dumps(mixed_job(source, np.arange(0, source.n_atoms, 5, dtype=np.uint32)))
    change(paths[-1])
    with pytest.raises(FormatError, match=CHANGES[change]) as raised:
        rows_of(pickle.loads(content))
    assert Path(str(raised.value.path)) == paths[-1]


@pytest.mark.parametrize("on_error", ["raise", "stop", "skip"])
def test_files_whose_frames_are_not_read_are_not_opened(on_error: str, adk_xtc: Path, tmp_path: Path) -> None:
    paths = chain_of("xtc", adk_xtc, tmp_path)
    source = open_trajectory(paths, index="none").with_on_error(on_error)
    assert source.n_frames == 27
    content = pickle.dumps(mixed_job(source, np.arange(0, source.n_atoms, 5, dtype=np.uint32)))
    for path in (paths[0], paths[2]):
        path.unlink()
    there: Job = pickle.loads(content)
    blocks = plan(there.source, FrameSet.range(10, 1, 7), 2, 1, False, 8)
    assert there.map(blocks, 0, len(blocks)).n_frames == 7


def test_file_that_is_gone_is_noticed_when_it_is_read(adk_xtc: Path, tmp_path: Path) -> None:
    paths = chain_of("xtc", adk_xtc, tmp_path)
    source = open_trajectory(paths, index="none")
    assert source.n_frames == 27
    content = pickle.dumps(mixed_job(source, np.arange(0, source.n_atoms, 5, dtype=np.uint32)))
    paths[1].unlink()
    with pytest.raises(FileNotFoundError, match=r"1\.xtc"):
        rows_of(pickle.loads(content))
