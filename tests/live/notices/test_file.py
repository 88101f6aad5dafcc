"""Tests of notice files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from full_disk import full_disk
from mdreel.analysis.base.observer import ResultsView
from mdreel.errors import FormatError
from mdreel.live.notices.file import NoticeFile
from mdreel.live.notices.notice_board import _PublishedNotice
from mdreel.live.notices.process import Process
from mdreel.live.notices.reader import NoticeReader, list_notices
from mdreel.results.column import Column
from told_notices import Series, Told


def check(told: Told, n_frames: int) -> None:
    """Check that a notice contains every n-th frame and the last one."""
    notice = told.reader.read()
    assert notice is not None
    assert notice.n_frames == n_frames
    assert notice.last is not None
    assert notice.last[0] == n_frames - 1
    stride = int(notice.rows[1][0]) if len(notice.rows) > 1 else 1
    frames = np.arange(0, n_frames, stride)
    np.testing.assert_array_equal(notice.rows.column(0), frames)
    np.testing.assert_array_equal(notice.rows.column(2), np.sin(0.01 * frames))
    assert len(notice.rows) <= 2000
    fresh = NoticeReader(told.path).read()
    assert fresh is not None
    np.testing.assert_array_equal(fresh.rows, notice.rows)


def test_notice_has_what_was_said_whoever_reads_it_when(channel: Path) -> None:
    told = Told(channel, Series())
    notice = told.reader.read()
    assert notice is not None
    assert (notice.name, notice.state, notice.n_frames, notice.columns) == ("RMSD", "running", 0, ())
    assert notice.process == Process.current()
    for n_new in (1, 2, 300, 0, 1800, 5000, 1):
        told.say(n_frames=n_new)
        check(told, told.series.n_frames)
    notice = told.reader.read()
    assert notice is not None
    assert notice.columns == (("frame", ""), ("time", "ps"), ("value_0", "Å"))
    assert notice.idle == 0.5
    assert notice.movement is None
    told.say("finished", has_results=False)
    notice = told.reader.read()
    assert notice is not None
    assert notice.state == "finished"
    np.testing.assert_array_equal(notice.curve[-1], notice.last)


def test_file_stays_small_however_long_the_run(channel: Path) -> None:
    told = Told(channel, Series(30))
    most = 0
    for _ in range(600):
        told.say(n_frames=17)
        most = max(most, told.path.stat().st_size)
    notice = told.reader.read()
    assert notice is not None
    assert len(notice.columns) == 16
    assert notice.n_columns == 32
    assert most < 2_000_000
    assert sorted(path.name for path in told.path.parent.iterdir()) == [told.path.name]


def test_half_a_line_is_not_read_until_it_is_whole(channel: Path) -> None:
    told = Told(channel, Series())
    told.say(n_frames=3)
    whole = told.path.read_bytes()
    line = (
        json.dumps({"state": "running", "n_frames": 4, "rows": [[3, 1.5, 7.0]], "last": [3, 1.5, 7.0]}).encode() + b"\n"
    )
    for end in range(len(line) + 1):
        told.path.write_bytes(whole + line[:end])
        for reader in (told.reader, NoticeReader(told.path)):
            notice = reader.read()
            assert notice is not None
            assert notice.n_frames == (4 if end == len(line) else 3)
            assert len(notice.rows) == notice.n_frames


@pytest.mark.parametrize(
    "content",
    [
        b"{}\n",
        b"no json\n",
        b"[1, 2]\n",
        b'{"generation":1,"name":"a","process":"x","process_start":0,"columns":[],"n_columns":0,"is_of_frames":true}\n',
        b'{"generation":1,"name":"a","process":1,"process_start":0,"columns":[["a"]],"n_columns":0,"is_of_frames":true}\n',
    ],
)
def test_damaged_notice_is_an_error_that_says_where(channel: Path, content: bytes) -> None:
    path = channel / "damaged.jsonl"
    path.write_bytes(content)
    with pytest.raises(FormatError, match="damaged"):
        NoticeReader(path).read()


@pytest.mark.parametrize(
    "line",
    [
        {"state": "running"},
        {"state": "asleep", "n_frames": 3},
        {"state": "running", "n_frames": 3, "rows": [[1, 2]]},
        {"state": "running", "n_frames": 3, "rows": [[1, 2, 3, 4, 5, 6]]},
        {"state": "running", "n_frames": 3, "rows": [[1, 2, 3], [4]]},
        {"state": "running", "n_frames": 3, "rows": 7},
        {"state": "running", "n_frames": 3, "rows": [["a", 2, 3]]},
        {"state": "running", "n_frames": 3, "seconds": [1]},
        [],
        "running",
    ],
)
def test_damaged_line_is_an_error_each_time(channel: Path, line: object) -> None:
    told = Told(channel, Series())
    told.say(n_frames=3)
    with told.path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    for _ in range(2):
        with pytest.raises(FormatError, match="invalid line of a notice"):
            told.reader.read()


def test_what_is_no_number_is_a_gap(channel: Path) -> None:
    values = np.array([1.0, np.nan, np.inf])
    columns = [Column("frame", "", np.arange(3)), Column("time", "ps", np.arange(3.0)), Column("a", "", values)]
    told = _PublishedNotice(NoticeFile(channel, "own"), ResultsView("own", lambda: columns))
    told.say(3, {}, "running", None, has_results=True)
    (path,) = list_notices(channel)
    assert b"NaN" not in path.read_bytes()
    notice = NoticeReader(path).read()
    assert notice is not None
    np.testing.assert_array_equal(notice.rows.column(2), [1.0, np.nan, np.nan])


def test_curve_is_replaced_as_a_whole_and_tables_of_other_things_are_left_out(channel: Path) -> None:
    radii, counts = np.linspace(0.1, 15.0, 5000), np.zeros(5000)
    told = _PublishedNotice(
        NoticeFile(channel, "rdf"), ResultsView("rdf", lambda: [Column("r", "Å", radii), Column("rdf", "", counts)])
    )
    pairs = np.array([0, 0, 1, 1])
    matrix = _PublishedNotice(
        NoticeFile(channel, "matrix"),
        ResultsView("matrix", lambda: [Column("frame", "", pairs), Column("other", "", pairs)]),
    )
    for height in (1.0, 2.0):
        counts = np.full(5000, height)
        for one in (told, matrix):
            one.say(7, {}, "running", None, has_results=True)
        of_matrix, of_curve = (NoticeReader(path).read() for path in list_notices(channel))
        assert of_curve is not None
        assert of_matrix is not None
        assert not of_curve.is_of_frames
        assert len(of_curve.curve) == -(-5000 // 3)
        assert of_curve.curve.column(1) == [height] * len(of_curve.curve)
        assert (of_matrix.n_frames, len(of_matrix.rows)) == (7, 0)


def test_full_disk_is_no_matter_and_the_notice_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with full_disk(tmp_path, 64) as place:
        channel = place / "run1"
        channel.mkdir(mode=0o700)
        told = Told(channel, Series())
        told.say(n_frames=10)
        if os.geteuid() == 0:
            ballast = place / "ballast"
            with ballast.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
                while True:
                    file.write(bytes(4096))
            for _ in range(400):
                told.say(n_frames=5)
            notice = NoticeReader(told.path).read()
            assert notice is not None
            assert notice.n_frames < told.series.n_frames
            ballast.unlink()
        told.say(n_frames=1)
        check(told, told.series.n_frames)


def test_removed_channel_is_no_matter_and_does_not_come_back(channel: Path) -> None:
    told = Told(channel, Series())
    told.say(n_frames=10)
    for path in (told.path, told.path.parent, channel):
        path.unlink() if path.is_file() else path.rmdir()
    told.say(n_frames=4000)
    told.say("finished")
    assert not channel.exists()


def test_other_users_enter_nothing(channel: Path) -> None:
    told = Told(channel, Series())
    assert told.path.stat().st_mode & 0o777 == 0o600
    assert told.path.parent.stat().st_mode & 0o777 == 0o700


DYING = """
import os, sys
from pathlib import Path
from mdreel.analysis.base.observer import ResultsView
from mdreel.live.notices.notice_board import _PublishedNotice
from mdreel.live.notices.file import NoticeFile
told = _PublishedNotice(NoticeFile(Path(sys.argv[1]), sys.argv[2]), ResultsView("a", list))
told.say(3, {}, "running", None, has_results=False)
os._exit(9)
"""


def die(channel: Path, name: str) -> None:
    """Start a process that writes a notice and dies."""
    assert subprocess.run([sys.executable, "-c", DYING, channel, name]).returncode == 9


def test_notice_of_a_dead_process_is_dead_and_makes_room_for_the_next(channel: Path) -> None:
    die(channel, "RMSD")
    (path,) = list_notices(channel)
    notice = NoticeReader(path).read()
    assert notice is not None
    assert notice.state == "dead"
    told = Told(channel, Series())
    assert list_notices(channel) == [told.path]
    other = _PublishedNotice(NoticeFile(channel, "RMSD"), ResultsView("RMSD", list))
    other.say(0, {}, "running", None, has_results=False)
    assert [path.name for path in list_notices(channel)] == [f"rmsd-{os.getpid()}-2.jsonl", f"rmsd-{os.getpid()}.jsonl"]
    told.say("finished")
    Told(channel, Series(), "Rg")
    # The one that has ended stays until the same analysis is run again.
    assert told.path in list_notices(channel)
    third = _PublishedNotice(NoticeFile(channel, "RMSD"), ResultsView("RMSD", list))
    third.say(0, {}, "running", None, has_results=False)
    assert len(list_notices(channel)) == 3


def test_process_that_got_the_number_of_another_is_another() -> None:
    own = Process.current()
    assert own.is_alive
    assert not Process(own.number, own.start + 1).is_alive
    assert not Process(2**22 + 1, own.start).is_alive


def test_few_notices_of_the_dead_are_kept(channel: Path) -> None:
    for number in range(40):
        folder = channel / "analyses"
        folder.mkdir(exist_ok=True)
        head = {"generation": 1, "name": f"a{number}", "process": 2**22 + 1, "process_start": 1}
        (folder / f"a{number}-1.jsonl").write_text(json.dumps(head) + "\n")
        os.utime(folder / f"a{number}-1.jsonl", (number, number))
    told = Told(channel, Series())
    names = {path.name for path in list_notices(channel)}
    assert names == {told.path.name, *(f"a{number}-1.jsonl" for number in range(8, 40))}
