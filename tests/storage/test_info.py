"""What is found out about a trajectory: its times, and where it lies."""

import os
import struct
import subprocess
from itertools import pairwise
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdreel.storage import info
from mdreel.storage.place import Stripes, file_system, stripes, stripes_of_layout
from mdreel.storage.times import intervals


def write_xtc(path: Path, times: list[float]) -> None:
    universe = MDAnalysis.Universe.empty(3, trajectory=True)
    with MDAnalysis.Writer(str(path), 3) as writer:
        for time in times:
            universe.trajectory.ts.time = time
            writer.write(universe.atoms)


def test_info_names_frames_after_gaps_and_those_whose_time_is_repeated_or_goes_back(tmp_path: Path) -> None:
    write_xtc(tmp_path / "part-1.xtc", [0, 1, 2, 2, 3, 7])
    write_xtc(tmp_path / "part-2.xtc", [5, 6, 7, 8])
    facts = info([tmp_path / "part-1.xtc", tmp_path / "part-2.xtc"])
    assert (facts["gaps"], facts["repeated_times"], facts["backward_times"]) == ([5], [3], [6])
    assert (facts["shortest_interval_ps"], facts["usual_interval_ps"], facts["longest_interval_ps"]) == (-2, 1, 4)


def test_info_finds_nothing_irregular_in_times_rounded_to_single_precision(tmp_path: Path) -> None:
    write_xtc(tmp_path / "far.xtc", [1e6 + 0.2 * i for i in range(50)])
    facts = info(tmp_path / "far.xtc")
    assert facts["shortest_interval_ps"] < facts["longest_interval_ps"]
    assert (facts["gaps"], facts["repeated_times"], facts["backward_times"]) == ([], [], [])


@given(
    st.lists(st.sampled_from([-5.0, 0.0, 1.0, 1.2, 2.0, 7.0]), min_size=0, max_size=30),
    st.integers(min_value=0, max_value=3),
)
def test_intervals_are_told_apart_by_their_length(steps: list[float], start: int) -> None:
    times = np.cumsum([float(start), *steps])
    found = intervals(times)
    numbers = range(1, len(times))
    assert found.backward.tolist() == [i for i in numbers if times[i] < times[i - 1]]
    assert found.repeated.tolist() == [i for i in numbers if times[i] == times[i - 1]]
    forward = [b - a for a, b in pairwise(times) if b > a]
    assert found.usual == (np.median(forward) if forward else None)
    assert found.gaps.tolist() == [i for i in numbers if forward and times[i] - times[i - 1] > 1.5 * np.median(forward)]


def test_file_system_is_the_one_that_the_system_names(tmp_path: Path) -> None:
    done = subprocess.run(["stat", "-f", "-c", "%T", tmp_path], capture_output=True, text=True, check=True)
    named = done.stdout.strip()
    found = file_system(tmp_path)
    assert found is not None
    # coreutils has one name for what the kernel calls ext2, ext3 and ext4, and others of its own.
    assert found == {"overlayfs": "overlay"}.get(named, named) or (named == "ext2/ext3" and found.startswith("ext"))
    assert file_system(Path("/proc/self/mountinfo")) == "proc"
    assert file_system(tmp_path / "gone") is None


def plain(magic: int, count: int, size: int) -> bytes:
    """A layout as in lustre_user.h: number, pattern, object, bytes and number of stripes, first target, targets."""
    return struct.pack("<II16sIHH", magic, 1, b"object", size, count, 0) + b"\0" * 24 * count


def test_stripes_are_read_from_the_layout_of_a_file() -> None:
    assert stripes_of_layout(plain(0x0BD10BD0, 4, 1 << 20)) == (Stripes(4, 1 << 20),)
    assert stripes_of_layout(plain(0x0BD30BD0, 16, 4 << 20)) == (Stripes(16, 4 << 20),)
    assert stripes_of_layout(plain(0x0BD40BD0, 16, 4 << 20)) == ()


def test_stripes_of_a_file_of_several_layouts_are_those_in_use() -> None:
    parts = [(1, 1 << 20, 0x10), (8, 4 << 20, 0x10), (64, 4 << 20, 0)]
    layouts = [plain(0x0BD10BD0, count, size) for count, size, _ in parts]
    at = 32 + 48 * len(parts)
    head = struct.pack("<IIIHHH6s8s", 0x0BD60BD0, 0, 1, 0, len(parts), 0, b"", b"")
    table = b""
    for number, ((_, _, flags), layout) in enumerate(zip(parts, layouts, strict=True)):
        table += struct.pack("<IIQQIIIQI", number, flags, 0, 1 << 30, at, len(layout), 0, 0, 0)
        at += len(layout)
    whole = head + table + b"".join(layouts)
    assert stripes_of_layout(whole) == (Stripes(1, 1 << 20), Stripes(8, 4 << 20))
    for n in range(len(head + table)):
        assert stripes_of_layout(whole[:n]) == ()


@pytest.mark.skipif(not hasattr(os, "getxattr"), reason="the system has no extended attributes")
def test_stripes_are_none_where_there_is_no_lustre(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    assert stripes(tmp_path / "file") == ()
