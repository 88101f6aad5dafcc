"""Tests of managed directories from Python."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import mdreel
from full_disk import full_disk
from mdreel.errors import MismatchError, StreamError, StreamTimeoutError
from mdreel.live.managed.reader import ManagedDirectory
from mdreel.live.managed.writer import ManagedProducer

LONG = 30.0  # what is waited for comes at once, but a test must not fail because a machine is busy
WRITING = """
import sys
from mdreel.live.managed.writer import ManagedProducer
with ManagedProducer(sys.argv[1]) as frames:
    with frames.open("whole", "wb") as file:
        file.write(bytes(1000))
    file = frames.open("torn", "wb")
    file.write(bytes(1000))
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def frames(tmp_path: Path) -> Path:
    return tmp_path / "frames"


def test_new_file_is_not_truncated(frames: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # ext4 writes a file to the disk when a program closes it, if the program has truncated it before.
    opened: list[int] = []
    real = os.open

    def noted(path: str, flags: int, mode: int = 0o777) -> int:
        opened.append(flags)
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", noted)
    with ManagedProducer(frames) as producer:
        for mode in ("w", "wb", "w+", "w+b"):
            producer.open(mode, mode).close()
        producer.open("own", "wb", opener=real).close()
    assert len(opened) == 4
    assert not any(flags & os.O_TRUNC for flags in opened)


def publish(producing: ManagedProducer, name: str, text: str = "") -> None:
    with producing.open(name) as file:
        file.write(text)


def hidden(directory: Path) -> list[str]:
    """Return the files that are being written."""
    return [path.name for path in directory.iterdir() if path.name.startswith(".mdreel-part")]


def writing_process(directory: Path) -> "subprocess.Popen[str]":
    """Start a process that has published one file and is writing another."""
    command = [sys.executable, "-c", WRITING, str(directory)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def test_file_is_seen_when_it_is_closed_and_not_before(frames: Path) -> None:
    with mdreel.live.ManagedProducer(frames) as producing:
        reader = mdreel.live.ManagedDirectory(frames)
        file = producing.open("frame-1.txt")
        file.write("half")
        file.flush()
        with pytest.raises(
            StreamTimeoutError, match=r"frame-1.txt: nothing came within [0-9.]+ s, and the producer is running"
        ):
            reader.wait("frame-1.txt", timeout=0.01)
        assert reader.names() == []
        file.write(" whole")
        file.close()
        file.close()
        assert reader.wait("frame-1.txt", timeout=LONG).read_text() == "half whole"
        assert reader.state == "running"
    assert (reader.state, reader.reason, hidden(frames)) == ("finished", None, [])


def test_file_is_one_for_libraries_that_take_file_objects(frames: Path) -> None:
    array = np.arange(12.0).reshape(4, 3)
    with ManagedProducer(frames) as producing:
        with producing.open("a.npz", "w+b") as file:
            np.savez(file, array=array)
        with producing.open("a.npy", "wb") as file:
            np.save(file, array)
        with producing.open("raw", "wb") as file:
            array.tofile(file)
        with producing.open("lines", encoding="utf-16") as file:
            print("Å", file=file)
        with producing.writing("b.npy") as path:
            assert path.suffix == ".npy"
            np.save(path, array)
    reader = ManagedDirectory(frames)
    assert (np.load(reader.wait("a.npz"))["array"] == array).all()
    assert (np.load(reader.wait("a.npy")) == array).all()
    assert (np.load(reader.wait("b.npy")) == array).all()
    with reader.open("raw", "rb") as file:
        assert file.read() == array.tobytes()
    with reader.open("lines", encoding="utf-16") as file:
        assert list(file) == ["Å\n"]


def test_who_waits_again_is_told_by_the_same_notices(frames: Path) -> None:
    def notices() -> list[str]:
        found = []
        for descriptor in Path("/proc/self/fd").iterdir():
            with suppress(FileNotFoundError):  # that of this very look
                found += [descriptor.name] if str(descriptor.readlink()) == "anon_inode:inotify" else []
        return found

    with ManagedProducer(frames) as producing:
        before = notices()
        directory = ManagedDirectory(frames)
        kept = []
        for name in ("first", "second", "third"):
            with ThreadPoolExecutor(1) as other:
                came = other.submit(directory.wait, name, LONG)
                while len(notices()) == len(before):  # it waits: ending and beginning anew takes the kernel 10 ms
                    assert not came.done()
                publish(producing, name)
                assert came.result() == frames / name
            kept.append([name for name in notices() if name not in before])
        assert len(kept[0]) == 1
        assert kept == [kept[0]] * 3
        del directory
    assert notices() == before


def test_exception_leaves_nothing_of_the_file_and_fails_the_directory(frames: Path) -> None:
    def fail() -> None:
        with ManagedProducer(frames) as producing:
            publish(producing, "before")
            with producing.open("torn") as file:
                file.write("half")
                raise ArithmeticError("the integrator")

    with pytest.raises(ArithmeticError):
        fail()
    reader = ManagedDirectory(frames)
    assert (reader.names(), hidden(frames)) == (["before"], [])
    assert (reader.state, reader.reason) == ("failed", "ArithmeticError: the integrator")
    with pytest.raises(
        StreamError, match=r"torn: it was not published, and .* failed: ArithmeticError: the integrator"
    ):
        reader.wait("torn")
    arrivals = iter(reader)
    assert next(arrivals).name == "before"
    with pytest.raises(StreamError, match="its producer has failed: ArithmeticError"):
        next(arrivals)


def test_file_that_is_forgotten_or_discarded_is_not_published(frames: Path) -> None:
    with ManagedProducer(frames) as producing:
        file = producing.open("discarded")
        file.write("half")
        file.discard()
        with pytest.raises(ZeroDivisionError), producing.writing("by path") as path:
            path.write_text("half")
            raise ZeroDivisionError
        forgotten = producing.open("forgotten")
        forgotten.file.close()
        del forgotten
        assert (producing.names(), hidden(frames)) == ([], [])


def test_file_that_did_not_fit_on_the_disk_is_not_published(tmp_path: Path) -> None:
    with full_disk(tmp_path) as disk, ManagedProducer(disk / "frames") as producing:
        publish(producing, "state", "before")
        file = producing.open("state", "wb")
        with pytest.raises(OSError, match=r"space|large"):
            for _ in range(1000):
                file.write(bytes(4096))
        with pytest.raises(OSError, match=r"space|large") as caught:
            file.close()
        assert caught.value.errno in {errno.ENOSPC, errno.EFBIG}
        assert hidden(disk / "frames") == []
        assert (disk / "frames" / "state").read_text() == "before"


def fill(disk: Path) -> Path:
    """Fill a disk."""
    if not os.path.ismount(disk):
        pytest.skip("a disk that is full needs root, who may mount one")
    path = disk / "filling"
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(512))
    return path


def test_end_that_cannot_be_written_is_no_end_and_can_be_said_again(tmp_path: Path) -> None:
    def end_on(disk: Path) -> None:
        with ManagedProducer(disk / "frames") as producing:
            filling = fill(disk)
            for _ in range(2):  # the second time no more than the first "has ended"
                with pytest.raises(OSError, match="space") as caught:
                    producing.end()
                assert caught.value.errno == errno.ENOSPC
                assert state(disk) == "running"
            with pytest.raises(StreamTimeoutError):
                ManagedDirectory(disk / "frames").wait("frame", timeout=0.01)
            filling.unlink()
            producing.end()
            assert (state(disk), hidden(disk / "frames")) == ("finished", [])

    with full_disk(tmp_path) as disk:
        end_on(disk)


@pytest.mark.parametrize("fails", [False, True])
def test_readers_are_told_of_a_loss_when_the_end_cannot_be_written(tmp_path: Path, fails: bool) -> None:
    def produce_on(disk: Path) -> None:
        with pytest.raises(ArithmeticError if fails else OSError) as caught, ManagedProducer(disk / "frames"):
            filling = fill(disk)
            if fails:
                raise ArithmeticError
        assert state(disk) == "lost"
        with pytest.raises(StreamError, match="lost"):
            ManagedDirectory(disk / "frames").wait("frame", timeout=LONG)
        if fails:
            assert "the end of this producer could not be written" in caught.value.__notes__[0]
        # The directory is as usable as after a death.
        filling.unlink()
        with ManagedProducer(disk / "frames"):
            pass
        assert state(disk) == "finished"

    with full_disk(tmp_path) as disk:
        produce_on(disk)


def state(disk: Path) -> str:
    """Return the state of the producers of a directory on a disk."""
    return ManagedDirectory(disk / "frames").state


def test_file_that_is_written_elsewhere_moves_in(tmp_path: Path, frames: Path) -> None:
    (tmp_path / "frame-1.pdb").write_text("ATOM")
    with ManagedProducer(frames) as producing:
        assert producing.publish(tmp_path / "frame-1.pdb").read_text() == "ATOM"
        assert not (tmp_path / "frame-1.pdb").exists()
        with pytest.raises(FileNotFoundError):
            producing.publish(tmp_path / "frame-2.pdb")
        memory = Path("/dev/shm") / f"mdreel-test-{os.getpid()}"
        memory.write_text("other disk")
        assert producing.publish(memory, "frame-3.pdb").read_text() == "other disk"
        assert not memory.exists()
        assert producing.names("name") == ["frame-1.pdb", "frame-3.pdb"]
        assert producing.remove("frame-3.pdb")
        assert not producing.remove("frame-3.pdb")


def test_arrivals_come_in_order_each_once_until_the_end(frames: Path) -> None:
    names = [f"frame-{number}" for number in (10, 9, 11)]
    with ThreadPoolExecutor() as pool, ManagedProducer(frames) as producing:
        for name in names:
            publish(producing, name)
        reader = ManagedDirectory(frames)
        assert sorted(reader.names()) == sorted(names)
        assert reader.names("name") == ["frame-9", "frame-10", "frame-11"]
        by_name = pool.submit(lambda: [path.name for path in reader.arrivals("name", timeout=LONG)])
        behind = pool.submit(lambda: [path.name for path in reader.arrivals("name", after="frame-10", timeout=LONG)])
        while not by_name.running():
            time.sleep(0.001)
        publish(producing, "frame-12")
        producing.end()
        assert by_name.result() == ["frame-9", "frame-10", "frame-11", "frame-12"]
        assert behind.result() == ["frame-11", "frame-12"]


def test_who_reads_later_does_not_see_what_was_not_kept(frames: Path) -> None:
    with ManagedProducer(frames, keep=2) as producing:
        for number in range(5):
            publish(producing, f"frame-{number}", str(number))
        opened = ManagedDirectory(frames).open("frame-3")
        publish(producing, "frame-5")
        publish(producing, "frame-6")
        assert sorted(producing.names()) == ["frame-5", "frame-6"]
        with opened:
            assert opened.read() == "3"
    with pytest.raises(MismatchError, match="1 file or more, got 0"):
        ManagedProducer(frames, keep=0)


def test_producer_that_was_killed_leaves_nothing_torn_and_nobody_waiting(frames: Path) -> None:
    with writing_process(frames) as process, ThreadPoolExecutor() as pool:
        reader = ManagedDirectory(frames)
        waiting = [pool.submit(reader.wait, "torn"), pool.submit(list, reader.arrivals())]
        arrivals = iter(reader)
        assert next(arrivals).stat().st_size == 1000
        process.send_signal(signal.SIGKILL)
        for outcome in waiting:
            with pytest.raises(StreamError, match="the producer was lost"):
                outcome.result(timeout=LONG)
        with pytest.raises(StreamError, match="the producer was lost"):
            next(arrivals)
    assert (reader.state, reader.names(), len(hidden(frames))) == ("lost", ["whole"], 1)
    with ManagedProducer(frames) as producing:
        assert hidden(frames) == []
        publish(producing, "torn", "not any more")
    assert reader.wait("torn").read_text() == "not any more"
    assert reader.wait("whole").stat().st_size == 1000


def test_producer_that_has_to_stop_says_so(frames: Path) -> None:
    with writing_process(frames) as process, ThreadPoolExecutor() as pool:
        waiting = pool.submit(ManagedDirectory(frames).wait, "torn")
        process.send_signal(signal.SIGINT)
        with pytest.raises(StreamError, match="its producer was stopped"):
            waiting.result(timeout=LONG)
    assert hidden(frames) == []


def test_producers_share_a_directory_if_all_say_so(frames: Path) -> None:
    ranks = [ManagedProducer(frames, shared=True).create() for _ in range(2)]
    with pytest.raises(StreamError, match="another producer is running, and producers share a directory only if all"):
        ManagedProducer(frames).create()
    reader = ManagedDirectory(frames)
    for number, rank in enumerate(ranks):
        publish(rank, f"rank-{number}")
        assert reader.state == "running"
        rank.end()
    assert reader.state == "finished"
    assert sorted(path.name for path in reader) == ["rank-0", "rank-1"]


def test_reader_may_come_before_the_producer(frames: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ManagedDirectory(frames)

    def wait() -> str:
        return ManagedDirectory(frames, wait=LONG).wait("a", timeout=LONG).name

    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(wait)
        with ManagedProducer(frames) as producing:
            publish(producing, "a")
        assert waiting.result() == "a"
    frames.chmod(0o755)
    for use in (lambda: ManagedDirectory(frames), ManagedProducer(frames).create):
        with pytest.raises(PermissionError, match="no rights for others"):
            use()


@pytest.mark.parametrize("wait", [lambda reader: reader.wait("a"), lambda reader: next(iter(reader))])
def test_ctrl_c_ends_waiting(frames: Path, wait: Callable[[ManagedDirectory], object]) -> None:
    with ManagedProducer(frames):
        reader = ManagedDirectory(frames)
        threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            wait(reader)


def test_what_makes_no_sense_is_refused(frames: Path) -> None:
    with pytest.raises(MismatchError, match=r"the producer has not opened the directory; use `with`"):
        ManagedProducer(frames).open("a")
    with ManagedProducer(frames) as producing:
        for mode in ("r", "a", "x", "r+", "wz"):
            with pytest.raises(MismatchError, match="expected the mode 'w', 'wb'"):
                producing.open("a", mode)
        for name in ("", ".hidden", "a/b", "..", "x" * 201):
            with pytest.raises(MismatchError, match="expected a name of 1 to 200 bytes"):
                producing.open(name)
        with pytest.raises(ValueError, match="binary mode"):
            producing.open("a", "wb", encoding="utf-8")
        reader = ManagedDirectory(frames)
        with pytest.raises(MismatchError, match="expected the mode 'r' or 'rb', got 'w'"):
            reader.open("a", "w")
        with pytest.raises(MismatchError, match="nobody knows which files were published after it"):
            reader.arrivals(after="a")
        with pytest.raises(MismatchError, match="timeout must be a time in seconds"):
            reader.wait("a", timeout=-1)
        late = producing.open("late")
        assert repr(producing), repr(reader)
    with pytest.raises((StreamError, MismatchError), match=r"ended|left"):
        late.close()
    with pytest.raises(MismatchError, match="has left the directory"):
        producing.open("a")
    assert hidden(frames) == []
