"""Splitting and joining: every frame once, in its place."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdreel._core import FrameSet, Source
from mdreel.errors import FrameIndexError, MismatchError, UnsupportedError
from mdreel.trajectory.concat import concat
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.split import split


def times_of(path: Path) -> list[float]:
    return open_trajectory(path, index="none").times().tolist()


@pytest.mark.parametrize("n_workers", [1, 3])
def test_segments_of_xtc_joined_are_the_file_they_came_from(tmp_path: Path, adk_xtc: Path, n_workers: int) -> None:
    written = split(adk_xtc, tmp_path / "part.xtc", n_parts=7, n_workers=n_workers)
    assert [path.name for path in written.paths] == [f"part-{i}.xtc" for i in range(1, 8)]
    assert b"".join(path.read_bytes() for path in written.paths) == adk_xtc.read_bytes()
    assert (written.n_frames, written.timing.n_frames, written.n_atoms) == (98, 98, 3341)
    assert concat(written.paths, tmp_path / "all.xtc").n_frames == 98
    assert (tmp_path / "all.xtc").read_bytes() == adk_xtc.read_bytes()


def test_segments_of_dcd_have_headers_of_their_own(tmp_path: Path, adk_dcd: Path) -> None:
    written = split(adk_dcd, tmp_path / "part.dcd", frames_per_part=30, start=3)
    expected = open_trajectory(adk_dcd).times()[3:]
    np.testing.assert_allclose(np.concatenate([times_of(path) for path in written.paths]), expected, rtol=1e-6)
    facts = [open_trajectory(path).describe()[0] for path in written.paths]
    assert [fact["frames counted by the header"] for fact in facts] == [30, 30, 30, 5]
    assert [fact["first step"] for fact in facts] == [4000, 34000, 64000, 94000]
    concat(written.paths, tmp_path / "all.dcd")
    atoms = np.arange(3341, dtype=np.uint32)
    found = open_trajectory(tmp_path / "all.dcd").read(FrameSet.range(0, 1, 95), atoms)
    whole = open_trajectory(adk_dcd).read(FrameSet.range(3, 1, 95), atoms)
    np.testing.assert_array_equal(found.positions, whole.positions)
    np.testing.assert_allclose(found.times, whole.times, rtol=1e-6)


@settings(max_examples=30, deadline=None)
@given(n_frames=st.integers(1, 40), n_parts=st.integers(1, 40), start=st.none() | st.integers(0, 10))
def test_segments_are_balanced_to_within_one_frame(
    tmp_path_factory: pytest.TempPathFactory, n_frames: int, n_parts: int, start: int | None
) -> None:
    source = Source.memory(np.zeros((n_frames, 2, 3), np.float32), np.arange(n_frames, dtype=np.float64))
    output = tmp_path_factory.mktemp("parts") / "a.xtc"
    expected = list(range(n_frames))[start:]
    if n_parts > len(expected):
        with pytest.raises(FrameIndexError):
            split(source, output, n_parts=n_parts, start=start)
        return
    written = split(source, output, n_parts=n_parts, start=start)
    times = [times_of(path) for path in written.paths]
    assert [time for part in times for time in part] == expected
    assert {len(part) for part in times} <= {len(expected) // n_parts, -(-len(expected) // n_parts)}
    assert sorted(written.paths, key=str) == list(written.paths)


def test_segments_hold_the_atoms_asked_for(tmp_path: Path, adk_xtc: Path) -> None:
    written = split(adk_xtc, tmp_path / "part.xtc", n_parts=2, atoms=[3, 5, 3340])
    assert [open_trajectory(path).n_atoms for path in written.paths] == [3, 3]


def test_files_are_joined_without_what_overlaps_on_request(tmp_path: Path) -> None:
    paths = []
    for i, times in enumerate(([0.0, 1, 2, 3, 4], [3.0, 4, 5, 6], [6.0, 7])):
        source = Source.memory(np.full((len(times), 12, 3), i, np.float32), np.array(times))
        paths += split(source, tmp_path / f"{i}.xtc", n_parts=1).paths
    concat(paths, tmp_path / "keep.xtc")
    concat(paths, tmp_path / "drop.xtc", overlaps="drop")
    concat(paths, tmp_path / "drop.dcd", overlaps="drop")
    assert times_of(tmp_path / "keep.xtc") == [0, 1, 2, 3, 4, 3, 4, 5, 6, 6, 7]
    assert times_of(tmp_path / "drop.xtc") == [0, 1, 2, 3, 4, 5, 6, 7]
    np.testing.assert_allclose(times_of(tmp_path / "drop.dcd"), range(8), rtol=1e-6)
    frames = open_trajectory(tmp_path / "drop.xtc").read(FrameSet.range(0, 1, 8), np.zeros(1, np.uint32))
    assert frames.positions[:, 0, 0].tolist() == [0, 0, 0, 1, 1, 1, 2, 2]


def test_files_of_several_formats_are_joined(tmp_path: Path, adk_xtc: Path, adk_dcd: Path) -> None:
    with pytest.warns(UserWarning, match="every 1 ps"):
        concat([adk_xtc, adk_dcd], tmp_path / "all.dcd")
    concat([adk_xtc, adk_dcd], tmp_path / "all.xtc")
    assert open_trajectory(tmp_path / "all.dcd").n_frames == open_trajectory(tmp_path / "all.xtc").n_frames == 196


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (MismatchError, "either n_parts or frames_per_part", {}),
        (MismatchError, "either n_parts or frames_per_part", {"n_parts": 2, "frames_per_part": 2}),
        (MismatchError, "at least 1", {"n_parts": 0}),
        (MismatchError, "at least 1", {"frames_per_part": 0}),
        (FrameIndexError, "98 frames cannot be split into 99 parts", {"n_parts": 99}),
        (UnsupportedError, "ending", {"output": "a.pdb", "n_parts": 2}),
        (FileExistsError, r"a-2\.xtc", {"n_parts": 3}),
    ],
)
def test_wrong_arguments_are_refused(
    tmp_path: Path, adk_xtc: Path, error: type[Exception], message: str, arguments: dict
) -> None:
    (tmp_path / "a-2.xtc").write_text("old")
    with pytest.raises(error, match=message):
        split(adk_xtc, tmp_path / arguments.pop("output", "a.xtc"), **arguments)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a-2.xtc", "old")]


def test_files_of_other_atoms_are_not_joined(tmp_path: Path, adk_xtc: Path) -> None:
    few = split(adk_xtc, tmp_path / "few.xtc", n_parts=1, atoms=[1]).paths
    with pytest.raises(MismatchError, match="same atoms"):
        concat([adk_xtc, *few], tmp_path / "a.xtc")
