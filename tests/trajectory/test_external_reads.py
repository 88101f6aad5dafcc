"""Trajectories whose bytes a Python object reads: the same frames, and one error if it fails."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, TRR, XTC
from numpy.typing import NDArray

from mdreel._core import FrameSet, Source
from mdreel.errors import FormatError, UnsupportedError
from mdreel.trajectory.convert import convert
from mdreel.trajectory.open import open as open_trajectory

Ranges = Sequence[tuple[int, int]]


class Reads:
    """Reads ranges of files, and notes them."""

    def __init__(self, source: Source) -> None:
        self._paths = [path for _, path in source.files]
        self.noted: list[tuple[int, Ranges]] = []

    def read(self, file: int, ranges: Ranges) -> NDArray[np.uint8]:
        self.noted.append((file, ranges))
        path = self._paths[file]
        assert path is not None
        content = path.read_bytes()
        return np.frombuffer(b"".join(content[start:end] for start, end in ranges), np.uint8)


class Failing:
    """Returns, for all ranges, what a function makes of their number of bytes."""

    def __init__(self, found: Callable[[int], object]) -> None:
        self._found = found

    def read(self, file: int, ranges: Ranges) -> object:
        return self._found(sum(end - start for start, end in ranges))


@pytest.mark.parametrize("paths", [[XTC], [TRR], [DCD], [DCD, DCD]], ids=["xtc", "trr", "dcd", "chain"])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_frames_are_those_of_the_files(paths: list[str], on_error: str) -> None:
    source = open_trajectory([str(path) for path in paths], index="none").with_on_error(on_error)
    everything = np.arange(source.n_atoms, dtype=np.uint32)
    for atoms in (everything, everything[:50], everything[::500]):
        for step in (1, 3):
            reads = Reads(source)
            frames = FrameSet.range(0, step, len(range(0, source.n_frames, step)))
            found, expected = source.read_by(reads).read(frames, atoms), source.read(frames, atoms)
            np.testing.assert_array_equal(found.positions, expected.positions)
            np.testing.assert_array_equal(found.times, expected.times)
            np.testing.assert_array_equal(found.dimensions, expected.dimensions)
            assert {file for file, _ in reads.noted} == set(range(len(paths)))


def test_only_bytes_of_the_frames_are_read() -> None:
    source = open_trajectory(DCD, index="none")
    reads = Reads(source)
    source.read_by(reads).read(FrameSet.list(np.array([40], np.uint64)), np.arange(source.n_atoms, dtype=np.uint32))
    n_bytes = sum(end - start for _, ranges in reads.noted for start, end in ranges)
    assert 12 * source.n_atoms <= n_bytes <= source.n_bytes / source.n_frames


def refuse(n_bytes: int) -> object:
    raise OSError(f"no {n_bytes} bytes")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (refuse, r"adk_dims\.dcd, byte \d+: no \d+ bytes"),
        (lambda n: np.zeros(n - 1, np.uint8), r"\d+ of \d+ bytes came, although the file is long enough"),
        (lambda n: np.zeros(n + 1, np.uint8), r"\d+ bytes came for \d+"),
        (lambda n: b"x" * n, "byte"),
    ],
)
def test_failure_is_one_error(found: Callable[[int], object], message: str) -> None:
    source = open_trajectory(DCD, index="none").read_by(Failing(found))
    with pytest.raises(FormatError, match=message) as caught:
        source.read(FrameSet.range(0, 1, 98), np.arange(3, dtype=np.uint32))
    assert caught.value.path == str(DCD)


class ZerosBehindTheEnd(Reads):
    """Returns zeros for what is behind the end of a file, as collective reads of Open MPI do."""

    def read(self, file: int, ranges: Ranges) -> NDArray[np.uint8]:
        found = super().read(file, ranges)
        return np.concatenate([found, np.zeros(sum(end - start for start, end in ranges) - len(found), np.uint8)])


@pytest.mark.parametrize("path", [XTC, TRR, DCD], ids=["xtc", "trr", "dcd"])
@pytest.mark.parametrize("reads", [Reads, ZerosBehindTheEnd])
def test_file_that_has_shrunk_is_an_error(tmp_path: Path, path: str, reads: type[Reads]) -> None:
    copy = tmp_path / Path(path).name
    copy.write_bytes(Path(path).read_bytes())
    source = open_trajectory(copy, index="none")
    atoms = np.arange(source.n_atoms, dtype=np.uint32)
    frames = FrameSet.range(0, 1, source.n_frames)
    read = source.read_by(reads(source))
    read.read(frames, atoms)
    os.truncate(copy, copy.stat().st_size // 2)
    for rest in (frames, FrameSet.range(source.n_frames - 1, 1, 1)):  # the last frame has zeros instead of a header
        with pytest.raises(FormatError, match="was cut while being read"):
            read.read(rest, atoms)


def test_what_is_no_file_of_the_core_is_refused(tmp_path: Path, adk_positions: np.ndarray) -> None:
    memory = Source.memory(adk_positions[:2], np.arange(2.0))
    convert(DCD, tmp_path / "adk.h5md", stop=2)
    for source in (memory, open_trajectory(tmp_path / "adk.h5md")):
        assert [path for _, path in source.files] == [None]
        with pytest.raises(UnsupportedError, match=f"this trajectory is {source.format}"):
            source.read_by(Failing(refuse))
