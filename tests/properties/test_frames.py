"""Frames that are asked for are the frames of Python's slices and lists."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdreel._core import Blocks, Source, plan
from mdreel.errors import FormatError, FrameIndexError
from mdreel.execution.blocks import select_frames
from mdreel.trajectory.open import open as open_trajectory

LIMIT = st.none() | st.integers(-40, 40)


def memory(n_frames: int) -> Source:
    return Source.memory(np.zeros((n_frames, 1, 3), np.float32), np.zeros(n_frames))


def numbers(blocks: Blocks) -> list[int]:
    """Frames of all blocks, in order."""
    seen: list[int] = []
    for i in range(len(blocks)):
        match blocks[i]:
            case "frames", frames:
                seen.extend(frames.numbers().tolist())
            case other:
                pytest.fail(f"a plan by frames holds {other}")
    return seen


@given(n_frames=st.integers(0, 30), start=LIMIT, stop=LIMIT, step=LIMIT.filter(lambda step: step != 0))
def test_frames_are_those_of_a_slice(n_frames: int, start: int | None, stop: int | None, step: int | None) -> None:
    expected = list(range(n_frames))[start:stop:step]
    if not expected:
        with pytest.raises(FrameIndexError, match=f"{n_frames} frames"):
            select_frames(memory(n_frames), start, stop, step)
        return
    frames = select_frames(memory(n_frames), start, stop, step)
    assert frames is not None
    assert frames.numbers().tolist() == expected
    assert len(frames) == len(expected)


@given(data=st.data(), n_frames=st.integers(1, 30), n_parts=st.none() | st.integers(1, 50), n_workers=st.integers(1, 9))
def test_plans_hold_every_frame_once_in_the_order_asked_for(
    data: st.DataObject, n_frames: int, n_parts: int | None, n_workers: int
) -> None:
    asked = data.draw(st.lists(st.integers(-n_frames, n_frames - 1), min_size=1, max_size=60))
    source = memory(n_frames)
    frames = select_frames(source, frames=asked)
    assert numbers(plan(source, frames, n_parts, n_workers)) == [frame % n_frames for frame in asked]


def test_frames_that_are_no_integers_are_refused() -> None:
    for wrong in ({"frames": [0.5]}, {"start": 1.5}, {"frames": ["a"]}):
        with pytest.raises(TypeError):
            select_frames(memory(3), **wrong)


def test_frames_up_to_a_torn_end_are_refused_and_those_before_are_not(tmp_path: Path, adk_xtc: Path) -> None:
    torn = tmp_path / "torn.xtc"
    torn.write_bytes(adk_xtc.read_bytes()[:-100])
    for asked in ({"start": 1}, {"stop": 98}, {"stop": -1}, {"frames": [-1]}):
        with pytest.raises(FormatError, match="97 whole frames"):
            select_frames(open_trajectory(torn), **asked)
    frames = select_frames(open_trajectory(torn), stop=97)
    assert frames is not None
    assert len(frames) == 97
