"""Tests of archives that a separate process writes for a producer."""

import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import growing_file
import mdreel
from full_disk import full_disk
from growing_file import N_ATOMS
from live.channels.test_archive import N_FRAMES, check_frames
from mdreel.errors import StreamError, StreamTimeoutError
from mdreel.live.archives.archiver_process import LOG, ArchiverProcess
from mdreel.live.archives.options import Archive, part_path
from mdreel.live.channels.staging import Staging
from mdreel.live.channels.status import Status
from mdreel.live.producers.producer import Producer
from publishing import publish

SIMULATION = """
import sys
sys.path.insert(0, sys.argv[5])
from mdreel.live.producers.producer import Producer
from mdreel.live.channels.staging import Staging
from growing_file import N_ATOMS
from publishing import publish
folder, first, end, how = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
staging = Staging(f"{folder}/staging", segment_bytes=1000)
with Producer(
    "run", N_ATOMS, n_slots=4, staging=staging, archive=f"{folder}/run.h5md", resume_step=10 * first or None
) as producer:
    for frame in range(first, end):
        publish(producer, frame)
    print("published", flush=True)
    if how == "hang":
        sys.stdin.read()
"""


def simulate(folder: Path, first: int, end: int, how: str) -> "subprocess.Popen[str]":
    beside = Path(growing_file.__file__).parent
    command = [sys.executable, "-c", SIMULATION, *map(str, (folder, first, end, how, beside))]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def process_of(producer: Producer) -> "subprocess.Popen[bytes]":
    assert isinstance(producer._archiver, ArchiverProcess)
    assert producer._archiver._process is not None
    return producer._archiver._process


@pytest.mark.parametrize("is_staged", [False, True])
def test_archive_is_whole_when_the_simulation_has_ended(tmp_path: Path, is_staged: bool) -> None:
    path = tmp_path / "run.h5md"
    staging = Staging(tmp_path / "staging", n_frames=1, segment_bytes=1000) if is_staged else None
    with Producer("run", N_ATOMS, n_slots=4, staging=staging, archive=path) as producer:
        for frame in range(N_FRAMES):
            publish(producer, frame)
        assert not path.exists()
    check_frames(path)
    assert not part_path(path).exists()
    assert Status.read("run").n_consumers == 0
    before = path.read_bytes()
    with pytest.warns(UserWarning, match=r"run\.h5md is not being archived: the output exists already .*force=True"):
        producer = Producer("run", N_ATOMS, n_slots=4, archive=path).open()
    publish(producer, 0)
    producer.end()
    assert path.read_bytes() == before
    with Producer("run", N_ATOMS, n_slots=4, archive=Archive(path, force=True), staging=staging) as producer:
        for frame in range(3):
            publish(producer, frame)
    check_frames(path, 3)


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (Archive("run.trr", precision=100), "does not round"),
        (Archive("run.pdb"), "ending of a trajectory"),
        (Archive("absent/run.xtc"), "the directory of the output does not exist"),
        (Archive("run.xtc", group="no group"), "name of a group"),
    ],
)
def test_archive_that_cannot_be_begun_is_a_warning_of_the_simulation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archive: Archive, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.warns(UserWarning, match=f"is not being archived: .*{reason}.*the simulation runs without its archive"):
        producer = Producer("run", N_ATOMS, archive=archive).open()
    with pytest.raises(StreamTimeoutError, match="0 of 1 consumers joined"):
        producer.await_consumers(2, timeout=0.1)  # the archive, which cannot join, and an analysis
    producer.await_consumers(1, timeout=0.1)
    publish(producer, 0)
    producer.end()
    assert Status.read("run").state == "finished"
    assert list(tmp_path.iterdir()) == []


def test_second_archive_of_a_channel_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "run.h5md"
    with Producer("run", N_ATOMS, archive=path) as producer:
        publish(producer, 0)
        with pytest.raises(StreamTimeoutError, match=r"writes this archive; if it is that of the simulation .*--group"):
            mdreel.live.archive("run", path)
        with pytest.raises(StreamError, match=r"uses the group 'archive', maybe that of the simulation .*--group"):
            mdreel.live.archive("run", tmp_path / "other.h5md")
        with pytest.raises(StreamTimeoutError, match="no frame within"):
            mdreel.live.archive("run", tmp_path / "other.h5md", group="other", timeout=0)
    check_frames(path, 1)
    assert mdreel.live.archive("run", path).n_frames == 1  # it is there already
    assert mdreel.live.archive("run", tmp_path / "other.h5md", group="other").n_frames == 1


def test_simulation_starts_beside_an_archive_of_the_same_group(tmp_path: Path) -> None:
    earlier = Producer("run", N_ATOMS, n_slots=4).open()
    publish(earlier, 0)
    with pytest.raises(StreamTimeoutError, match="no frame within"):
        mdreel.live.archive("run", tmp_path / "by hand.h5md", timeout=0)
    earlier.end()
    with pytest.warns(UserWarning, match="the group has the incomplete archive .*by hand.h5md"):
        producer = Producer("run", N_ATOMS, n_slots=4, archive=tmp_path / "run.h5md").open()
    publish(producer, 0)
    producer.end()
    assert Status.read("run").state == "finished"


def test_restarted_producer_goes_on_with_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "run.h5md"
    first = 0
    for end in (8, 14):  # the second begins with steps that were published before
        with simulate(tmp_path, first, end, "hang") as simulation:
            assert simulation.stdout is not None
            assert simulation.stdout.readline() == "published\n"
            simulation.kill()
        assert simulation.returncode == -signal.SIGKILL
        assert not path.exists()
        first = end - 3
    with simulate(tmp_path, first, N_FRAMES, "finish") as simulation:
        simulation.communicate()
    assert simulation.returncode == 0
    check_frames(path)


def test_archive_of_a_simulation_that_does_not_come_back_is_finished_by_hand(tmp_path: Path) -> None:
    with simulate(tmp_path, 0, 5, "hang") as simulation:
        assert simulation.stdout is not None
        assert simulation.stdout.readline() == "published\n"
        simulation.kill()
    # Its process may still be at the last frames.
    with pytest.raises(StreamError, match=r"was lost: .*; 5 frames are kept"):
        mdreel.live.archive("run", tmp_path / "run.h5md", wait=60)
    assert mdreel.live.archive("run", tmp_path / "run.h5md", finish=True).n_frames == 5
    check_frames(tmp_path / "run.h5md", 5)


def test_failed_simulation_leaves_what_a_restart_goes_on_with(tmp_path: Path) -> None:
    path = tmp_path / "run.h5md"
    with pytest.raises(ZeroDivisionError), Producer("run", N_ATOMS, n_slots=4, archive=path) as producer:
        for frame in range(5):
            publish(producer, frame)
        _ = 1 / 0
    assert not path.exists()
    with Producer("run", N_ATOMS, n_slots=4, archive=path, resume_step=40) as producer:
        for frame in range(4, N_FRAMES):
            publish(producer, frame)
    check_frames(path)


def test_stopped_simulation_has_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "run.h5md"
    with pytest.raises(KeyboardInterrupt), Producer("run", N_ATOMS, n_slots=4, archive=path) as producer:
        for frame in range(5):
            publish(producer, frame)
        raise KeyboardInterrupt
    check_frames(path, 5)


def test_dead_archiver_is_told_once_and_the_simulation_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run.h5md"
    staging = Staging(tmp_path / "staging", n_frames=1, segment_bytes=1000)
    with Producer("run", N_ATOMS, n_slots=4, staging=staging, archive=path) as producer:
        for frame in range(5):
            publish(producer, frame)
        process = process_of(producer)
        process.kill()
        process.wait()
        assert producer._archiver is not None
        producer._archiver._checked_at = 0.0
        with pytest.warns(UserWarning, match=r"no longer being archived: signal 9 ended the process; run `mdr"):
            publish(producer, 5)
        for frame in range(6, N_FRAMES):
            publish(producer, frame)
    assert mdreel.live.archive("run", path).n_frames == N_FRAMES
    check_frames(path)


def test_full_disk_is_told_and_loses_nothing_that_staging_has(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    n_frames = 400  # of 300 bytes and more
    staging = Staging(tmp_path / "staging", n_frames=1, segment_bytes=10_000)
    with full_disk(disk):
        if not os.path.ismount(disk):
            pytest.skip("only root can make a small disk")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with Producer("run", N_ATOMS, n_slots=4, staging=staging, archive=disk / "run.h5md") as producer:
                for frame in range(n_frames):
                    publish(producer, frame)
        (warning,) = told
        assert re.search(r"no longer being archived: .*run\.h5md: No space left on device", str(warning.message))
        assert Status.read("run").state == "finished"
        with pytest.raises(OSError, match="No space left on device"):
            mdreel.live.archive("run", disk / "run.h5md")
        subprocess.run(["mount", "-o", "remount,size=1m", disk], check=True)
        assert mdreel.live.archive("run", disk / "run.h5md").n_frames == n_frames
        check_frames(disk / "run.h5md", n_frames)


def test_archiver_writes_what_it_has_to_say_where_the_channel_is(tmp_path: Path) -> None:
    with Producer("run", N_ATOMS, n_slots=4, archive=tmp_path / "run.h5md") as producer:
        publish(producer, 0)
        (tmp_path / "run.h5md").write_text("mine")
        with pytest.warns(UserWarning, match=r"no longer being archived: .*run\.h5md: the output exists already"):
            producer.end()
    assert "the output exists already" in (producer.path / LOG).read_text()
    assert (tmp_path / "run.h5md").read_text() == "mine"
