"""Tests that files with failed writes of unmodified programs are not published."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from full_disk import full_disk
from managed_programs import Programs, end_of
from mdreel._core import preload_library
from mdreel.live.managed.preload import managed_environment

SOURCE = Path(__file__).parent / "writing.c"
N_BYTES = 65536

# As the functions of the C library are called, or what a program does with several of them.
DESCRIPTORS = [
    *("write", "__write", "__close", "writev", "pwrite", "pwrite64", "__pwrite64"),
    *("pwritev", "pwritev64", "pwritev2", "pwritev64v2", "sendfile", "sendfile64", "copy_file_range", "splice"),
    *("dprintf", "__dprintf_chk", "vdprintf", "__vdprintf_chk"),
    *("aio_write", "aio_write64", "lio_listio", "lio_listio64"),
    *("syscall-write", "syscall-pwrite64", "syscall-sendfile"),
]
WHOLE = [
    *("fallocate", "fallocate64", "posix_fallocate", "posix_fallocate64"),
    *("short", "short-writev", "retried", "mmap", "fork", "backtrace_symbols_fd"),
]
STREAMS = [
    *("fwrite", "fprintf", "fputs", "putc", "clearerr", "clearerr_unlocked", "rewind", "freopen"),
    *("fdopen", "fdopen-clearerr", "fdopen-exit", "exit"),
]
WAYS = [*DESCRIPTORS, *WHOLE, *STREAMS]
# These fail where a disk breaks.
BREAKING = [
    *("fsync", "fdatasync", "syncfs", "sync_file_range", "ftruncate", "ftruncate64", "truncate", "truncate64"),
    *("msync", "ioctl", "close"),
]

# Functions of the C library that change a file, and are not stood in for, with the reason.
JUDGED = {
    # They write to other things than files.
    **dict.fromkeys(("send", "sendto", "sendmsg", "sendmmsg", "__send", "__sendmmsg"), "sockets"),
    **dict.fromkeys(
        ("res_send", "res_nsend", "__res_send", "__res_nsend", "__res_context_send", "svc_sendreply"), "network"
    ),
    **dict.fromkeys(("mq_send", "mq_timedsend", "pidfd_send_signal", "tcsendbreak", "tcflush"), "no files"),
    **dict.fromkeys(("tee", "vmsplice"), "pipes only"),
    **dict.fromkeys(("eventfd_write", "process_vm_writev"), "no files"),
    # Streams remember that they have failed; that is asked for when they are closed, or forget it.
    **dict.fromkeys(
        ("fwrite", "fwrite_unlocked", "_IO_fwrite", "_IO_do_write", "_IO_wdo_write", "_IO_file_write"), "streams"
    ),
    **dict.fromkeys(("_IO_file_sync", "_IO_wfile_sync", "_flushlbf", "_IO_flush_all_linebuffered"), "streams"),
    **dict.fromkeys(("fflush", "fflush_unlocked", "_IO_fflush", "_IO_flush_all", "rewinddir"), "streams"),
    "_IO_fdopen": "of programs for glibc 2.0, whose streams are others",
    # Nothing is known of them by a descriptor of a file that is being written.
    **dict.fromkeys(("sync", "bdflush"), "return nothing"),
    **dict.fromkeys(("__write_nocancel", "__libc_pwrite"), "the C library's own (GLIBC_PRIVATE)"),
    # They ask how writing went, or begin none.
    **dict.fromkeys(("aio_error", "aio_error64", "aio_suspend", "aio_suspend64", "aio_init"), "ask"),
    **dict.fromkeys(("aio_cancel", "aio_cancel64", "aio_read", "aio_read64"), "write nothing"),
    **dict.fromkeys(("aio_fsync", "aio_fsync64"), "what did not reach the disk is told by the close, too"),
    **dict.fromkeys(("fdopendir",), "a directory"),
}
NAMES = re.compile(
    r"^(_*p?write(v|64|v2|v64|v64v2)?|.*(write|send|splice|copy_file|fallocate|truncate|sync|dprintf|clearerr|rewind|fdopen|flush).*"
    r"|(aio|lio)_.*|tee|syscall|ioctl|backtrace_symbols_fd)$"
)


@pytest.fixture(scope="session")
def writing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a C program that writes in every way and ignores errors."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no compiler of C")
    program = tmp_path_factory.mktemp("writing") / "writing"
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-O1", "-o", str(program), str(SOURCE)], check=True)
    return program


@pytest.fixture
def small(programs: Programs, tmp_path: Path) -> Iterator[Programs]:
    """Create a managed directory on a disk with room for a quarter of the data."""
    with full_disk(tmp_path) as disk:
        frames = disk / "frames"
        frames.mkdir(mode=0o700, exist_ok=True)
        yield Programs(programs.opening, frames)


def source_beside(programs: Programs) -> Path:
    """Return a sparse file with the size of the data."""
    path = programs.frames.parent / "source"
    with path.open("wb") as file:
        file.truncate(N_BYTES)
    return path


@pytest.mark.parametrize("how", WAYS)
def test_file_is_not_published_when_the_disk_was_full_in_any_way_of_writing(
    small: Programs, writing: Path, how: str
) -> None:
    command = [writing, how, small.frames / "file", source_beside(small)]
    status, _, error = end_of(small.start(command, timeout=0.0))
    if status == 77:
        pytest.skip(f"{how}: this system does not have it between these files")
    assert small.names() == []
    if how == "mmap":
        assert status < 0  # killed, as there is no other way to tell it
        return
    assert status == 0
    assert "file: " in error
    assert error.count("it is not published") == 1
    assert small.hidden() == []


@pytest.mark.parametrize("how", WAYS)
def test_file_is_published_when_there_was_room_in_any_way_of_writing(
    programs: Programs, writing: Path, how: str
) -> None:
    command = [writing, how, programs.frames / "file", source_beside(programs)]
    status, _, error = end_of(programs.start(command, timeout=0.0))
    if status == 77:
        pytest.skip(f"{how}: this system does not have it between these files")
    assert (status, error) == (0, "")
    assert programs.names() == ["file"]
    assert abs((programs.frames / "file").stat().st_size - N_BYTES) <= (1 if how == "fork" else 0)


@pytest.mark.parametrize("how", BREAKING)
def test_file_is_not_published_when_the_disk_breaks(
    programs: Programs, writing: Path, tmp_path: Path, how: str
) -> None:
    library = compiled_library(tmp_path)
    environment = managed_environment(programs.frames, 0.0)
    environment["LD_PRELOAD"] += f":{library}"  # behind ours
    for breaks, expected in (("", ["file"]), (how, [])):
        command = [writing, how, programs.frames / "file", source_beside(programs)]
        done = subprocess.run(
            command, env={**environment, "BREAKS": breaks}, capture_output=True, text=True, check=False
        )
        assert programs.names() == expected, done.stderr
        assert ("it is not published" in done.stderr) == bool(breaks), done.stderr
        (programs.frames / "file").unlink(missing_ok=True)


def compiled_library(folder: Path) -> Path:
    """Compile a library that simulates a failing disk."""
    library = folder / "breaking.so"
    source = Path(__file__).parent / "breaking.c"
    command = ["cc", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return library


def test_formatted_text_is_written_as_it_is_without_mdreel(programs: Programs, writing: Path, tmp_path: Path) -> None:
    for how in ("dprintf", "__dprintf_chk", "vdprintf", "__vdprintf_chk"):
        here, there = tmp_path / how, programs.frames / how
        source = source_beside(programs)
        subprocess.run([writing, how, here, source], check=True)
        assert end_of(programs.start([writing, how, there, source], timeout=0.0)) == (0, "", "")
        assert there.read_bytes() == here.read_bytes()
        assert len(here.read_bytes()) == N_BYTES
        assert b"1.5" in here.read_bytes()


def test_file_is_not_published_when_the_outcome_of_a_write_was_never_asked_for(
    programs: Programs, writing: Path
) -> None:
    status, _, error = end_of(programs.start([writing, "unasked", programs.frames / "file", writing], timeout=0.0))
    assert status == 0
    assert "it is not published" in error
    assert (programs.names(), programs.hidden()) == ([], [])


@pytest.mark.parametrize(
    "script",
    [
        "{writing} stdout - {source} > {file}",
        "( {writing} stdout - {source}; true ) > {file}",
        "sh -c '{writing} stdout - {source}; true' > {file}",
        "cat {source} > {file}; true",
        "sh -c 'cat {source}; true' > {file}",
    ],
)
def test_standard_output_is_not_published_when_a_program_ignores_that_the_disk_is_full(
    small: Programs, writing: Path, script: str
) -> None:
    source, file = source_beside(small), small.frames / "file"
    line = script.format(writing=writing, source=source, file=file)
    _, _, error = end_of(small.start(["sh", "-c", line], timeout=0.0))
    assert "it is not published" in error
    assert (small.names(), small.hidden()) == ([], [])


@pytest.mark.parametrize(
    "command",
    [
        ["cp", "{source}", "{file}"],
        ["cp", "--reflink=never", "--sparse=never", "{source}", "{file}"],
        ["dd", "if={source}", "of={file}", "bs=4096"],
        [sys.executable, "-c", "import shutil\ntry: shutil.copyfile('{source}', '{file}')\nexcept OSError: pass"],
        [sys.executable, "-c", "import shutil\ntry: shutil.copy2('{source}', '{file}')\nexcept OSError: pass"],
        [sys.executable, "-c", "import numpy\ntry: numpy.ones(8192).tofile('{file}')\nexcept OSError: pass"],
    ],
    ids=["cp", "cp-plainly", "dd", "copyfile", "copy2", "numpy"],
)
def test_copies_of_programs_are_not_published_when_the_disk_is_full(
    small: Programs, command: list[str], tmp_path: Path
) -> None:
    source, file = Path("/dev/shm") / f"{tmp_path.name}-source", small.frames / "file"
    source.write_bytes(bytes(range(256)) * (N_BYTES // 256))
    try:
        words = [word.format(source=source, file=file) for word in command]
        _, _, error = end_of(small.start(words, timeout=0.0))
    finally:
        source.unlink()
    assert "it is not published" in error
    assert (small.names(), small.hidden()) == ([], [])


def exported(library: Path) -> set[str]:
    """Return the exported functions of a library."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("there is no nm, which lists the functions of a library")
    said = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    found = (line.split() for line in said.splitlines())
    return {words[-1].partition("@")[0] for words in found if words[-2] in "TWi"}


def c_library() -> Path:
    """Return the path of the C library of this process."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return next(Path(line.split()[-1]) for line in maps if re.search(r"/libc\.so\.6$|/libc-2\.\d+\.so$", line))


def test_every_way_of_writing_of_the_c_library_is_stood_in_for_or_judged(tmp_path: Path) -> None:
    contents = preload_library()
    assert contents is not None
    path = tmp_path / "libmdreel_preload.so"
    path.write_bytes(contents)
    ours, theirs = exported(path), exported(c_library())
    ways = {name for name in theirs if NAMES.match(name)}
    assert {"write", "copy_file_range", "dprintf", "aio_write", "syscall"} <= ways
    assert ways - ours - JUDGED.keys() == set(), "stand in for these (crates/mdreel-preload), or say why not"
    assert ours & JUDGED.keys() == set()
    # And each of those that is stood in for and writes is tried above.
    tried = {*WAYS, *BREAKING, "syscall", "aio_return", "aio_return64"}
    assert (ways & ours) - tried == set()
