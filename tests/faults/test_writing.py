"""Writing that fails, is stopped or killed: nothing under the final name, and what was there before stays."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from full_disk import full_disk
from mdreel._core import FrameSet, Source
from mdreel._core import convert as convert_core
from mdreel.errors import MismatchError
from mdreel.trajectory.convert import convert
from mdreel.trajectory.split import split
from privilege import without_privilege

EXTENSIONS = ("xtc", "dcd")


def memory(n_frames: int = 40, n_atoms: int = 500) -> Source:
    positions = np.random.default_rng(1).uniform(0, 50, (n_frames, n_atoms, 3)).astype(np.float32)
    return Source.memory(positions, np.arange(n_frames, dtype=np.float64))


@pytest.mark.parametrize("n_workers", [1, 3])
@pytest.mark.parametrize("ending", EXTENSIONS)
def test_convert_leaves_nothing_when_the_disk_is_full(tmp_path: Path, ending: str, n_workers: int) -> None:
    path = tmp_path / f"a.{ending}"
    source = memory()
    with full_disk(tmp_path):
        with pytest.raises(OSError, match=ending) as caught:
            convert(source, path, n_workers=n_workers)
        assert caught.value.errno in (errno.ENOSPC, errno.EFBIG)
        assert caught.value.filename == str(path)
        assert list(tmp_path.iterdir()) == []


def test_copy_leaves_nothing_when_the_disk_is_full(tmp_path: Path, adk_xtc: Path) -> None:
    with full_disk(tmp_path):
        with pytest.raises(OSError, match="xtc") as caught:
            convert(adk_xtc, tmp_path / "a.xtc")
        assert caught.value.errno in (errno.ENOSPC, errno.EFBIG)
        assert list(tmp_path.iterdir()) == []


def test_split_leaves_whole_segments_only_when_the_disk_is_full(tmp_path: Path) -> None:
    source = memory(n_frames=10, n_atoms=300)
    with full_disk(tmp_path):
        with pytest.raises(OSError, match="dcd"):
            split(source, tmp_path / "a.dcd", frames_per_part=2, n_workers=1)
        left = {path.name for path in tmp_path.iterdir()}
        assert left < {f"a-{i}.dcd" for i in range(1, 6)}


@pytest.mark.parametrize("ending", EXTENSIONS)
def test_convert_keeps_the_existing_file_when_it_fails(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_text("old")
    with pytest.raises(FileExistsError, match=path.name):
        convert(memory(), path)

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    many = FrameSet.list(np.zeros(200_000, np.uint64))
    with pytest.raises(KeyboardInterrupt):
        convert_core(memory(), np.arange(500, dtype=np.uint32), many, path, None, 2, stop)
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [(path.name, "old")]
    convert(memory(), path, force=True)
    assert path.stat().st_size > 1000


@pytest.mark.parametrize("n_atoms", [5, 50])
def test_convert_names_frame_and_atom_of_a_coordinate_that_is_no_number(tmp_path: Path, n_atoms: int) -> None:
    positions = np.ones((300, n_atoms, 3), np.float32)
    positions[211, 3, 1] = np.nan
    source = Source.memory(positions, np.arange(300.0))
    for n_workers in (1, 3):
        with pytest.raises(MismatchError, match="frame 211: atom 3: y is NaN"):
            convert(source, tmp_path / "a.xtc", n_workers=n_workers)
    assert list(tmp_path.iterdir()) == []
    convert(source, tmp_path / "a.dcd")  # which holds floats, whatever they are


def test_convert_refuses_a_directory_without_permission() -> None:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o555)
        source = memory()
        with without_privilege(), pytest.raises(PermissionError) as caught:
            convert(source, Path(directory, "a.xtc"))
        assert caught.value.filename == directory


@pytest.mark.parametrize("ending", EXTENSIONS)
def test_killed_process_leaves_the_existing_file(tmp_path: Path, ending: str, adk_dcd: Path) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_text("old")
    program = """
        import sys
        import numpy as np
        from mdreel.trajectory.convert import convert
        convert(sys.argv[1], sys.argv[2], frames=np.zeros(1_000_000, np.int64), force=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(adk_dcd), str(path)]
    with subprocess.Popen(command) as process:
        while not any(entry.stat().st_size > 100_000 for entry in tmp_path.glob(".*.part")):
            assert process.poll() is None, "the process ended before it wrote"
            os.sched_yield()
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir() if entry.suffix != ".part"] == [path.name]
    convert(adk_dcd, path, force=True, stop=3)
    assert path.stat().st_size > 1000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of a process is asked of Linux")
def test_memory_does_not_grow_with_the_trajectory(tmp_path: Path, adk_dcd: Path) -> None:
    program = """
        import sys
        from pathlib import Path
        import numpy as np
        from mdreel.trajectory.convert import convert
        convert(sys.argv[1], sys.argv[2], stop=5)
        # The largest size that getrusage reports is that of the process that started this one, if that is larger.
        def most_resident():
            return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
        before = most_resident()
        convert(sys.argv[1], sys.argv[2], frames=np.tile(np.arange(98), 60), force=True, n_workers=4)
        print(most_resident() - before)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(adk_dcd), str(tmp_path / "a.dcd")]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    written = (tmp_path / "a.dcd").stat().st_size
    assert written > 200e6
    # 16 blocks of 1 MiB for each worker may wait, besides those in work.
    assert int(done.stdout) * 1024 < 140e6
    print(f"{time.monotonic() - began:.1f} s, {int(done.stdout) / 1024:.0f} MiB for {written / 1e6:.0f} MB")
