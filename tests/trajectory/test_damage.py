"""Damaged trajectories converted: what is whole is written, and nothing if nothing is."""

from pathlib import Path

import pytest

from damaged_files import N_FRAMES, write_sound
from mdreel.errors import DamagedFrameWarning, FormatError, UnsupportedError
from mdreel.trajectory.convert import convert
from mdreel.trajectory.open import open as open_trajectory


@pytest.mark.parametrize("ending", ["xtc", "trr", "dcd", "nc"])
@pytest.mark.parametrize("lost", [[0], [3], [0, 1, 8], [8]])
def test_convert_writes_what_is_whole(tmp_path: Path, ending: str, lost: list[int]) -> None:
    sound = write_sound(tmp_path, "h5md")
    content = bytearray(sound.content)
    for frame in lost:
        start, end = sound.ranges[frame]
        content[start:end] = bytes(end - start)
    path = sound.written(bytes(content))
    kept = [k for k in range(N_FRAMES) if k not in lost]
    with pytest.warns() as caught:
        written = convert(path, tmp_path / f"out.{ending}", on_error="skip")
    assert [one.frame for one in written.damage] == lost
    assert [warning.category for warning in caught].count(DamagedFrameWarning) == 1
    # A format of one interval cannot hold a gap in the middle, and says so.
    assert len(caught) == 1 + (ending == "dcd" and lost == [3])
    assert written.n_frames == len(kept)
    source = open_trajectory(written.paths[0])
    source.check_end()
    assert source.n_frames == len(kept)
    if lost == [3]:
        return
    assert source.times() == pytest.approx(kept, abs=1e-4)
    sound_ones = convert(sound.path, tmp_path / f"sound.{ending}", frames=kept, force=True)
    assert sound_ones.paths[0].read_bytes() == written.paths[0].read_bytes()


def test_convert_stops_before_damage_with_the_same_bytes_for_any_number_of_threads(tmp_path: Path) -> None:
    sound = write_sound(tmp_path, "xtc", n_frames=400, n_atoms=2000)
    content = bytearray(sound.content)
    for frame in (133, 250):
        start = sound.ranges[frame][0]
        content[start : start + 30] = bytes(30)
    path = sound.written(bytes(content))
    for on_error, frames in (("stop", 133), ("skip", 398)):
        outputs = set()
        for n_workers in (1, 2, 4):
            with pytest.warns(DamagedFrameWarning):
                written = convert(path, tmp_path / "out.xtc", on_error=on_error, n_workers=n_workers, force=True)
            assert written.n_frames == frames
            outputs.add(written.paths[0].read_bytes())
        assert len(outputs) == 1
        if on_error == "stop":
            assert outputs == {sound.content[: sound.ranges[133][0]]}


def test_convert_leaves_no_file_when_nothing_is_whole(tmp_path: Path) -> None:
    sound = write_sound(tmp_path, "h5md")
    content = bytearray(sound.content)
    for start, end in sound.ranges:
        content[start:end] = bytes(end - start)
    path = sound.written(bytes(content))
    for on_error in ("stop", "skip"):
        with pytest.raises(FormatError, match="frame 0"):
            convert(path, tmp_path / "out.xtc", on_error=on_error)
    assert not list(tmp_path.glob("out*"))


def test_convert_to_h5md_refuses_to_leave_frames_out(tmp_path: Path) -> None:
    sound = write_sound(tmp_path, "xtc")
    with pytest.raises(UnsupportedError, match="convert to another format first"):
        convert(sound.path, tmp_path / "out.h5md", on_error="skip")
    assert not (tmp_path / "out.h5md").exists()
