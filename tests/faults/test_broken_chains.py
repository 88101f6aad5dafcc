"""XTC and TRR whose headers are destroyed, torn, or not where they should be: frames behind the damage are found."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from damaged_files import N_FRAMES, Sound, frame_by_frame, write_sound
from mdreel._core import FrameSet, Source
from mdreel.errors import DamagedFrameWarning, FormatError
from mdreel.trajectory.check import check
from mdreel.trajectory.concat import concat
from mdreel.trajectory.convert import convert
from mdreel.trajectory.open import open as open_trajectory


@pytest.fixture(params=["xtc", "trr"])
def sound(request: pytest.FixtureRequest, tmp_path: Path) -> Sound:
    return write_sound(tmp_path, request.param)


def skipping(path: Path | list[Path]) -> Source:
    return open_trajectory(path).with_on_error("skip")


def expected(sound: Sound, *lost: int) -> dict[int, bytes]:
    return {k: bits for k, bits in frame_by_frame(open_trajectory(sound.path)).items() if k not in lost}


def test_header_that_is_destroyed_is_one_gap(sound: Sound) -> None:
    start, _ = sound.ranges[4]
    source = skipping(sound.with_bytes(start, bytes(40)))
    assert frame_by_frame(source) == expected(sound, 4)
    # Its time is guessed, so that windows of time hold it.
    assert source.times().tolist() == list(range(N_FRAMES))
    with pytest.raises(
        FormatError, match=f"frame 4, byte {start}: .*next frame was found at byte {sound.ranges[5][0]}"
    ):
        source.read(FrameSet.range(4, 1, 1), np.zeros(1, np.uint32))


def test_neighbouring_headers_that_are_destroyed_are_one_gap(sound: Sound) -> None:
    (first, _), (second, _) = sound.ranges[4:6]
    content = bytearray(sound.content)
    content[first : first + 40] = content[second : second + 40] = bytes(40)
    whole = frame_by_frame(skipping(sound.written(bytes(content))))
    frames = expected(sound, 4, 5)
    assert list(whole) == [0, 1, 2, 3, 5, 6, 7]
    assert list(whole.values()) == list(frames.values())


def test_whole_frame_between_destroyed_headers_is_found(sound: Sound) -> None:
    content = bytearray(sound.content)
    for frame in (3, 5):
        start = sound.ranges[frame][0]
        content[start : start + 40] = bytes(40)
    assert frame_by_frame(skipping(sound.written(bytes(content)))) == expected(sound, 3, 5)


@pytest.mark.parametrize("lost", [1, 2, 3, 5, 50])
def test_bytes_that_are_missing_cost_one_frame(sound: Sound, lost: int) -> None:
    start, _ = sound.ranges[4]
    path = sound.written(sound.content[: start + 120] + sound.content[start + 120 + lost :])
    assert frame_by_frame(skipping(path)) == expected(sound, 4)


def test_file_that_was_appended_to_a_torn_one_is_read_on(sound: Sound) -> None:
    torn = sound.content[: sound.ranges[6][0] + 77]
    whole = list(frame_by_frame(skipping(sound.written(torn + sound.content))).values())
    frames = list(expected(sound).values())
    assert whole == frames[:6] + frames


@pytest.mark.parametrize("cut", [1, 4, 50, 130])
def test_torn_end_is_reported_and_the_frames_before_it_are_taken(sound: Sound, cut: int, tmp_path: Path) -> None:
    start = sound.ranges[8][0]
    path = sound.written(sound.content[: start + cut])
    for on_error in ("stop", "skip"):
        with pytest.warns(DamagedFrameWarning, match="torn"):
            written = convert(path, tmp_path / f"{on_error}.trr", on_error=on_error)
        assert written.n_frames == 8
        [damage] = written.damage
        assert damage.frame is None
        assert damage.byte == start
        assert f"frame 8, byte {start}: the last frame is torn" in damage.message
        assert open_trajectory(written.paths[0]).n_frames == 8


Edit = tuple[int, int, bytes]


def shares_zeros_with_the_next(content: bytes, sound: Sound, frame: int) -> bool:
    """Whether the frame's last bytes, all zero, are also the first of another frame, which is then the one taken.

    An edit that takes the padding of a frame leaves it whole: the next begins with zeros, as its magic number does.
    """
    start, end = sound.ranges[frame]
    bits = sound.content[start:end]
    starts = {content.find(sound.content[a:b]) for a, b in sound.ranges}
    end = content.index(bits) + len(bits)
    return any(end - n in starts and not any(bits[-n:]) for n in (1, 2))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(st.tuples(st.integers(100, 3000), st.integers(0, 300), st.binary(max_size=40)), max_size=6))
@example(edits=[(1313, 1, b"")])  # padding of a frame of the XTC
def test_file_that_was_edited_anywhere_gives_what_is_whole(sound: Sound, edits: list[Edit]) -> None:
    content = sound.content
    for start, n_cut, inserted in edits:
        content = content[:start] + inserted + content[start + n_cut :]
    assume(len(content) > 600)  # the first frame may be damaged, but must have its header
    source = skipping(sound.written(content))
    n_frames = source.n_frames
    whole = frame_by_frame(source)
    # All of the file that is not in frames is damage that is named.
    report = check(sound.path.with_name(f"damaged{sound.path.suffix}"))
    damaged = [one.frame for one in report.defects if one.kind == "damaged frame"]
    assert sorted([*whole, *damaged]) == list(range(n_frames))
    # Frames whose bytes are all there, behind the first, are found wherever they are.
    frames = expected(sound)
    found = list(whole.values())
    for k, (start, end) in enumerate(sound.ranges[1:], start=1):
        if sound.content[start:end] in content:
            assert frames[k] in found or shares_zeros_with_the_next(content, sound, k)


def test_index_of_a_damaged_file_is_not_kept(sound: Sound) -> None:
    path = sound.with_bytes(sound.ranges[4][0], bytes(40))
    assert skipping(path).n_frames == N_FRAMES
    plain = open_trajectory(path)
    assert not plain.is_located
    assert plain.n_frames == 4
    with pytest.raises(FormatError, match="frame 4"):
        plain.check_end()
    # What is kept of the frames before the damage serves both.
    assert open_trajectory(path).n_frames == 4
    assert frame_by_frame(skipping(path)) == expected(sound, 4)


@pytest.mark.parametrize("kind", ["xtc", "trr"])
def test_index_of_before_the_damage_gives_the_same_frames(tmp_path: Path, kind: str) -> None:
    sound = write_sound(tmp_path, kind, n_atoms=400)  # an index knows the ends of its file
    path = sound.written(sound.content)
    located = open_trajectory(path)
    assert located.n_frames == N_FRAMES
    times = path.stat()
    sound.with_bytes(sound.ranges[4][0], bytes(40))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert frame_by_frame(located.with_on_error("skip")) == expected(sound, 4)
    # Who opens the file from now on sees that it has changed.
    assert not open_trajectory(path).is_located
    assert frame_by_frame(skipping(path)) == expected(sound, 4)


def test_chain_goes_on_behind_a_torn_segment_or_stops_there(sound: Sound, tmp_path: Path) -> None:
    torn = sound.written(sound.content[:-5])
    output = tmp_path / f"all{sound.path.suffix}"
    with pytest.warns(DamagedFrameWarning):
        skipped = concat([torn, sound.path], output, on_error="skip")
    assert skipped.n_frames == 17
    with pytest.warns(DamagedFrameWarning, match="the trajectory ends before damage"):
        stopped = concat([torn, sound.path], output, on_error="stop", force=True)
    assert stopped.n_frames == 8
    assert stopped.damage == skipped.damage
    assert frame_by_frame(open_trajectory(output)) == expected(sound, 8)
    with pytest.raises(FormatError, match="torn"):
        concat([torn, sound.path], output, force=True)


def test_pickled_source_still_skips(sound: Sound) -> None:
    source = skipping(sound.with_bytes(sound.ranges[4][0], bytes(40)))
    again = pickle.loads(pickle.dumps(source))
    assert again.on_error == "skip"
    assert frame_by_frame(again) == expected(sound, 4)
