"""Readers that are kept: the same frames as those that are made for one call."""

import threading
from pathlib import Path

import numpy as np
import pytest

from mdreel._core import FrameSet
from mdreel.errors import FormatError, FrameIndexError, MismatchError
from mdreel.trajectory.open import open as open_trajectory


@pytest.mark.parametrize("kind", ["xtc", "dcd"])
def test_reader_gives_the_frames_of_a_read_in_any_order(kind: str, adk_xtc: Path, adk_dcd: Path) -> None:
    source = open_trajectory({"xtc": adk_xtc, "dcd": adk_dcd}[kind])
    atoms = np.array([0, 5, 7, 3340], np.uint32)
    reader = source.reader(atoms)
    for frames in (FrameSet.range(3, 2, 9), FrameSet.range(0, 1, 1), FrameSet.list(np.array([97, 0, 5], np.uint64))):
        expected, found = source.read(frames, atoms), reader.read(frames)
        np.testing.assert_array_equal(found.positions, expected.positions)
        np.testing.assert_array_equal(found.times, expected.times)


def test_reader_is_shared_by_threads(adk_xtc: Path) -> None:
    source = open_trajectory(adk_xtc)
    atoms = np.arange(source.n_atoms, dtype=np.uint32)
    reader = source.reader(atoms)
    expected = source.read(FrameSet.range(0, 1, source.n_frames), atoms).positions
    found = np.zeros_like(expected)

    def work(first: int) -> None:
        for frame in range(first, source.n_frames, 4):
            found[frame] = reader.read(FrameSet.range(frame, 1, 1)).positions[0]

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(found, expected)


def test_reader_reads_on_after_an_error(adk_xtc: Path, tmp_path: Path) -> None:
    source = open_trajectory(adk_xtc)
    atoms = np.arange(3, dtype=np.uint32)
    with pytest.raises(MismatchError, match="atom index 3341"):
        source.reader(np.array([3341], np.uint32)).read(FrameSet.range(0, 1, 1))
    reader = source.reader(atoms)
    with pytest.raises(FrameIndexError):
        reader.read(FrameSet.range(90, 1, 9))
    np.testing.assert_array_equal(
        reader.read(FrameSet.range(90, 1, 8)).positions, source.read(FrameSet.range(90, 1, 8), atoms).positions
    )
    # The bits of a frame in the middle are destroyed, not its header.
    content = bytearray(adk_xtc.read_bytes())
    at = content.index(content[:8], len(content) // 2) + 100
    content[at : at + 400] = bytes(400)
    (tmp_path / "damaged.xtc").write_bytes(content)
    source = open_trajectory(tmp_path / "damaged.xtc")
    reader = source.reader(np.arange(source.n_atoms, dtype=np.uint32))
    with pytest.raises(FormatError, match=r"damaged\.xtc, frame 4"):
        reader.read(FrameSet.range(0, 1, source.n_frames))
    assert len(reader.read(FrameSet.range(0, 1, 40)).times) == 40
