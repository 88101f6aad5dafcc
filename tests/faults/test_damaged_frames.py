"""One byte of a file changed, anywhere: what is whole is read, and what is not is named, whoever reads it."""

import warnings
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest

import mdreel
import mdreel.errors
from damaged_files import KINDS, N_ATOMS, N_FRAMES, Sound, frame_by_frame, write_sound
from mdreel.errors import DamagedFrameWarning, FormatError
from mdreel.trajectory.open import open as open_trajectory

REFERENCE = np.random.default_rng(2).uniform(0, 20, (N_ATOMS, 3))


@pytest.fixture(scope="module", params=KINDS)
def sound(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sound:
    return write_sound(tmp_path_factory.mktemp("sound"), request.param)


def analyse(path: Path, on_error: str, **options: object) -> mdreel.RMSD:
    atoms = MDAnalysis.Universe.empty(N_ATOMS).atoms
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedFrameWarning)
        return mdreel.RMSD(atoms, REFERENCE, trajectory=path).run(on_error=on_error, **options)


def rows(analysis: mdreel.RMSD) -> list[tuple[float, ...]]:
    return [tuple(row) for row in analysis.results.rmsd.tolist()]


def is_chained(sound: Sound) -> bool:
    return sound.path.suffix in (".xtc", ".trr")


def places(sound: Sound) -> list[int]:
    """Bytes of headers, and some of the others; of the first frame none by which a file is known when it is opened."""
    first = sound.ranges[0] if sound.path.suffix == ".dcd" else (0, 0)
    near = [start + i for start, end in sound.ranges[1:] for i in range(min(100, end - start))]
    return sorted(
        {*near[::3], *(byte for start, end in sound.ranges for byte in range(start + 100, end, 11))} - {*range(*first)}
    )


def test_damage_of_one_byte_costs_no_other_frame(sound: Sound) -> None:
    whole = rows(analyse(sound.path, "raise"))
    assert len(whole) == N_FRAMES
    n_damaged = 0
    for byte in places(sound):
        path = sound.damaged(byte)
        frame = sound.frame_of(byte)
        skipped = analyse(path, "skip")
        left = rows(skipped)
        # Which frames these are is told by their values; all but the damaged one are there.
        values = [value for *_, value in left]
        others = [value for k, (*_, value) in enumerate(whole) if k != frame]
        assert [value for value in values if value in others] == others, byte
        # One that is not there is named. Behind a frame that says to be shorter than it is, the rest has a number, too.
        named = [one.frame for one in skipped.damage]
        assert len(named) >= N_FRAMES - len(left), byte
        numbers = sorted([int(number) for number, *_ in left] + [number for number in named if number is not None])
        assert numbers == list(range(len(numbers))), byte
        assert len(numbers) - N_FRAMES in ((-1, 0, 1) if is_chained(sound) else (0,)), byte
        n_damaged += len(named)
    # A changed byte of a coordinate shows where bytes are compressed only.
    assert (n_damaged > 10) == (sound.path.suffix != ".nc")


def test_skip_and_stop_give_what_reading_frame_by_frame_finds_whole(sound: Sound) -> None:
    for byte in places(sound)[::7]:
        path = sound.damaged(byte)
        source = open_trajectory(path).with_on_error("skip")
        whole = frame_by_frame(source)
        skipped = analyse(path, "skip")
        assert skipped.frames.tolist() == list(whole)
        first = min(set(range(source.n_frames)) - set(whole), default=source.n_frames)
        if first > 0:
            stopped = analyse(path, "stop")
            assert rows(stopped) == rows(skipped)[:first]
            assert stopped.damage == skipped.damage[:1]
        if not skipped.damage:
            assert rows(analyse(path, "raise")) == rows(skipped)
            continue
        for on_error in ["stop"] if first == 0 else []:
            with pytest.raises(FormatError):
                analyse(path, on_error)
        try:
            taken = analyse(path, "raise")
        except FormatError as raised:
            message = str(raised)
        else:
            # A pass that looks for no damage compares less of an XTC frame, and nothing that needs every atom.
            assert sound.path.suffix == ".xtc"
            assert all("header says" in one.message or "packed" in one.message for one in skipped.damage)
            assert set(rows(skipped)) < set(rows(taken))
            continue
        # A header that lies about the length of its frame shows when the next one is not where it should be.
        lengths = [first + 1] if is_chained(sound) else []
        assert any(f"frame {frame}, byte" in message for frame in [first, *lengths]), byte


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_damage_is_the_same_whoever_reads(sound: Sound, on_error: str) -> None:
    content = bytearray(sound.content)
    for frame in (3, 4, 7):
        start, end = sound.ranges[frame]
        content[start : start + 4] = b"\x5a\x5b\x5c\x5d"
        if sound.path.suffix == ".h5md":
            content[start:end] = bytes(end - start)
    path = sound.written(bytes(content))
    serial = analyse(path, on_error, backend="serial")
    if sound.path.suffix != ".nc":
        assert [one.frame for one in serial.damage] != []
    for n_workers in (1, 2, 3, 4):
        for n_parts in (None, 1, 2, 5, 9):
            other = analyse(path, on_error, n_workers=n_workers, n_parts=n_parts)
            assert rows(other) == rows(serial)
            assert other.damage == serial.damage


def test_skip_leaves_out_frames_in_any_order_and_warns_by_name(tmp_path: Path) -> None:
    sound = write_sound(tmp_path, "dcd")
    path = sound.with_bytes(sound.ranges[4][0], b"\1\2\3\4")
    atoms = MDAnalysis.Universe.empty(N_ATOMS).atoms
    with pytest.warns(DamagedFrameWarning, match="1 damaged, left out:\n.*frame 4, byte"):
        analysis = mdreel.RMSD(atoms, REFERENCE, trajectory=path).run(frames=[7, 4, 2, 4, 0], on_error="skip")
    assert analysis.frames.tolist() == [7, 2, 0]
    [damage] = analysis.damage
    assert (damage.frame, damage.path, damage.byte) == (4, path, sound.ranges[4][0])
    assert analysis.n_frames == 3


def test_stop_ends_before_the_first_damaged_frame_asked_for(tmp_path: Path) -> None:
    sound = write_sound(tmp_path, "dcd")
    path = sound.with_bytes(sound.ranges[4][0], b"\1\2\3\4")
    assert analyse(path, "stop", start=5).frames.tolist() == [5, 6, 7, 8]
    assert analyse(path, "stop", step=2).frames.tolist() == [0, 2]
    assert analyse(path, "stop", frames=[7, 4, 2]).frames.tolist() == [7]
    with pytest.raises(FormatError, match="frame 4"):
        analyse(path, "stop", start=4)


def test_chunk_of_several_frames_costs_all_of_them(tmp_path: Path) -> None:
    import h5py

    from h5md_writer import write_h5md

    positions = np.random.default_rng(8).uniform(1, 20, (N_FRAMES, N_ATOMS, 3)).astype(np.float32)
    path = write_h5md(
        tmp_path / "a.h5md", {"position": positions}, layout={"chunks": (4, 21, 3), "compression": "gzip"}
    )
    with h5py.File(path) as file:
        chunk = file["particles/atoms/position/value"].id.get_chunk_info(1)
    content = bytearray(path.read_bytes())
    content[chunk.byte_offset + 20 : chunk.byte_offset + 60] = bytes(40)
    path.write_bytes(bytes(content))
    skipped = analyse(path, "skip")
    assert skipped.frames.tolist() == [0, 1, 2, 3, 8]
    assert [(one.frame, one.byte) for one in skipped.damage] == [(k, chunk.byte_offset) for k in (4, 5, 6, 7)]


def test_coordinates_that_are_no_numbers_stay_an_error(tmp_path: Path) -> None:
    sound = write_sound(tmp_path, "trr")
    path = sound.with_bytes(sound.ranges[4][1] - 4, b"\x7f\xc0\0\0")
    for on_error in ("raise", "stop", "skip"):
        with pytest.raises(mdreel.errors.MismatchError, match="frame 4: atom 20"):
            analyse(path, on_error)


def test_choice_that_is_unknown_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mdreel.errors.UnsupportedError, match="known: raise, stop, skip"):
        analyse(write_sound(tmp_path, "xtc").path, "ignore")
