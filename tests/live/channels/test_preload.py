"""Tests of managed directories with unmodified programs."""

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from full_disk import full_disk
from managed_programs import LONG, Programs, await_half, await_waiting, end_of
from mdreel.errors import MismatchError, StreamError, UnsupportedError
from mdreel.live.managed.preload import managed_environment, run_managed
from mdreel.live.managed.reader import ManagedDirectory
from mdreel.live.managed.writer import ManagedProducer

READING = [
    *(f"{name}-r" for name in ("open", "open64", "openat", "openat64", "__open_2", "__open64_2")),
    *(f"{name}-r" for name in ("__openat_2", "__openat64_2", "fopen", "fopen64", "freopen")),
    *("fopen-rb", "fopen64-re", "fopen-rm"),
]
CHANGING = ["open-r+", "open64-r+", "openat-r+", "__open_2-r+", "fopen-r+", "fopen64-rb+", "freopen-r+"]
REPLACING = [
    *("open-w", "open64-w", "openat-w", "openat64-w", "open-w+", "creat-w", "creat64-w"),
    *("fopen-w", "fopen-wb", "fopen-w+", "fopen64-wb+", "freopen-w"),
]
APPENDING = ["open-a", "open64-a", "openat-a", "openat64-a", "fopen-a", "fopen-a+", "fopen64-ab", "freopen-a"]
EXCLUSIVE = ["open-x", "open64-x", "openat-x", "openat64-x", "fopen-wx", "fopen64-w+x", "fopen-ax"]


def publish(programs: Programs, text: str, name: str = "file") -> None:
    with ManagedProducer(programs.frames, shared=True) as producing, producing.open(name) as file:
        file.write(text)


@pytest.mark.parametrize("how", [*REPLACING, *APPENDING, *EXCLUSIVE])
def test_new_file_is_seen_when_it_is_closed(programs: Programs, how: str) -> None:
    with programs.open(how) as process:
        await_half(process)
        assert programs.names() == []
        status, _, error = end_of(process)
        assert (status, error) == (0, "")
    assert (programs.frames / "file").read_text() == "one two"
    assert programs.hidden() == []


@pytest.mark.parametrize("how", [*REPLACING, "open-t", "fopen64-w"])
def test_file_is_replaced_as_a_whole(programs: Programs, how: str) -> None:
    path = programs.frames / "file"
    path.write_text("before")
    path.chmod(0o604)
    with programs.open(how) as process:
        await_half(process)
        assert path.read_text() == "before"
        assert end_of(process)[0] == 0
    assert path.read_text() == "one two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@pytest.mark.parametrize("how", [*CHANGING, *APPENDING])
def test_file_that_is_changed_is_seen_as_it_was_until_it_is_closed(programs: Programs, how: str) -> None:
    path = programs.frames / "file"
    path.write_text("before ")
    with programs.open(how) as process:
        await_half(process)
        assert path.read_text() == "before "
        assert end_of(process)[0] == 0
    assert path.read_text() == "before one two"


@pytest.mark.parametrize("how", EXCLUSIVE)
def test_file_that_must_be_new_takes_nobodys_place(programs: Programs, how: str) -> None:
    with programs.open(how) as one, programs.open(how) as other:
        await_half(one)
        await_half(other)
        assert end_of(one)[0] == 0
        status, _, error = end_of(other)
        assert status == errno.EEXIST
        assert "file: it could not be renamed to its final name: it is not published" in error
    assert end_of(programs.open(how))[0] == errno.EEXIST
    assert programs.hidden() == []


@pytest.mark.parametrize("how", READING)
def test_opening_to_read_waits_for_the_file(programs: Programs, how: str) -> None:
    with programs.open(how) as process:
        await_waiting(process)
        publish(programs, "whole")
        status, found, error = end_of(process)
        assert (status, found, error) == (0, "whole", "")


@pytest.mark.parametrize("how", [*CHANGING, "open-t"])
def test_opening_to_change_waits_for_the_file(programs: Programs, how: str) -> None:
    with programs.open(how) as process:
        await_waiting(process)
        publish(programs, "whole ")
        await_half(process)
        assert end_of(process)[0] == 0
    assert (programs.frames / "file").read_text() == ("" if how == "open-t" else "whole ") + "one two"


@pytest.mark.parametrize("how", ["open-r", "fopen-r", "open-r+", "fopen-r+", "freopen-r"])
def test_waiting_ends_with_the_time_the_end_and_the_death_of_the_producer(programs: Programs, how: str) -> None:
    def outcome(process: "subprocess.Popen[str]") -> tuple[int, str]:
        status, _, error = end_of(process)
        return status, error.splitlines()[0].removeprefix(f"mdreel: {programs.frames / 'file'}: ") if error else ""

    unborn = "it did not come in time, and no producer has come"
    assert outcome(programs.open(how, timeout=0.01)) == (errno.ETIMEDOUT, unborn)
    # Who does not wait is told what any program is told.
    assert outcome(programs.open(how, timeout=0)) == (errno.ENOENT, os.strerror(errno.ENOENT))
    with ManagedProducer(programs.frames) as producing:
        lives = "it did not come in time, and the producer lives"
        assert outcome(programs.open(how, timeout=0.01)) == (errno.ETIMEDOUT, lives)
        waiting = programs.open(how)
        await_waiting(waiting)
        producing.end()
        assert outcome(waiting) == (errno.ENOENT, "it was not published, and its producer is finished")
    with pytest.raises(ArithmeticError), ManagedProducer(programs.frames):
        waiting = programs.open(how)
        await_waiting(waiting)
        raise ArithmeticError
    assert outcome(waiting) == (errno.ECANCELED, "it was not published, and its producer was stopped or has failed")
    code = (
        "import sys; from mdreel.live.managed.writer import ManagedProducer; p = ManagedProducer(sys.argv[1]).create()"
    )
    command = [sys.executable, "-c", f"{code}; print('there', flush=True); sys.stdin.read()", str(programs.frames)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as producer:
        assert producer.stdout is not None
        assert producer.stdout.readline() == "there\n"
        waiting = programs.open(how)
        await_waiting(waiting)
        producer.kill()
        assert outcome(waiting) == (errno.EOWNERDEAD, "the producer was lost: it has died without an end record")


@pytest.mark.parametrize("length", [0, 8, 16, 17, None])
def test_state_that_is_not_whole_is_no_end(programs: Programs, length: int | None) -> None:
    with pytest.raises(ArithmeticError), ManagedProducer(programs.frames):
        raise ArithmeticError
    state = programs.frames / ".mdreel-state"
    # Cut, or with nothing but zeros, as a power failure leaves files that were not synced.
    state.write_bytes(bytes(30) if length is None else state.read_bytes()[:length])
    status, _, error = end_of(programs.open("open-r"))
    assert (status, "lost" in error) == (errno.EOWNERDEAD, True)


@pytest.mark.parametrize("how", ["open-w", "fopen-w", "fopen-a", "open-r+"])
def test_program_that_is_killed_publishes_nothing(programs: Programs, how: str) -> None:
    publish(programs, "before")
    with programs.open(how) as process:
        await_half(process)
        process.send_signal(signal.SIGKILL)
        process.wait(LONG)
    assert (programs.frames / "file").read_text() == "before"
    assert len(programs.hidden()) == 1
    ManagedProducer(programs.frames).create()
    assert programs.hidden() == []


def test_program_that_ends_well_has_closed_and_one_that_does_not_has_not(programs: Programs) -> None:
    for how in ("open-w", "fopen-w"):
        with programs.open(how, how) as process:
            await_half(process)
            assert end_of(process, None)[0] == 0
        assert (programs.frames / how).read_text() == "one "
    for how in ("status", "abort"):
        assert end_of(programs.open(how, how))[0] in {3, -signal.SIGABRT}
    assert programs.names() == ["fopen-w", "open-w"]


def test_copies_of_descriptors_and_children_are_waited_for(programs: Programs) -> None:
    with programs.open("dup") as process:
        await_half(process)
        assert programs.names() == []
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        await_half(process)
        assert (programs.frames / "file").read_text() == "one two"
        end_of(process)
    with programs.open("fork", "forked") as process:
        await_half(process)
        assert programs.names() == ["file"]
        assert end_of(process)[0] == 0
    assert (programs.frames / "forked").read_text() == "one two"
    with programs.open("orphan", "late") as process:
        await_half(process)
        assert programs.names() == ["file", "forked"]
        assert end_of(process)[0] == 0
    assert (programs.frames / "late").read_text() == "one two"


def test_file_that_is_renamed_before_it_is_closed_is_published_when_it_is(programs: Programs) -> None:
    with programs.open("rename") as process:
        await_half(process)
        assert programs.names() == []
        assert end_of(process)[0] == 0
    assert programs.names() == ["file-renamed"]
    assert (programs.frames / "file-renamed").read_text() == "one two"
    assert end_of(programs.open("again", "again"))[1] == "one "


def test_program_finds_and_removes_what_it_is_writing(programs: Programs) -> None:
    assert end_of(programs.open("look")) == (0, "", "")
    assert stat.S_IMODE((programs.frames / "file").stat().st_mode) == 0o600
    assert end_of(programs.open("unlink")) == (0, "", "")
    assert end_of(programs.open("unlink", "never")) == (0, "", "")
    assert (programs.names(), programs.hidden()) == ([], [])


def test_hdf5_and_archives_are_published_when_they_are_closed(programs: Programs) -> None:
    pytest.importorskip("h5py")
    code = """
import h5py, sys, zipfile
from pathlib import Path
with h5py.File("a.h5", "w") as file:
    file["x"] = range(10)
    assert not any(path.name == "a.h5" for path in Path().iterdir())
with h5py.File("a.h5", "r+") as file:
    file["y"] = range(3)
with zipfile.ZipFile("a.zip", "w") as archive:
    archive.writestr("x", "text")
with zipfile.ZipFile("a.zip", "a") as archive:
    archive.writestr("y", "text")
print(sorted(h5py.File("a.h5")), zipfile.ZipFile("a.zip").namelist())
"""
    done = end_of(programs.start([sys.executable, "-c", code], timeout=0, cwd=programs.frames))
    assert done == (0, "['x', 'y'] ['x', 'y']\n", "")


def test_file_that_did_not_fit_is_not_published_even_if_nobody_looks(programs: Programs, tmp_path: Path) -> None:
    with full_disk(tmp_path) as disk:
        small = Programs(programs.opening, disk / "frames")
        small.frames.mkdir(mode=0o700, exist_ok=True)
        status, _, error = end_of(small.open("full"))
        assert status == 0
        assert "full" in error
        assert "file: a write has failed, or the program that wrote it: it is not published" in error
        assert (small.names(), small.hidden()) == ([], [])


def test_nothing_changes_outside_of_managed_directories(programs: Programs, tmp_path: Path) -> None:
    outside = tmp_path / "file"
    for how in ("open-w", "fopen-w", "open-a", "fopen-wx"):
        with programs.open(how, outside) as process:
            await_half(process)
            assert outside.exists()
            assert end_of(process)[0] == 0
        assert outside.read_text() == "one two"
        outside.unlink()
    for how in [*READING, *CHANGING]:
        status, _, error = end_of(programs.open(how, outside))
        assert (status, error) == (errno.ENOENT, "No such file or directory\n")
    # Hidden names are those of programs, and directories are no files.
    with programs.open("open-w", ".hidden") as process:
        await_half(process)
        assert (programs.frames / ".hidden").exists()
        end_of(process)
    assert end_of(programs.open("open-w", ""))[0] in {errno.EISDIR, errno.ENOENT}
    assert end_of(programs.open("open-w", "x" * 201))[0] == errno.ENAMETOOLONG


def test_directory_is_known_by_whatever_path(programs: Programs, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(programs.frames)
    (programs.frames / "below").mkdir()
    ways = ["frames/a", "./frames//b", "link/c", "link/below/../d", f"../{tmp_path.name}/frames/e"]
    for way in ways:
        with programs.start([programs.opening, "open-w", way], cwd=tmp_path) as process:
            await_half(process)
            assert not (tmp_path / way).exists()
            end_of(process)
        assert (tmp_path / way).read_text() == "one two"
    with programs.start([programs.opening, "fopen-w", "f"], cwd=programs.frames) as process:
        await_half(process)
        assert "f" not in programs.names()
        end_of(process)
    assert programs.names() == list("abcdef")


def test_threads_and_children_of_a_program_write_many_files(programs: Programs) -> None:
    code = """
import subprocess, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
def write(number):
    if number % 20 == 0:
        subprocess.run(["true"], check=True)
    Path(sys.argv[1], str(number)).write_bytes(bytes([number % 256]) * 10_000)
with ThreadPoolExecutor(8) as pool:
    list(pool.map(write, range(400)))
"""
    with programs.start([sys.executable, "-c", code, programs.frames]) as process:
        for number, path in zip(range(400), ManagedDirectory(programs.frames).arrivals(timeout=LONG), strict=False):
            assert path.read_bytes() == bytes([int(path.name) % 256]) * 10_000, number
        assert end_of(process) == (0, "", "")
    assert programs.names() == [str(number) for number in range(400)]
    assert programs.hidden() == []


@pytest.mark.parametrize("round_", range(6))  # one round finds the race of a third of all
def test_file_that_two_threads_find_closed_by_all_others_is_published_once(programs: Programs, round_: int) -> None:
    code = """
import subprocess, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
def write(number):
    if number % 5 == 0:
        subprocess.run(["true"], check=True)  # has the files of the other threads open for a moment
    Path(sys.argv[1], str(number)).write_bytes(b"whole")
with ThreadPoolExecutor(8) as pool:
    list(pool.map(write, range(1200)))
"""
    with programs.start([sys.executable, "-c", code, programs.frames]) as process:
        assert end_of(process) == (0, "", ""), round_
    assert len(programs.names()) == 1200


def test_ctrl_c_ends_waiting_in_python(programs: Programs) -> None:
    code = f"""
try:
    open({str(programs.frames / "never")!r})
except KeyboardInterrupt:
    print("interrupted")
"""
    with programs.start([sys.executable, "-c", code], timeout=None) as process:
        await_waiting(process)
        process.send_signal(signal.SIGINT)
        assert end_of(process)[:2] == (0, "interrupted\n")


def test_program_is_a_producer_whose_end_is_told(programs: Programs) -> None:
    frames, opening = programs.frames, programs.opening
    reader = ManagedDirectory(frames)
    assert run_managed(["sh", "-c", f"echo one > '{frames}/1'"], frames) == 0
    assert (reader.state, reader.names()) == ("finished", ["1"])
    # A producer looks for files that may not be there.
    assert run_managed([opening, "open-r", frames / "2"], frames) == errno.ENOENT
    assert (reader.state, reader.reason) == ("failed", f"{opening}: exit status 2")
    assert run_managed([opening, "abort", frames / "2"], frames) == -signal.SIGABRT
    assert reader.reason == f"{opening}: signal 6"
    assert run_managed([opening, "open-r", frames / "1"], frames, produces=False) == 0
    with pytest.raises(FileNotFoundError):
        run_managed([frames / "nothing"], frames)
    assert reader.state == "failed"
    with ManagedProducer(frames), pytest.raises(StreamError, match="another producer is running"):
        run_managed(["true"], frames)


def test_environment_says_what_the_library_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/lib/other.so")
    monkeypatch.setenv("MDREEL_MANAGED_TIMEOUT", "7")
    environment = managed_environment([tmp_path / "a", tmp_path / "b"])
    library, other = environment["LD_PRELOAD"].split(":")
    assert other == "/lib/other.so"
    assert stat.S_IMODE(Path(library).stat().st_mode) == 0o700
    assert stat.S_IMODE(Path(library).parent.stat().st_mode) == 0o700
    assert environment["MDREEL_MANAGED"] == f"{tmp_path / 'a'}:{tmp_path / 'b'}"
    assert "MDREEL_MANAGED_TIMEOUT" not in environment
    # A library that somebody has changed is made anew.
    Path(library).write_bytes(b"torn")
    assert managed_environment(tmp_path / "a", 0.5)["MDREEL_MANAGED_TIMEOUT"] == "0.500000"
    assert Path(library).stat().st_size > 10_000
    with pytest.raises(MismatchError, match="timeout must be a time in seconds"):
        managed_environment(tmp_path / "a", -1)
    with pytest.raises(UnsupportedError, match="must not contain a colon"):
        managed_environment(tmp_path / "a:b")
    with pytest.raises(PermissionError, match="no rights for others"):
        managed_environment(_open_to_others(tmp_path / "others"))
    monkeypatch.setenv("MDREEL_CACHE_DIR", str(tmp_path / "with space"))
    with pytest.raises(UnsupportedError, match="set MDREEL_CACHE_DIR"):
        managed_environment(tmp_path / "a")


def _open_to_others(path: Path) -> Path:
    path.mkdir()
    path.chmod(0o755)
    return path
