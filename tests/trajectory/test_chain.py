"""Many files as one trajectory."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mdreel._core import FrameSet
from mdreel.errors import FormatError, MismatchError, UnsupportedError
from mdreel.trajectory.open import open as open_trajectory

N_SEGMENTS = 5_000

# In a process of its own: the limit stays with it. Every frame of the chain has the number of its segment as x.
READ_MANY = """
import os, resource, sys
import numpy as np
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from mdreel._core import FrameSet
from mdreel.trajectory.open import open as open_trajectory
folder, access = sys.argv[1:]
paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
source = open_trajectory(paths, access=access, index="none")
n_open = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
assert n_open < 100, n_open
every = source.read(FrameSet.range(0, 1, source.n_frames), np.array([0], np.uint32)).positions[:, 0, 0]
np.testing.assert_allclose(every, np.repeat(np.arange(len(every) // 2) % 700, 2), atol=0.01)
some = np.random.default_rng(1).permutation(len(every))[:500].astype(np.uint64)
chosen = source.read(FrameSet.list(some), np.array([0], np.uint32))
np.testing.assert_array_equal(chosen.positions[:, 0, 0], every[some])
print(source.n_frames)
"""


def write_segments(folder: Path, kind: str, n_segments: int) -> None:
    from MDAnalysis.lib.formats.libdcd import DCDFile
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    for i in range(n_segments):
        positions = np.full((3, 3), i % 700, np.float32)
        path = str(folder / f"{i:05d}.{kind}")
        if kind == "xtc":
            with XTCFile(path, "w") as file:
                for frame in (0, 1):
                    file.write(positions / 10, np.eye(3, dtype=np.float32), frame, float(frame), 1000)
        else:
            with DCDFile(path, "w") as file:
                file.write_header("", 3, 0, 1, 1.0, 0)
                for _ in (0, 1):
                    file.write(positions, [0] * 6)


@pytest.mark.parametrize(("kind", "access"), [("xtc", "auto"), ("xtc", "read"), ("dcd", "auto")])
def test_chain_of_thousands_of_files_needs_few_open_ones(tmp_path: Path, kind: str, access: str) -> None:
    write_segments(tmp_path, kind, N_SEGMENTS)
    done = subprocess.run(
        [sys.executable, "-c", READ_MANY, str(tmp_path), access], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(2 * N_SEGMENTS)]


def write_times(path: Path, times: list[float]) -> Path:
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    with XTCFile(str(path), "w") as file:
        for time in times:
            positions = np.full((3, 3), time, np.float32)
            file.write(positions / 10, np.eye(3, dtype=np.float32), int(time), time, 1000)
    return path


def test_chain_drops_what_was_written_after_the_checkpoint(tmp_path: Path) -> None:
    parts = [
        write_times(tmp_path / "1.xtc", [0.0, 2.0, 4.0, 6.0]),
        write_times(tmp_path / "2.xtc", [4.0, 6.0, 8.0]),
    ]
    assert open_trajectory(parts).times().tolist() == [0, 2, 4, 6, 4, 6, 8]
    source = open_trajectory(parts, overlaps="drop")
    assert source.times().tolist() == [0, 2, 4, 6, 8]
    frames = source.read(FrameSet.range(0, 1, 5), np.array([1], np.uint32))
    np.testing.assert_allclose(frames.positions[:, 0, 2], [0, 2, 4, 6, 8], atol=0.01)
    with pytest.raises(UnsupportedError, match="known: keep, drop"):
        open_trajectory(parts, overlaps="mix")


def test_chain_names_the_file_in_which_time_goes_back(tmp_path: Path) -> None:
    parts = [write_times(tmp_path / "1.xtc", [0.0, 2.0, 1.0]), write_times(tmp_path / "2.xtc", [3.0])]
    with pytest.raises(MismatchError, match=r"1\.xtc: time goes back from 2 ps in frame 1 to 1 ps"):
        open_trajectory(parts, overlaps="drop").times()


def test_chain_says_which_file_was_replaced_while_it_was_closed(tmp_path: Path) -> None:
    paths = [write_times(tmp_path / f"{i:03d}.xtc", [0.0, 2.0]) for i in range(100)]
    source = open_trajectory(paths, index="none")
    write_times(tmp_path / "other.xtc", [0.0, 2.0]).rename(paths[3])
    with pytest.raises(FormatError, match=r"003\.xtc: another file has this name"):
        source.times()
