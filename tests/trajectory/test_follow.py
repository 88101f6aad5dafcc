"""Following: files that another process writes, and everything that can happen to them."""

import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest

import mdreel
from growing_file import N_ATOMS, grow, positions, write_xtc
from mdreel._core import FrameSet, Source
from mdreel.errors import (
    FormatError,
    FrameIndexError,
    MismatchError,
    StreamError,
    StreamTimeoutError,
    UnsupportedError,
)
from mdreel.trajectory.convert import convert
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.split import split

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
N_FRAMES = 3000
LONG = 100_000


@pytest.fixture(scope="module")
def atoms() -> MDAnalysis.AtomGroup:
    return MDAnalysis.Universe.empty(N_ATOMS).atoms


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same frames in files of each format that can be followed."""
    folder = tmp_path_factory.mktemp("whole")
    write_xtc(N_FRAMES, folder / "whole.xtc")
    files = {ending: folder / f"whole.{ending}" for ending in ("xtc", "trr", "dcd")}
    for ending in ("trr", "dcd"):
        convert(files["xtc"], files[ending])
    return files


@pytest.fixture
def few(whole: dict[str, Path]) -> tuple[bytes, list[int]]:
    """An XTC file of 8 frames, and where each of them ends."""
    content = whole["xtc"].read_bytes()
    starts = [at for at in range(0, 8000, 4) if content.startswith(b"\0\0\x07\xcb\0\0\0\x14", at)][:9]
    return content[: starts[8]], starts[1:]


def rmsd(atoms: Any, trajectory: Any, **options: Any) -> np.ndarray:
    window = {name: options.pop(name) for name in ("start", "stop", "step", "frames") if name in options}
    return np.asarray(mdreel.RMSD(atoms, trajectory=trajectory).run(**window, **options).results.rmsd)


def read_frames(source: Source, frame: int) -> np.ndarray:
    return source.read(FrameSet.range(frame, 1, 1), np.arange(N_ATOMS, dtype=np.uint32)).positions[0]


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that ends when its input is closed."""
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        yield process


def test_follow_gives_every_frame_of_a_long_run_once_in_order(tmp_path: Path, atoms: Any) -> None:
    path = tmp_path / "run.xtc"
    with grow("xtc", LONG, path) as writer:
        followed = rmsd(atoms, mdreel.trajectory.follow(path, process=writer.pid))
    np.testing.assert_array_equal(followed[:, 0], np.arange(LONG))
    np.testing.assert_array_equal(followed[:, 1], np.arange(LONG))
    np.testing.assert_array_equal(followed, rmsd(atoms, path))


@pytest.mark.parametrize("notify", [True, False], ids=["inotify", "polling"])
@pytest.mark.parametrize("backend", ["threads", "serial"])
@pytest.mark.parametrize("ending", ["xtc", "trr", "dcd"])
def test_follow_gives_the_bits_of_the_whole_file(
    tmp_path: Path, atoms: Any, whole: dict[str, Path], ending: str, backend: str, notify: bool
) -> None:
    path, done = tmp_path / f"run.{ending}", tmp_path / "done"
    with grow("pieces", whole[ending], path, done):
        source = mdreel.trajectory.follow(path, stop_file=done, notify=notify)
        followed = rmsd(atoms, source, backend=backend)
    assert len(followed) == N_FRAMES
    np.testing.assert_array_equal(followed, rmsd(atoms, whole[ending], n_workers=2, n_parts=7))
    assert source.n_frames == N_FRAMES
    np.testing.assert_array_equal(source.times(), open_trajectory(whole[ending]).times())


@pytest.mark.parametrize("ending", ["xtc", "dcd"])
@pytest.mark.parametrize("window", [{"start": 5}, {"step": 7}, {"start": 3, "stop": 1001, "step": 50}, {"stop": 9999}])
def test_follow_obeys_start_stop_and_step(
    whole: dict[str, Path], atoms: Any, ending: str, window: dict[str, int]
) -> None:
    followed = rmsd(atoms, mdreel.trajectory.follow(whole[ending], idle=0.05), **window)
    np.testing.assert_array_equal(followed, rmsd(atoms, whole[ending], **window))


def test_follow_ends_with_the_number_of_frames(whole: dict[str, Path], atoms: Any) -> None:
    for _ in range(2):  # the second time with an index that has more of them
        followed = rmsd(atoms, mdreel.trajectory.follow(whole["xtc"], n_frames=1234))
        np.testing.assert_array_equal(followed, rmsd(atoms, whole["xtc"], stop=1234))
        assert rmsd(atoms, whole["xtc"]).shape == (N_FRAMES, 3)


def test_follow_ends_with_the_process(whole: dict[str, Path], atoms: Any, sleeper: "subprocess.Popen[bytes]") -> None:
    source = mdreel.trajectory.follow(whole["trr"], process=sleeper.pid)
    read_frames(source, N_FRAMES - 1)
    assert sleeper.stdin is not None
    sleeper.stdin.close()
    assert len(rmsd(atoms, source)) == N_FRAMES


def test_follow_waits_for_a_file_that_is_not_there_yet(tmp_path: Path, atoms: Any, whole: dict[str, Path]) -> None:
    path = tmp_path / "late.dcd"
    with grow("pieces", whole["dcd"], path, tmp_path / "done"):
        assert not path.exists()  # it takes longer to start Python than to come here
        assert len(rmsd(atoms, mdreel.trajectory.follow(path, stop_file=tmp_path / "done"))) == N_FRAMES


def test_follow_reads_frames_that_come_later(tmp_path: Path, few: tuple[bytes, list[int]], atoms: Any) -> None:
    content, ends = few
    path = tmp_path / "run.xtc"
    path.write_bytes(content[: ends[2] + 50])
    source = mdreel.trajectory.follow(path, stop_file=tmp_path / "done")
    np.testing.assert_allclose(read_frames(source, 2), 10 * positions(2), atol=0.006)
    assert source.n_frames == 3
    with path.open("ab") as file:
        file.write(content[ends[2] + 50 :])
    np.testing.assert_allclose(read_frames(source, 7), 10 * positions(7), atol=0.006)
    (tmp_path / "done").touch()
    with pytest.raises(FrameIndexError, match="frame 8 does not exist: the trajectory has 8 frames"):
        read_frames(source, 8)
    with pytest.raises(FrameIndexError, match="no frame is left: the trajectory has ended with 8 frames"):
        rmsd(atoms, source, start=8)


def test_follow_takes_zeros_for_what_is_not_shown_yet(tmp_path: Path, few: tuple[bytes, list[int]]) -> None:
    content, ends = few
    path = tmp_path / "run.xtc"
    path.write_bytes(content[: ends[2]] + bytes(len(content) - ends[2]))
    source = mdreel.trajectory.follow(path, stop_file=tmp_path / "done")
    read_frames(source, 2)
    assert source.n_frames == 3
    with path.open("r+b") as file:
        file.seek(ends[2])
        file.write(content[ends[2] :])
    np.testing.assert_allclose(read_frames(source, 7), 10 * positions(7), atol=0.006)


def test_follow_names_frame_and_byte_of_what_is_no_frame(tmp_path: Path, few: tuple[bytes, list[int]]) -> None:
    content, ends = few
    path = tmp_path / "run.xtc"
    path.write_bytes(content[: ends[2]] + b"no frame" * 20)
    source = mdreel.trajectory.follow(path, stop_file=tmp_path / "done")
    with pytest.raises(FormatError, match=f"run.xtc, frame 3, byte {ends[2]}: expected the magic number"):
        read_frames(source, 3)
    read_frames(source, 2)


@pytest.mark.parametrize("end", ["stop_file", "idle"])
def test_follow_refuses_a_torn_end(tmp_path: Path, few: tuple[bytes, list[int]], atoms: Any, end: str) -> None:
    content, ends = few
    path, done = tmp_path / "run.xtc", tmp_path / "done"
    path.write_bytes(content[:-1])
    done.touch()
    source = (
        mdreel.trajectory.follow(path, stop_file=done)
        if end == "stop_file"
        else mdreel.trajectory.follow(path, idle=0.05)
    )
    with pytest.raises(
        FormatError, match=f"frame 7, byte {ends[6]}: the last frame is torn.*7 whole frames come before"
    ):
        rmsd(atoms, source)
    with pytest.raises(FormatError, match="torn"):
        source.check_end()


def test_follow_refuses_a_file_that_was_cut(tmp_path: Path, few: tuple[bytes, list[int]]) -> None:
    content, ends = few
    path = tmp_path / "run.xtc"
    path.write_bytes(content)
    source = mdreel.trajectory.follow(path, stop_file=tmp_path / "done")
    read_frames(source, 7)
    with path.open("r+b") as file:
        file.truncate(ends[3])
    with pytest.raises(FormatError, match=f"byte {ends[3]}: the file was cut: it had 8 whole frames"):
        read_frames(source, 8)


def test_follow_bears_a_cut_behind_the_frames_that_came(tmp_path: Path, few: tuple[bytes, list[int]]) -> None:
    content, ends = few
    path = tmp_path / "run.xtc"
    path.write_bytes(content[: ends[4] + 99])
    source = mdreel.trajectory.follow(path, stop_file=tmp_path / "done")
    read_frames(source, 4)
    with path.open("r+b") as file:
        file.truncate(ends[4])
        file.seek(ends[4])
        file.write(content[ends[4] :])
    np.testing.assert_allclose(read_frames(source, 7), 10 * positions(7), atol=0.006)


@pytest.mark.parametrize(("change", "what"), [("remove", "removed"), ("replace", "replaced by another")])
def test_follow_refuses_a_file_that_was_lost(
    tmp_path: Path, few: tuple[bytes, list[int]], change: str, what: str
) -> None:
    path = tmp_path / "run.xtc"
    path.write_bytes(few[0])
    source = mdreel.trajectory.follow(path, stop_file=tmp_path / "done")
    read_frames(source, 7)
    if change == "remove":
        path.unlink()
    else:
        (tmp_path / "new").write_bytes(few[0])
        (tmp_path / "new").rename(path)
    with pytest.raises(StreamError, match=f"run.xtc: the file was {what} while it was followed; 8 frames had come"):
        read_frames(source, 8)


def test_follow_refuses_fewer_frames_than_expected(tmp_path: Path, whole: dict[str, Path], atoms: Any) -> None:
    source = mdreel.trajectory.follow(whole["xtc"], n_frames=N_FRAMES + 1, idle=0.05)
    with pytest.raises(StreamError, match=f"{N_FRAMES + 1} frames were expected, but only {N_FRAMES} came"):
        rmsd(atoms, source)


def test_follow_needs_an_end_and_a_first_frame(tmp_path: Path, whole: dict[str, Path]) -> None:
    missing, done = tmp_path / "missing.xtc", tmp_path / "done"
    with pytest.raises(MismatchError, match="never end"):
        mdreel.trajectory.follow(whole["xtc"])
    with pytest.raises(MismatchError, match="idle must be a time in seconds"):
        mdreel.trajectory.follow(whole["xtc"], idle=-1)
    with pytest.raises(StreamTimeoutError, match=r"no frame came within 0.05 s"):
        mdreel.trajectory.follow(missing, stop_file=done, timeout=0.05)
    with pytest.raises(FileNotFoundError, match="missing"):
        mdreel.trajectory.follow(missing, idle=0.05)
    done.touch()
    (tmp_path / "torn.xtc").write_bytes(whole["xtc"].read_bytes()[:100])
    with pytest.raises(FormatError, match="torn"):
        mdreel.trajectory.follow(tmp_path / "torn.xtc", stop_file=done)
    with pytest.raises(FormatError, match="expected a trajectory"):
        mdreel.trajectory.follow(Path(__file__), stop_file=tmp_path / "never")
    with pytest.raises(IsADirectoryError):
        mdreel.trajectory.follow(tmp_path, stop_file=done)


def test_follow_refuses_what_needs_the_number_of_frames(tmp_path: Path, whole: dict[str, Path], atoms: Any) -> None:
    source = mdreel.trajectory.follow(whole["xtc"], idle=0.05)
    for window in ({"frames": [1, 2]}, {"start": -5}, {"stop": -1}, {"step": -1}):
        with pytest.raises(UnsupportedError, match="need the number of frames, which is unknown"):
            rmsd(atoms, source, **window)
    with pytest.raises(UnsupportedError, match="cannot be cut into 3 blocks"):
        rmsd(atoms, source, n_parts=3)
    with pytest.raises(UnsupportedError, match="conversions need the number of frames"):
        convert(source, tmp_path / "out.dcd")
    with pytest.raises(UnsupportedError, match="splits need the number of frames"):
        split(source, tmp_path / "out.dcd", n_parts=2)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UnsupportedError, match="still grows"):
        rmsd(atoms, source, on_error="skip")


@pytest.mark.parametrize("waiting", ["first frame", "frame", "threads", "serial"])
def test_follow_stops_waiting_when_a_signal_handler_raises(
    tmp_path: Path, whole: dict[str, Path], atoms: Any, waiting: str
) -> None:
    class EnoughError(Exception):
        pass

    def ring(*_: object) -> None:
        raise EnoughError

    never = tmp_path / "never"
    source = mdreel.trajectory.follow(whole["xtc"], stop_file=never)
    actions: dict[str, Callable[[], object]] = {
        "first frame": lambda: mdreel.trajectory.follow(tmp_path / "missing.xtc", stop_file=never),
        "frame": lambda: read_frames(source, N_FRAMES),
        "threads": lambda: rmsd(atoms, source),
        "serial": lambda: rmsd(atoms, source, backend="serial"),
    }
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(EnoughError):
            actions[waiting]()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_follow_survives_pickling_and_keeps_its_index(whole: dict[str, Path], atoms: Any) -> None:
    assert not open_trajectory(whole["xtc"]).is_located
    source = pickle.loads(pickle.dumps(mdreel.trajectory.follow(whole["xtc"], idle=0.05)))
    assert len(rmsd(atoms, source)) == N_FRAMES
    assert open_trajectory(whole["xtc"]).is_located
    assert mdreel.trajectory.follow(whole["xtc"], idle=0.05).n_frames == N_FRAMES  # nobody has looked yet
