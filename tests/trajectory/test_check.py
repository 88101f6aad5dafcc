"""Checks: each kind of defect is found, at its frame and byte, and a sound file has none."""

from pathlib import Path

import numpy as np
import pytest
from MDAnalysis.lib.formats.libmdaxdr import TRRFile

from damaged_files import KINDS, N_ATOMS, N_FRAMES, Sound, frame_by_frame, write_sound
from mdreel.trajectory.check import Report, check
from mdreel.trajectory.open import open as open_trajectory


def found(report: Report) -> list[tuple[str, int | None, int | None]]:
    return [(one.kind, one.frame, one.byte) for one in report.defects]


@pytest.mark.parametrize("kind", KINDS)
def test_check_finds_nothing_in_a_sound_file(tmp_path: Path, kind: str) -> None:
    sound = write_sound(tmp_path, kind)
    report = check(sound.path, n_atoms=N_ATOMS)
    assert report.defects == report.notes == ()
    assert (report.n_frames, report.n_atoms, report.is_sound) == (N_FRAMES, N_ATOMS, True)


@pytest.mark.parametrize("kind", ["xtc", "trr", "dcd", "h5md"])
def test_check_reports_every_damaged_frame(tmp_path: Path, kind: str) -> None:
    sound = write_sound(tmp_path, kind)
    content = bytearray(sound.content)
    for frame in (2, 5, 6):
        start, end = sound.ranges[frame]
        content[start : end if kind == "h5md" else start + 24] = bytes(end - start if kind == "h5md" else 24)
    path = sound.written(bytes(content))
    whole = frame_by_frame(open_trajectory(path).with_on_error("skip"))
    for n_workers in (1, 3):
        report = check(path, n_workers=n_workers)
        damaged = [one.frame for one in report.defects if one.kind == "damaged frame"]
        n_frames = open_trajectory(path).with_on_error("skip").n_frames
        assert damaged == sorted(set(range(n_frames)) - set(whole)) != []
        assert report.n_frames == len(whole)
        assert report.defects[0].byte == sound.ranges[2][0]


@pytest.mark.parametrize("kind", ["xtc", "trr", "dcd", "nc"])
def test_check_reports_a_torn_end(tmp_path: Path, kind: str) -> None:
    sound = write_sound(tmp_path, kind)
    report = check(sound.written(sound.content[:-7]))
    assert ("torn end", None, sound.ranges[8][0]) in found(report)
    assert report.n_frames == 8
    # The headers of DCD and NetCDF count frames.
    assert {one.kind for one in report.defects} == {"torn end"} | ({"frame count"} if kind in ("dcd", "nc") else set())


def test_check_reports_bytes_behind_the_last_frame_that_is_counted(tmp_path: Path) -> None:
    sound = write_sound(tmp_path, "dcd")
    assert found(check(sound.written(sound.content + bytes(5)))) == [("trailing bytes", None, len(sound.content))]


@pytest.mark.parametrize("counted", [0, 4, 400])
def test_check_reports_a_header_that_counts_wrong(tmp_path: Path, counted: int) -> None:
    sound = write_sound(tmp_path, "dcd")
    report = check(sound.with_bytes(8, counted.to_bytes(4, "little")))
    assert found(report) == [("frame count", None, None)]
    assert report.defects[0].message == f"the header counts {counted} frames, the file has {N_FRAMES}"


def write_trr(path: Path, times: list[float], boxes: list[float], wrong: dict[int, tuple[int, float]]) -> Sound:
    positions = np.ones((N_ATOMS, 3), np.float32)
    with TRRFile(str(path), "w") as file:
        for i, (time, side) in enumerate(zip(times, boxes, strict=True)):
            frame = positions.copy()
            if i in wrong:
                atom, value = wrong[i]
                frame[atom:, 1] = value
            file.write(frame, frame, None, np.eye(3, dtype=np.float32) * side, i, time, 0.0, N_ATOMS)
    with TRRFile(str(path)) as file:
        starts = [int(offset) for offset in file.offsets]
    return Sound(path, path.read_bytes(), list(zip(starts, [*starts[1:], path.stat().st_size], strict=True)))


def test_check_reports_what_whole_frames_say(tmp_path: Path) -> None:
    times = [0.0, 1.0, 2.0, 2.0, 3.0, 2.5, 3.5, 9.5, 10.5]
    sound = write_trr(tmp_path / "a.trr", times, [3, 3, 0, 3, 3, -3, 3, 3, 3], {4: (19, np.nan), 6: (0, np.inf)})
    report = check(sound.path)
    start = [begin for begin, _ in sound.ranges]
    assert found(report) == [
        ("no cell", 2, start[2]),
        ("time", 3, start[3]),
        ("not finite", 4, start[4]),
        ("not finite", 4, start[4]),
        ("time", 5, start[5]),
        ("not finite", 6, start[6]),
        ("not finite", 6, start[6]),
    ]
    messages = [one.message for one in report.defects]
    assert messages[0] == "there is no cell, but 8 other frames have one"
    assert messages[1] == "the time repeats: 2 ps after 2 ps in frame 2"
    assert messages[2] == "positions of 2 of 21 atoms are not finite, the first is atom 19: [10.0, NaN, 10.0]"
    assert messages[3].startswith("velocities of 2 of 21 atoms")
    assert messages[4] == "the time goes back: 2.5 ps after 3 ps in frame 4"
    assert [(note.kind, note.frame) for note in report.notes] == [("interval", 7)]


def test_check_reports_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "a.xtc"
    path.write_bytes(b"")
    report = check(path)
    assert found(report) == [("file", None, None)]
    assert "the file is empty" in report.defects[0].message
    with pytest.raises(FileNotFoundError):
        check(tmp_path / "missing.xtc")


def test_check_reports_another_number_of_atoms(tmp_path: Path) -> None:
    report = check(write_sound(tmp_path, "xtc").path, n_atoms=20)
    assert report.defects[0].message == "expected 20 atoms as in the topology, got 21"
    assert found(report) == [("atoms", None, None)]


def test_check_reports_all_frames_when_none_is_whole(tmp_path: Path) -> None:
    sound = write_sound(tmp_path, "h5md")
    content = bytearray(sound.content)
    for start, end in sound.ranges:
        content[start:end] = bytes(end - start)
    report = check(sound.written(bytes(content)))
    assert [one.frame for one in report.defects] == list(range(N_FRAMES))
    assert report.n_frames == 0
