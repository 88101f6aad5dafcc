"""How many frames are read for those that are asked for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdreel._core import Frames, FrameSet
from mdreel.mdanalysis import read_ahead
from mdreel.mdanalysis.read_ahead import ReadAhead
from mdreel.trajectory.open import open as open_trajectory

N_FRAMES = 98


class Recorded:
    """A source, or a reader of it, and which frames were read."""

    def __init__(self, inner: Any, reads: list[list[int]]) -> None:
        self._inner = inner
        self.reads = reads

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def reader(self, *arguments: Any) -> "Recorded":
        return Recorded(self._inner.reader(*arguments), self.reads)

    def read(self, frames: FrameSet, *arguments: Any) -> Frames:
        self.reads.append(frames.numbers().tolist())
        return self._inner.read(frames, *arguments)


@pytest.fixture
def source(adk_dcd: Path) -> Recorded:
    return Recorded(open_trajectory(adk_dcd), [])


@pytest.fixture
def ahead(source: Recorded) -> ReadAhead:
    return ReadAhead(lambda: source)


@pytest.mark.parametrize("step", [1, 2, 5, -1, -3])
def test_frames_at_even_distances_are_read_ahead_once(
    source: Recorded, ahead: ReadAhead, adk_positions: np.ndarray, step: int
) -> None:
    wanted = range(N_FRAMES)[::step]
    for number in wanted:
        np.testing.assert_array_equal(ahead.frame(number).positions, adk_positions[number])
    read = [number for numbers in source.reads for number in numbers]
    assert len(set(read)) == len(read)
    assert set(wanted) <= set(read)
    # Until a distance is known, it is taken to be 1.
    assert len(read) <= len(wanted) + 2
    assert len(source.reads) <= 12


def test_scattered_frames_are_read_alone(source: Recorded, ahead: ReadAhead, adk_positions: np.ndarray) -> None:
    wanted = [5, 97, 3, 50, 49, 12, 90]
    for number in wanted:
        np.testing.assert_array_equal(ahead.frame(number).positions, adk_positions[number])
    assert sum(len(numbers) for numbers in source.reads) <= len(wanted) + 1


def test_frames_read_ahead_stay_within_their_memory(source: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "AHEAD_BYTES", 12 * 3341 * 6)
    ahead = ReadAhead(lambda: source)
    for number in range(N_FRAMES):
        ahead.frame(number)
    assert max(len(numbers) for numbers in source.reads) == 6
    monkeypatch.setattr(read_ahead, "AHEAD_BYTES", 100)
    source.reads.clear()
    ahead = ReadAhead(lambda: source)
    assert [ahead.frame(number).time for number in range(5)] == source.times()[:5].tolist()
    assert source.reads == [[0], [1], [2], [3], [4]]


def test_some_atoms_come_in_the_order_asked_for(adk_dcd: Path, adk_positions: np.ndarray) -> None:
    atoms = np.array([900, 4, 4, 3000])
    ahead = ReadAhead(lambda: open_trajectory(adk_dcd), atoms)
    np.testing.assert_array_equal(ahead.frame(3).positions, adk_positions[3, atoms])
    np.testing.assert_array_equal(ahead.positions(range(9, 2, -3), atoms), adk_positions[9:2:-3][:, atoms])


def test_closed_trajectory_is_opened_again(ahead: ReadAhead, adk_positions: np.ndarray) -> None:
    ahead.frame(0)
    ahead.close()
    assert ahead.is_closed
    with pytest.raises(OSError, match="closed"):
        ahead.frame(0)
    ahead.reopen()
    np.testing.assert_array_equal(ahead.frame(0).positions, adk_positions[0])
