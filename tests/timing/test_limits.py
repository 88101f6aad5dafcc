"""Limits and the page cache: what is said of memory and storage is what the system does."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdreel.timing.limits import MIB, Limits, measure_limits, memory_bandwidth
from mdreel.timing.page_cache import PIECE_BYTES, cached_share, drop, pieces_of
from privilege import without_privilege

N_BYTES = 8 * MIB


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that is on the disk, and not in memory."""
    path = tmp_path / "file"
    path.write_bytes(os.urandom(N_BYTES))
    with path.open("rb") as opened:
        os.fsync(opened.fileno())
        if not drop(opened.fileno(), pieces_of(N_BYTES, N_BYTES)):
            pytest.skip("the system keeps files of this folder in memory")
    return path


def test_share_in_memory_is_what_was_read(file: Path) -> None:
    assert cached_share(file) == pytest.approx(0, abs=0.01)
    with file.open("rb", buffering=0) as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_RANDOM)  # nothing is read ahead
        assert len(opened.read(N_BYTES // 2)) == N_BYTES // 2
    assert cached_share(file) == pytest.approx(0.5, abs=0.05)
    file.read_bytes()
    assert cached_share(file) == 1


def test_to_ask_what_is_in_memory_changes_nothing(file: Path) -> None:
    for _ in range(3):
        assert cached_share(file) == pytest.approx(0, abs=0.01)


def test_share_is_unknown_where_there_is_nothing_to_ask(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    for name in ("empty", "pipe", "gone", "."):
        assert cached_share(tmp_path / name) is None


def test_share_of_the_file_of_somebody_else_is_unknown() -> None:
    """Linux says of it that all is in memory."""
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are closed to others
        Path(folder).chmod(0o755)
        path = Path(folder, "theirs")
        path.write_bytes(b"x" * 5000)
        assert cached_share(path) == 1
        path.chmod(0o444)
        with without_privilege():
            if path.stat().st_uid == os.geteuid():
                pytest.skip("only root can have a file that is not its own")
            assert cached_share(path) is None


def test_share_of_a_large_file_is_that_of_pieces_of_it(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(5 << 30)  # a hole: nothing is on the disk, and nothing in memory
    assert cached_share(path) == 0


@given(st.integers(0, 1 << 40), st.integers(1, 64))
def test_pieces_cover_a_file_or_lie_evenly_over_it(n_bytes: int, n_most: int) -> None:
    most = n_most * PIECE_BYTES
    if n_bytes <= most:
        pieces = pieces_of(n_bytes, most)
        assert sum(size for _, size in pieces) == n_bytes
    else:
        pieces = pieces_of(n_bytes, most)
        assert [size for _, size in pieces] == [PIECE_BYTES] * n_most
        assert pieces[0][0] == 0
        assert n_most == 1 or pieces[-1][0] == (n_bytes // PIECE_BYTES - 1) * PIECE_BYTES
    ends = [start + size for start, size in pieces]
    assert all(start % PIECE_BYTES == 0 for start, _ in pieces)
    assert all(end <= start for end, (start, _) in zip(ends, pieces[1:], strict=False))
    assert all(end <= n_bytes for end in ends)


def test_limits_are_measured_and_leave_the_file_in_memory(file: Path) -> None:
    found = measure_limits(file, seconds=2.0)  # enough to read all of it
    assert found.memory_bytes_per_s > 1e8
    assert found.page_cache_bytes_per_s is not None
    assert found.page_cache_bytes_per_s > 1e8
    assert found.storage_bytes_per_s is not None
    assert found.storage_bytes_per_s > 1e5
    assert found.not_measured == ""
    assert cached_share(file) == 1


def test_limits_take_the_time_that_they_are_given(file: Path) -> None:
    """Also where nothing can be done in it."""
    found = measure_limits(file, seconds=0.0)
    assert found.memory_bytes_per_s > 0
    assert found.page_cache_bytes_per_s is not None
    assert memory_bandwidth(0.0) > 0


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no file system in memory")
def test_storage_is_not_measured_where_files_stay_in_memory() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder, "file")
        path.write_bytes(b"x" * 2 * MIB)
        found = measure_limits(path, seconds=0.05)
    assert found.storage_bytes_per_s is None
    assert found.page_cache_bytes_per_s is not None
    assert found.not_measured == "the system keeps the file in memory, or does not report whether it does"


def test_what_is_not_measured_is_said(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"x" * 1000)
    expected = {
        "small": "the file is too small: 1,000 bytes",
        "gone": "no such file on this machine",
        ".": "no such file on this machine",
    }
    for name, why in expected.items():
        found = measure_limits(tmp_path / name, seconds=0.01)
        assert found == Limits(found.memory_bytes_per_s, None, None, why)


def test_limits_of_a_file_that_may_not_be_read_say_so() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "secret")
        path.write_bytes(b"x" * 2 * MIB)
        path.chmod(0)
        Path(folder).chmod(0o755)
        with without_privilege():
            assert measure_limits(path, seconds=0.01).not_measured == "Permission denied"


def test_pages_that_others_have_mapped_are_not_dropped(file: Path) -> None:
    program = "import mmap, sys; file = open(sys.argv[1], 'rb')\nm = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n"
    program += "sum(m[::4096]); print('mapped', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "mapped\n"
        with file.open("rb") as opened:
            assert not drop(opened.fileno(), pieces_of(N_BYTES, N_BYTES))
        other.communicate()
