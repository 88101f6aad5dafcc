"""Descriptions of chains that are kept for later runs: nothing else is read, and a changed file is noticed."""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from chain_files import CHANGES, SPOILING, elsewhere, segments, two_processes
from h5md_writer import write_h5md
from mdreel._core import FrameSet, Source, keep_chain, kept_chain, plan
from mdreel.errors import FormatError, MdreelError, MismatchError
from mdreel.execution.executors.local.serial import Serial
from mdreel.execution.job import Job
from mdreel.execution.serving_processes import current_kept
from mdreel.execution.shared_files import check_end
from mdreel.trajectory.convert import convert
from mdreel.trajectory.open import open as open_trajectory
from mixed_job import bits_of, mixed_job
from mpi_launcher import MPICH, needs
from opened_chain import compute
from watched_calls import OPENS, counting_opens, opens_of, watcher

N_WORKERS = 4
PROGRAM = Path(__file__).parents[1] / "opened_chain.py"
FORMATS = ("xtc", "trr", "dcd", "nc", "mixed")
SECONDS = 60
"""Deadline for files to become old enough."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("MDREEL_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return watcher(tmp_path_factory.mktemp("opening"), OPENS)


@pytest.fixture(scope="module")
def frame(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a file of one frame."""
    positions = np.random.default_rng(3).normal(0, 5, (1, 12, 3)).astype(np.float32)
    return write_h5md(tmp_path_factory.mktemp("frame") / "frame.h5md", {"position": positions})


def chain_of(format_: str, adk_xtc: Path, folder: Path) -> list[str]:
    """Write three files of the AdK trajectory, of different lengths."""
    suffixes = ["xtc", "dcd", "trr"] if format_ == "mixed" else [format_] * 3
    paths = [folder / f"{i}.{suffix}" for i, suffix in enumerate(suffixes)]
    for i, path in enumerate(paths):
        convert(adk_xtc, path, start=i, stop=9)
    return [str(path) for path in paths]


@pytest.fixture(scope="module")
def folders(cache: Path, adk_xtc: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Files of each format, and files for each change that a test makes, which are old enough for a description."""
    changed = [f"{one} {change.__name__}" for one in ("xtc", "dcd") for change in CHANGES]
    names = [*FORMATS, "xtc hidden", *(f"{name} {when}" for name in changed for when in ("before", "after"))]
    paths = {name: chain_of(name.split()[0], adk_xtc, tmp_path_factory.mktemp("files")) for name in names}
    for some in paths.values():
        deadline = time.monotonic() + SECONDS
        while not keep(some):
            assert time.monotonic() < deadline, "the files did not become old enough"
            time.sleep(0.05)
    return paths


def keep(paths: list[str], overlaps: str = "keep") -> bool:
    source = open_trajectory(paths, overlaps=overlaps)
    assert source.n_frames > 0
    source.check_end()
    return keep_chain(source, "\0".join(paths), None, "cache", overlaps, '[{"kept": 1}]')


def kept(paths: list[str], overlaps: str = "keep", index: str = "cache") -> Source | None:
    found = kept_chain("\0".join(paths), None, "auto", index, overlaps)
    if found is None:
        return None
    chain, check = found
    assert check is not None, "all files were seen from this machine"
    return chain if check.are_unchanged() else None


def bits(job: Job) -> np.ndarray:
    blocks = plan(job.source, FrameSet.range(0, 1, job.source.n_frames), 3, 1, False, 8)
    outcome = job.finish(job.map(blocks, 0, len(blocks)))
    assert outcome is not None
    return bits_of(outcome)


@pytest.mark.parametrize("format_", FORMATS)
def test_kept_chain_is_the_chain(format_: str, folders: dict[str, list[str]]) -> None:
    paths = folders[format_]
    expected, source = open_trajectory(paths), kept(paths)
    assert source is not None
    for name in ("n_atoms", "n_frames", "n_bytes", "n_segments", "format", "quantities"):
        assert getattr(source, name) == getattr(expected, name), name
    assert source.is_located
    source.check_end()
    np.testing.assert_array_equal(source.times(), expected.times())
    atoms = np.arange(0, expected.n_atoms, 5, dtype=np.uint32)
    rows = bits(mixed_job(expected, atoms))
    for on_error in ("raise", "skip", "stop"):
        job = mixed_job(source.with_on_error(on_error), atoms)
        there = elsewhere(elsewhere(job))
        assert there.source.describe() == expected.describe()
        np.testing.assert_array_equal(bits(there), rows)
        np.testing.assert_array_equal(bits(job), rows)


def test_overlaps_of_a_kept_chain_are_dropped(folders: dict[str, list[str]]) -> None:
    paths = folders["xtc"]
    assert kept(paths, "drop") is None
    assert keep(paths, "drop")
    source, expected = kept(paths, "drop"), open_trajectory(paths, overlaps="drop")
    assert source is not None
    assert source.n_frames == expected.n_frames < open_trajectory(paths).n_frames
    np.testing.assert_array_equal(
        elsewhere(mixed_job(source, np.arange(9, dtype=np.uint32))).source.times(), expected.times()
    )


def test_only_the_files_that_are_read_are_opened(folders: dict[str, list[str]]) -> None:
    paths = folders["xtc hidden"]
    source = kept(paths)
    assert source is not None
    for path in (paths[0], paths[2]):
        Path(path).unlink()
    atoms = np.arange(5, dtype=np.uint32)
    assert len(source.read(FrameSet.range(9, 1, 8), atoms).positions) == 8
    with pytest.raises(FileNotFoundError, match=r"0\.xtc"):
        source.read(FrameSet.range(0, 1, 1), atoms)
    assert kept(paths) is None


def test_kept_facts_are_read_when_they_are_needed(cache: Path, folders: dict[str, list[str]]) -> None:
    paths = folders["xtc"]
    source = kept(paths)
    assert source is not None
    assert source.describe() == [{"kept": 1}]
    descriptions = list(cache.glob("index/*.files.index"))
    for path in descriptions:
        path.rename(path.with_suffix(".away"))
    assert source.describe() == open_trajectory(paths).describe()
    for path in descriptions:
        path.with_suffix(".away").rename(path)
    assert source.describe() == [{"kept": 1}]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("format_", ["xtc", "dcd"])
def test_description_of_files_that_have_changed_is_not_used(
    format_: str, change: Callable[[Path], None], folders: dict[str, list[str]]
) -> None:
    paths = folders[f"{format_} {change.__name__} before"]
    assert kept(paths) is not None
    change(Path(paths[1]))
    assert kept(paths) is None


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("format_", ["xtc", "dcd"])
def test_file_that_changes_after_it_was_looked_at_is_noticed(
    format_: str, change: Callable[[Path], None], folders: dict[str, list[str]]
) -> None:
    paths = folders[f"{format_} {change.__name__} after"]
    source = kept(paths)
    assert source is not None
    there = elsewhere(mixed_job(source, np.arange(0, source.n_atoms, 5, dtype=np.uint32)))
    change(Path(paths[1]))
    with pytest.raises(FormatError, match=CHANGES[change]) as raised:
        bits(there)
    assert str(raised.value.path) == paths[1]


def test_new_files_are_not_described(cache: Path, adk_xtc: Path, tmp_path: Path) -> None:
    paths = chain_of("xtc", adk_xtc, tmp_path)
    assert not keep(paths)
    assert kept(paths) is None


def test_other_chains_have_other_descriptions(folders: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    paths = folders["xtc"]
    assert kept(paths[::-1]) is None
    assert kept(paths[:2]) is None
    assert kept(paths[:1]) is None
    assert kept(paths, index="none") is None
    assert kept(paths, index="beside") is None
    assert kept_chain("\0".join(paths), "TRR", "auto", "cache", "keep") is None
    folder, names = Path(paths[0]).parent, [Path(path).name for path in paths]
    monkeypatch.chdir(folder)
    assert kept(names) is None
    assert keep(names)
    assert kept(names) is not None
    monkeypatch.chdir(folder.parent)
    assert kept(names) is None


def test_damaged_description_is_not_used(cache: Path, folders: dict[str, list[str]]) -> None:
    paths = folders["dcd"]
    files = {path: path.read_bytes() for path in cache.glob("index/*.files.index")}
    assert kept(paths) is not None
    for damage in (
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content[:9] + b"\xff" * 8 + content[17:],
        lambda content: content[:-200] + bytes([content[-200] ^ 1]) + content[-199:],
    ):
        for path, content in files.items():
            path.write_bytes(damage(content))
        assert kept(paths) is None
    for path, content in files.items():
        path.write_bytes(content)
    assert kept(paths) is not None


def test_descriptions_are_removed_together_with_frame_indexes(
    folders: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = folders["xtc"]
    monkeypatch.setenv("MDREEL_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        assert kept(paths) is None
        assert keep(paths)
        assert kept(paths) is not None
        names = sorted(path.name.split(".")[0] for path in tmp_path.rglob("*.index"))
        assert names == ["0", "0", "1", "2"], "an index of each file, and a description with the name of the first"
        assert [path.name for path in tmp_path.iterdir()] == ["index"]
        for path in (tmp_path / "index").iterdir():
            path.unlink()


def test_described_chain_that_is_cut_is_an_error(folders: dict[str, list[str]]) -> None:
    source = kept(folders["xtc"])
    assert source is not None
    function, (told, *options) = source.__reduce__()
    for part in (told[:-3], told[:0], np.zeros(50, np.uint8)):
        with pytest.raises(MismatchError, match="chain"):
            function(part, *options)


def test_processes_keep_the_description_of_a_chain_that_they_open_together(folders: dict[str, list[str]]) -> None:
    paths = folders["trr"]
    with two_processes():
        source = open_trajectory(paths)
        known = current_kept()
        assert known is not None
        assert known.item is None, "the kept chain is used, and no process opens its share"
        check_end(source)
        atoms = np.arange(0, source.n_atoms, 5, dtype=np.uint32)
        there = elsewhere(mixed_job(source, atoms))
        np.testing.assert_array_equal(bits(there), bits(mixed_job(open_trajectory(paths, index="none"), atoms)))


def run_on_ranks(folder: Path, place: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    launcher = MPICH.unforked()
    command = launcher.command(N_WORKERS, str(PROGRAM), str(folder), "mpi", "true", str(place / "rows.npy"), "cache")
    environment = {**launcher.environment, "MDREEL_CACHE_DIR": str(place / "cache"), **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def run_until_described(folder: Path, place: Path) -> Path:
    """Run on all ranks until the description of the chain is kept; return its file."""
    deadline = time.monotonic() + SECONDS
    while not (found := list((place / "cache").glob("index/*.files.index"))):
        assert time.monotonic() < deadline
        done = run_on_ranks(folder, place)
        assert done.returncode == 0, done.stderr
    return found[0]


@needs(MPICH)
def test_each_rank_opens_the_files_that_it_reads_of_a_described_chain(
    library: Path, frame: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "segments"
    folder.mkdir()
    n_files = 1000
    described = run_until_described(segments(frame, folder, ".xtc", n_files), tmp_path)
    written = described.stat().st_mtime_ns
    done = run_on_ranks(folder, tmp_path, **counting_opens(library, folder, tmp_path / "log"))
    assert done.returncode == 0, done.stderr
    # A run that opens the files in another way keeps the description again.
    assert described.stat().st_mtime_ns == written
    opens = list(opens_of(tmp_path / "log").values())
    assert len(opens) == N_WORKERS
    assert max(opens) <= n_files // N_WORKERS + 3, opens
    paths = sorted(str(path) for path in folder.iterdir())
    np.testing.assert_array_equal(np.load(tmp_path / "rows.npy"), compute(paths, Serial(), True).rows)


@needs(MPICH)
@pytest.mark.parametrize("spoil", SPOILING)
def test_every_rank_raises_the_error_of_one_process_for_a_described_chain(
    spoil: Callable[[Path], None], frame: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "segments"
    folder.mkdir()
    run_until_described(segments(frame, folder, ".xtc", 12), tmp_path)
    spoilt = folder / "0007.xtc"
    spoilt.unlink()
    spoil(spoilt)
    with pytest.raises((MdreelError, OSError)) as raised:
        compute(sorted(str(path) for path in folder.resolve().iterdir()), Serial(), True)
    done = run_on_ranks(folder, tmp_path)
    assert done.returncode == 0, done.stderr
    found = {(tmp_path / f"rows.{rank}").read_text() for rank in range(N_WORKERS)}
    assert found == {f"{type(raised.value).__name__}: {raised.value}"}
