"""Files that are rewritten in place: the same size, modification time and ends, but other frames between."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from MDAnalysis.lib.formats.libmdaxdr import TRRFile
from numpy.typing import NDArray

import mdreel
from mdreel._core import FrameSet
from mdreel.trajectory.convert import convert
from mdreel.trajectory.output_file import formats

N_ATOMS, N_FRAMES = 9, 600  # so few atoms that XTC does not compress them: files of the same frames are equally long
CHANGED = slice(250, 350)
ATOMS = np.arange(N_ATOMS, dtype=np.uint32)


def trajectory(folder: Path, ending: str, is_changed: bool) -> Path:
    """Write a trajectory, some middle frames of which have other times, steps and positions."""
    numbers = np.arange(N_FRAMES, dtype=float)
    if is_changed:
        numbers[CHANGED] += 0.25
    raw = folder / f"raw-{is_changed}.trr"
    with TRRFile(str(raw), "w") as file:
        for frame, number in enumerate(numbers):
            positions = np.full((N_ATOMS, 3), number, np.float32)
            step = frame + (1 if number != frame else 0)
            file.write(positions, None, None, np.eye(3, dtype=np.float32) * 90, step, number, 0.0, N_ATOMS)
    path = folder / f"{'changed' if is_changed else 'run'}{ending}"
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # DCD has one interval for all frames, and a warning for those that are not even
        convert(raw, path)
    return path


def content(path: Path) -> tuple[NDArray[np.float64], NDArray[np.float32], NDArray[np.int64], NDArray[np.float64]]:
    """Return the times that are told without reading frames, and positions, steps and times of the frames."""
    source = mdreel.open(path)
    told = np.asarray(source.times())
    read = source.read(FrameSet.range(0, 1, source.n_frames), ATOMS)
    return told, read.positions, np.asarray(read.steps), np.asarray(read.times)


def write_over(path: Path, new: bytes) -> None:
    """Put other bytes into a file, and set its modification time back."""
    before = path.stat()
    assert len(new) == before.st_size
    with path.open("r+b") as file:
        file.write(new)
    # The clock of its file system may be so coarse that it shows the same time for a while.
    while True:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        after = path.stat()
        if after.st_ctime_ns != before.st_ctime_ns:
            break
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)


@pytest.mark.parametrize("ending", [known.ending for known in formats()])
def test_times_steps_and_positions_are_those_of_a_file_that_was_rewritten_in_place(tmp_path: Path, ending: str) -> None:
    path, other = trajectory(tmp_path, ending, False), trajectory(tmp_path, ending, True)
    expected = content(other)
    before = content(path)
    assert not np.array_equal(before[1], expected[1])
    content(path)  # with an index, where the format has one
    old, new = path.read_bytes(), other.read_bytes()
    assert len(old) == len(new)
    if ending in (".xtc", ".trr"):  # formats with an index, whose ends have a checksum
        assert old[:4096] == new[:4096]
        assert old[-4096:] == new[-4096:]
        assert before[0][300] == 300
        assert expected[0][300] == 300.25
    write_over(path, new)
    for found, wanted in zip(content(path), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("ending", [".xtc", ".trr"])
def test_analysis_with_a_stride_sees_a_file_that_was_rewritten_in_place(tmp_path: Path, ending: str) -> None:
    path, other = trajectory(tmp_path, ending, False), trajectory(tmp_path, ending, True)
    content(path)
    write_over(path, other.read_bytes())
    source = mdreel.open(path)
    read = source.read(FrameSet.range(0, 10, N_FRAMES // 10), ATOMS)
    np.testing.assert_array_equal(read.times, np.asarray(source.times())[::10])
    assert read.times[30] == 300.25
