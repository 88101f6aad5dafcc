"""Tests of archives, which contain every frame of a channel exactly once."""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import mdreel
from architecture.checkout import ROOT
from file_sizes import file_sizes
from growing_file import N_ATOMS, positions
from mdreel._core import FrameSet
from mdreel.errors import FormatError, MismatchError, StreamError, StreamTimeoutError, UnsupportedError
from mdreel.live.archives.options import part_path
from mdreel.live.archives.part_file import PartFile
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.producer import Producer
from mdreel.trajectory.convert import convert
from publishing import BOX, publish, running, said

N_FRAMES = 20
EXTENSIONS = [".xtc", ".trr", ".dcd", ".nc", ".h5md"]


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    return Staging(tmp_path / "staging", segment_bytes=1000)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """Return an empty folder for archives, in which leftover files are visible."""
    folder = tmp_path / "output"
    folder.mkdir()
    return folder


def all_published(staging: Staging | None, first: int = 0, end: int = N_FRAMES, resume_step: int | None = None) -> None:
    """Publish frames on the channel `run`, whose ring has four slots."""
    with Producer("run", N_ATOMS, n_slots=4, full="drop-oldest", staging=staging, resume_step=resume_step) as producer:
        for frame in range(first, end):
            publish(producer, frame)


def check_frames(path: Path, n_frames: int = N_FRAMES) -> None:
    """Compare a file with exact positions to the published frames."""
    source = mdreel.open(path)
    assert source.n_frames == n_frames
    reader = source.reader(np.arange(N_ATOMS, dtype=np.uint32), ["positions"])
    read = reader.read(FrameSet.range(0, 1, n_frames))
    np.testing.assert_array_equal(read.positions, [positions(frame) for frame in range(n_frames)])
    np.testing.assert_array_equal(read.vectors, np.broadcast_to(BOX, (n_frames, 3, 3)))
    np.testing.assert_allclose(read.times, [0.5 * frame for frame in range(n_frames)], rtol=1e-6)
    if path.suffix == ".h5md":
        assert list(read.steps) == [10 * frame for frame in range(n_frames)]


@pytest.mark.parametrize("ending", EXTENSIONS)
def test_archive_has_the_frames_and_the_bytes_of_a_conversion(staging: Staging, output: Path, ending: str) -> None:
    all_published(staging)
    h5md = mdreel.live.archive("run", output / "bits.h5md", group="bits").path
    check_frames(h5md)
    archived = mdreel.live.archive("run", output / f"run{ending}")
    assert (archived.n_frames, archived.n_missed) == (N_FRAMES, 0)
    converted = convert(h5md, output / f"converted{ending}")
    assert archived.path.read_bytes() == converted.paths[0].read_bytes()
    if ending in (".dcd", ".nc"):
        check_frames(archived.path)
    assert mdreel.live.archive("run", output / f"run{ending}") == archived  # it is there already
    assert not [left for left in output.iterdir() if left.name.startswith(".")]


def test_precision_is_that_of_the_file(staging: Staging, output: Path) -> None:
    all_published(staging)
    fine = mdreel.live.archive("run", output / "fine.xtc", precision=1e5, group="fine").path
    coarse = mdreel.live.archive("run", output / "coarse.xtc", precision=10, group="coarse").path
    assert fine.stat().st_size > coarse.stat().st_size
    for path, error in ((fine, 1e-4), (coarse, 1.0)):
        source = mdreel.open(path)
        read = source.reader(np.arange(N_ATOMS, dtype=np.uint32), ["positions"]).read(FrameSet.range(0, 1, N_FRAMES))
        differences = np.abs(read.positions - np.array([positions(frame) for frame in range(N_FRAMES)]))
        assert error / 10 < differences.max() < error
    with pytest.raises(MismatchError, match="does not round"):
        mdreel.live.archive("run", output / "run.trr", precision=10)
    with pytest.raises(UnsupportedError, match="ending"):
        mdreel.live.archive("run", output / "run.pdb")


@pytest.mark.parametrize("ending", [".xtc", ".dcd", ".h5md"])
def test_archiver_that_is_killed_at_any_operation_and_goes_on_ends_with_the_same_bytes(
    staging: Staging, output: Path, ending: str
) -> None:
    all_published(staging, end=5)
    command = [sys.executable, ROOT / "tests" / "killed_archiver.py", "run", output, ending]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    n_operations, n_killed = map(int, done.stdout.splitlines()[-1].split())
    assert n_operations >= 5 * 3  # of each frame: written, synced, committed
    assert n_killed >= 5


ARCHIVING = """
import sys
from mdreel.live.archives import archiver
from mdreel.live.archives.archive import archive
archiver.COMMIT_SECONDS = 0.01
says_at = int(sys.argv[2])
archive("run", sys.argv[1], wait=60, progress=lambda n: n == says_at and print("begun", flush=True))
"""


def test_archiver_that_is_killed_at_random_ends_with_the_same_bytes(staging: Staging, output: Path) -> None:
    n_frames = 1500
    all_published(staging, end=n_frames)
    path = output / "run.xtc"
    n_killed = 0
    for says_at in np.sort(np.random.default_rng(3).integers(1, n_frames // 2, 6)):
        with running([sys.executable, "-c", ARCHIVING, path, str(says_at)]) as process:
            said(process)  # nothing if what was committed lies behind: it ends then
            process.kill()
            process.wait()
            n_killed += process.returncode == -signal.SIGKILL
    assert mdreel.live.archive("run", path).n_frames == n_frames
    assert path.read_bytes() == mdreel.live.archive("run", output / "whole.xtc", group="whole").path.read_bytes()
    assert n_killed >= 2


def test_retention_waits_for_the_archive(tmp_path: Path, output: Path) -> None:
    staging = Staging(tmp_path / "staging", n_frames=2, n_bytes=3000, seconds=0.0, segment_bytes=1000)

    def n_segments() -> int:
        return len([size for size in file_sizes(tmp_path / "staging") if size > 500])

    with Producer("run", N_ATOMS, n_slots=4, full="drop-oldest", staging=staging) as producer:
        publish(producer, 0)
        with pytest.raises(StreamTimeoutError, match="no frame within 0 s"):
            mdreel.live.archive("run", output / "run.h5md", timeout=0)
        for frame in range(1, N_FRAMES):
            publish(producer, frame)
        n_before = n_segments()
        assert n_before >= N_FRAMES / 3
        with pytest.raises(StreamTimeoutError):
            mdreel.live.archive("run", output / "run.h5md", timeout=0)
        until = threading.Event()
        for frame in range(N_FRAMES, 4 * N_FRAMES):
            publish(producer, frame)
            until.wait(0.01)  # groups are asked every 100 ms
        with pytest.raises(StreamTimeoutError):
            mdreel.live.archive("run", output / "run.h5md", timeout=0)
        until.wait(0.15)
        publish(producer, 4 * N_FRAMES)
        assert n_segments() < n_before
    assert mdreel.live.archive("run", output / "run.h5md").n_missed == 0
    check_frames(output / "run.h5md", 4 * N_FRAMES + 1)


def test_frames_that_were_overwritten_are_an_error_unless_that_is_borne(output: Path) -> None:
    with Producer("run", N_ATOMS, n_slots=4, full="drop-oldest") as producer:
        publish(producer, 0)
        with pytest.raises(StreamTimeoutError):
            mdreel.live.archive("run", output / "run.h5md", timeout=0)
        for frame in range(1, N_FRAMES):
            publish(producer, frame)
    for _ in range(2):
        with pytest.raises(StreamError, match="15 frames between steps 0 and 160 were overwritten"):
            mdreel.live.archive("run", output / "run.h5md")
    archived = mdreel.live.archive("run", output / "run.h5md", on_missed="skip")
    assert (archived.n_frames, archived.n_missed) == (5, 15)
    with pytest.raises(MismatchError, match="on_missed"):
        mdreel.live.archive("run", output / "run.h5md", on_missed="ignore")


def test_simulation_that_has_failed_leaves_a_file_without_its_name_until_it_goes_on(
    staging: Staging, output: Path
) -> None:
    path = output / "run.h5md"
    with (
        pytest.raises(RuntimeError),
        Producer("run", N_ATOMS, n_slots=4, full="drop-oldest", staging=staging) as producer,
    ):
        for frame in range(7):
            publish(producer, frame)
        raise RuntimeError("no luck")
    with pytest.raises(StreamError, match=r"has failed: .*no luck; 7 frames are kept in .*\.run\.h5md\.archive"):
        mdreel.live.archive("run", path)
    assert not path.exists()
    all_published(staging, 5, N_FRAMES, resume_step=50)
    assert mdreel.live.archive("run", path).n_frames == N_FRAMES
    check_frames(path)


def test_simulation_that_has_failed_is_finished_on_request(staging: Staging, output: Path) -> None:
    with pytest.raises(RuntimeError), Producer("run", N_ATOMS, n_slots=4, staging=staging) as producer:
        for frame in range(3):
            publish(producer, frame)
        raise RuntimeError("no luck")
    assert mdreel.live.archive("run", output / "run.dcd", finish=True).n_frames == 3
    check_frames(output / "run.dcd", 3)


def test_single_frame_is_an_archive_and_none_is_not(staging: Staging, output: Path) -> None:
    all_published(staging, end=1)
    for ending in EXTENSIONS:
        archived = mdreel.live.archive("run", output / f"run{ending}", group=f"of-{ending[1:]}")
        assert mdreel.open(archived.path).n_frames == archived.n_frames == 1
    with Producer("empty", N_ATOMS):
        pass
    with pytest.raises(StreamError, match="without a new frame"):
        mdreel.live.archive("empty", output / "empty.xtc")
    assert len(list(output.iterdir())) == len(EXTENSIONS)


def test_new_run_on_the_channel_needs_another_file(staging: Staging, output: Path) -> None:
    all_published(staging)
    mdreel.live.archive("run", output / "first.h5md")
    all_published(staging, end=7)  # steps from 0 again
    with pytest.raises(FileExistsError, match=r"first\.h5md"):
        mdreel.live.archive("run", output / "first.h5md")
    assert mdreel.live.archive("run", output / "second.h5md").n_frames == 7
    check_frames(output / "first.h5md")
    check_frames(output / "second.h5md", 7)


def test_first_frame_of_a_new_run_is_not_lost_with_an_archiver_that_fails_at_it(
    staging: Staging, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = output / "run.h5md"
    all_published(staging)
    mdreel.live.archive("run", path)
    all_published(staging, end=7)

    def fail(part: PartFile, content: bytes) -> None:
        raise OSError(errno.EIO, "no luck", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(PartFile, "append", fail)
        with pytest.raises(OSError, match="no luck"):
            mdreel.live.archive("run", path, force=True)
    check_frames(path)
    assert mdreel.live.archive("run", path, force=True).n_frames == 7
    check_frames(path, 7)


def test_new_run_does_not_get_into_a_file_that_was_not_finished(staging: Staging, output: Path) -> None:
    path = output / "run.h5md"
    with pytest.raises(RuntimeError), Producer("run", N_ATOMS, n_slots=8, staging=staging) as producer:
        for frame in range(5):
            publish(producer, frame)
        raise RuntimeError
    with pytest.raises(StreamError):
        mdreel.live.archive("run", path)
    with Producer("run", N_ATOMS, n_slots=8, staging=staging) as producer:
        for frame in range(3):
            publish(producer, frame)
    with pytest.raises(StreamError, match=r"step 0: a new run has begun, but the archive is at step 40"):
        mdreel.live.archive("run", path)
    assert mdreel.live.archive("run", path, force=True).n_frames == 3
    check_frames(path, 3)


def test_files_that_are_there_are_not_replaced_unless_that_is_wanted(staging: Staging, output: Path) -> None:
    all_published(staging)
    path = output / "run.h5md"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="the output exists already"):
        mdreel.live.archive("run", path)
    assert path.read_text() == "mine"
    assert mdreel.live.archive("run", path, force=True).n_frames == N_FRAMES
    check_frames(path)
    part_path(output / "other.xtc").write_text("somebody's")
    with pytest.raises(FileExistsError, match="that does not belong to the group"):
        mdreel.live.archive("run", output / "other.xtc", group="other")
    assert part_path(output / "other.xtc").read_text() == "somebody's"
    with pytest.raises(FileNotFoundError, match="directory of the output"):
        mdreel.live.archive("run", output / "absent" / "run.xtc", group="absent")
    with pytest.raises(FileNotFoundError, match="absent"):
        mdreel.live.archive("absent", output / "absent.xtc")


def test_group_has_one_file_at_a_time(staging: Staging, output: Path) -> None:
    with Producer("run", N_ATOMS, n_slots=4, full="drop-oldest", staging=staging) as producer:
        for frame in range(N_FRAMES):
            publish(producer, frame)
        with pytest.raises(StreamTimeoutError):
            mdreel.live.archive("run", output / "run.xtc", timeout=0)
        with pytest.raises(MismatchError, match=r"the group has the incomplete archive .*run\.xtc"):
            mdreel.live.archive("run", output / "other.xtc")
        with pytest.raises(MismatchError, match="was begun with precision None, not 10"):
            mdreel.live.archive("run", output / "run.xtc", precision=10)
        with Consumer("run", group="archive"), pytest.raises(StreamError, match="uses the group 'archive'"):
            mdreel.live.archive("run", output / "run.xtc")
    os.truncate(part_path(output / "run.xtc"), 100)
    with pytest.raises(FormatError, match=r"committed bytes, got 100: the file was changed"):
        mdreel.live.archive("run", output / "run.xtc")


def test_second_archiver_of_a_file_is_refused(staging: Staging, output: Path) -> None:
    path = output / "run.h5md"
    with Producer("run", N_ATOMS, staging=staging) as producer:
        publish(producer, 0)
        with running([sys.executable, "-c", ARCHIVING, path, "1"]) as process:
            assert said(process) == "begun"
            with pytest.raises(StreamTimeoutError, match="another process writes this archive"):
                mdreel.live.archive("run", path, timeout=0)
            publish(producer, 1)
            producer.end()
            assert process.wait(60) == 0
    check_frames(path, 2)


def test_frames_with_other_quantities_are_refused_by_formats_in_which_all_are_alike(
    staging: Staging, output: Path
) -> None:
    velocities = np.ones((N_ATOMS, 3), np.float32)
    with Producer("run", N_ATOMS, velocities=True, dtype="float64", n_slots=4, staging=staging) as producer:
        producer.publish(positions(0), 0, 0.0, BOX, velocities)
        producer.publish(positions(1), 10, 0.5, BOX)
    for ending in (".nc", ".h5md"):
        with pytest.raises(
            MismatchError, match=r"run, step 10: .*expected positions, velocities as in the first frame"
        ):
            mdreel.live.archive("run", output / f"run{ending}", group=f"of-{ending[1:]}")
    source = mdreel.open(mdreel.live.archive("run", output / "run.trr").path)
    read = source.reader(np.arange(N_ATOMS, dtype=np.uint32), source.quantities).read(FrameSet.range(0, 1, 2))
    assert list(read.has_velocities) == [True, False]
    np.testing.assert_allclose(read.velocities[0], velocities, rtol=1e-6)


def test_times_that_a_format_cannot_hold_are_warned_of(staging: Staging, output: Path) -> None:
    with Producer("run", N_ATOMS, n_slots=4, staging=staging) as producer:
        for step, time in enumerate((0.0, 0.5, 1.0, 9.0)):
            producer.publish(positions(step), step, time)
    with pytest.warns(UserWarning, match=r"every 0.5 ps, but step 3 is at 9 ps"):
        mdreel.live.archive("run", output / "run.dcd")
