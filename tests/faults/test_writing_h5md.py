"""H5MD that cannot be written, or not to its end: nothing under the final name, and the process lives on."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import h5py
import numpy as np
import pytest

from full_disk import full_disk
from mdreel._core import LentFile, Source
from mdreel.errors import FormatError, MismatchError, UnsupportedError
from mdreel.trajectory.convert import convert
from mdreel.trajectory.repack import repack
from privilege import without_privilege


def memory(n_frames: int = 40, n_atoms: int = 500) -> Source:
    positions = np.random.default_rng(1).uniform(0, 50, (n_frames, n_atoms, 3)).astype(np.float32)
    return Source.memory(positions, np.arange(n_frames, dtype=np.float64))


def run(program: str, *arguments: Path | str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=check)


@pytest.mark.parametrize("n_workers", [1, 3])
@pytest.mark.parametrize("storage", [{"access": "frames"}, {"chunk": (2, 5), "compression": "gzip"}])
def test_nothing_is_left_when_the_disk_is_full(tmp_path: Path, storage: dict, n_workers: int) -> None:
    path = tmp_path / "a.h5md"
    source = memory()
    with full_disk(tmp_path):
        with pytest.raises(OSError, match="h5md") as caught:
            repack(source, path, n_workers=n_workers, **storage)
        assert caught.value.errno in (errno.ENOSPC, errno.EFBIG)
        assert caught.value.filename == str(path)
        assert list(tmp_path.iterdir()) == []


def test_disk_that_is_full_at_any_byte_is_told_of_and_survived(tmp_path: Path) -> None:
    """Files of all sizes around that of the disk: some fail in a chunk, some in what HDF5 writes when it closes."""
    program = """
        import sys
        from pathlib import Path
        import numpy as np
        from mdreel._core import Source
        from mdreel.trajectory.repack import repack
        path, n_failed = Path(sys.argv[1]), 0
        for n_frames in range(1, 80):
            source = Source.memory(np.ones((n_frames, 30, 3), np.float32), np.arange(float(n_frames)))
            try:
                repack(source, path, chunk=(1, 15))
            except OSError as error:
                assert error.filename == str(path), error
                n_failed += 1
            else:
                path.unlink()
            assert not list(path.parent.iterdir())
        print(n_failed)
    """
    with full_disk(tmp_path, kib=48):
        done = run(program, tmp_path / "a.h5md", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert 5 < int(done.stdout) < 79


def test_interrupt_at_any_moment_leaves_nothing_and_lets_the_process_end(tmp_path: Path, adk_dcd: Path) -> None:
    program = """
        import signal, sys
        from pathlib import Path
        from mdreel.trajectory.open import open as open_trajectory
        from mdreel.trajectory.repack import repack
        import h5py  # a module whose import is interrupted stays broken
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        source, path, n_interrupted = open_trajectory(sys.argv[1]), Path(sys.argv[2]), 0
        for i in range(60):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0005 * (i + 1))
                repack(source, path, chunk=(1, 50), n_workers=1 + i % 3)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                n_interrupted += 1
            path.unlink(missing_ok=True)
            assert not list(path.parent.iterdir()), i
        print(n_interrupted)
    """
    done = run(program, adk_dcd, tmp_path / "a.h5md", check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10
    # Python prints an interrupt that it cannot raise, in a callback of the garbage collector. HDF5 has nothing to say.
    assert done.stderr.count("Traceback") == done.stderr.count("Exception ignored in: <function WeakValueDictionary")
    assert "HDF5" not in done.stderr


def test_killed_process_leaves_the_existing_file(tmp_path: Path, adk_dcd: Path) -> None:
    path = tmp_path / "a.h5md"
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


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of a process is asked of Linux")
def test_memory_does_not_grow_with_the_trajectory(tmp_path: Path, adk_dcd: Path) -> None:
    program = """
        import sys
        from pathlib import Path
        import numpy as np
        from mdreel.trajectory.repack import repack
        storage = {"access": "frames", "force": True, "n_workers": 4}
        repack(sys.argv[1], sys.argv[2], **storage)
        # The largest size that getrusage reports is that of the process that started this one, if that is larger.
        def most_resident():
            return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
        before = most_resident()
        repack(sys.argv[1], sys.argv[2], frames=np.tile(np.arange(98), 60), **storage)
        print(most_resident() - before)
    """
    path = tmp_path / "a.h5md"
    done = run(program, adk_dcd, path)
    assert path.stat().st_size > 200e6
    # Four blocks of 1 MiB for each worker may wait, besides those in work.
    assert int(done.stdout) * 1024 < 60e6


def test_existing_file_stays_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.h5md"
    path.write_text("old")
    with pytest.raises(FileExistsError, match=path.name):
        repack(memory(), path)
    assert path.read_text() == "old"
    repack(memory(), path, force=True)
    with h5py.File(path) as file:
        assert file["particles/trajectory/position/value"].shape == (40, 500, 3)


def test_directory_without_permission_is_named() -> None:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o555)
        source = memory()
        with without_privilege(), pytest.raises(PermissionError) as caught:
            repack(source, Path(directory, "a.h5md"))
        assert caught.value.filename == directory


def test_without_h5py_the_error_names_what_to_install(tmp_path: Path, adk_dcd: Path) -> None:
    program = """
        import sys
        sys.modules["h5py"] = None
        from mdreel.errors import UnsupportedError
        from mdreel.trajectory import convert, repack, split
        for write in (convert, repack, lambda *paths: split(*paths, n_parts=2)):
            try:
                write(sys.argv[1], sys.argv[2])
            except UnsupportedError as error:
                print(error)
    """
    done = run(program, adk_dcd, tmp_path / "a.h5md")
    said = f"{tmp_path}/a.h5md will be an HDF5 file, which needs h5py: pip install 'mdreel[hdf5]'"
    assert done.stdout.splitlines() == [said] * 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("n_workers", [1, 3])
def test_source_that_is_corrupt_leaves_nothing(tmp_path: Path, n_workers: int) -> None:
    """The frame of the source is named, and its file, not the one that is written."""
    corrupt = tmp_path / "corrupt.h5md"
    repack(memory(), corrupt, chunk=(4, 500), compression="gzip")
    with h5py.File(corrupt) as file:
        chunk = file["particles/trajectory/position/value"].id.get_chunk_info(7)
    damaged = bytearray(corrupt.read_bytes())
    damaged[chunk.byte_offset + 20] ^= 0xFF
    corrupt.write_bytes(damaged)
    with pytest.raises(FormatError, match=r"corrupt\.h5md, frame 28, byte "):
        convert(corrupt, tmp_path / "a.h5md", n_workers=n_workers)
    assert [entry.name for entry in tmp_path.iterdir()] == ["corrupt.h5md"]


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (UnsupportedError, r"a\.xtc: repack writes H5MD", {"output": "a.xtc"}),
        (UnsupportedError, r"one of \.xtc, \.dcd, \.trr, \.nc, \.h5md, \.h5$", {"output": "a.pdb"}),
        (MismatchError, "not both", {"access": "frames", "chunk": (1, 1)}),
        (MismatchError, "one of frames, atoms, both", {"access": "time"}),
        (MismatchError, "at least 1 frame", {"chunk": (0, 1)}),
        (MismatchError, "one of none, gzip", {"compression": "lzf"}),
        (MismatchError, "level of compression must be from 0 to 9, not 10", {"compression": "gzip", "level": 10}),
        (MismatchError, "no compression: choose gzip", {"level": 3}),
        (MismatchError, "a name without /", {"group": "a/b"}),
        (MismatchError, "a name without /", {"group": ""}),
        (FileNotFoundError, "missing", {"output": "missing/a.h5md"}),
    ],
)
def test_wrong_arguments_are_refused_before_the_trajectory_is_opened(
    tmp_path: Path, error: type[Exception], message: str, arguments: dict
) -> None:
    output = tmp_path / arguments.pop("output", "a.h5md")
    with pytest.raises(error, match=message):
        repack(tmp_path / "no.xtc", output, **arguments)
    assert list(tmp_path.iterdir()) == []


def test_lent_file_is_a_file_to_h5py_and_gone_unless_finished(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    for is_finished in (False, True):
        lent = LentFile(path)
        with h5py.File(lent, "w") as file:
            file["numbers"] = np.arange(10_000)
            file.flush()
            np.testing.assert_array_equal(file["numbers"][5000:5002], [5000, 5001])
        assert not path.exists()
        if is_finished:
            lent.finish()
        lent.discard()
        assert [entry.name for entry in tmp_path.iterdir()] == (["a.h5"] if is_finished else [])
    with h5py.File(path) as file:
        assert len(file["numbers"]) == 10_000
    with pytest.raises(MismatchError, match="finished already"):
        lent.finish()
    with pytest.raises(ValueError, match="before the first"):
        lent.seek(-1)
