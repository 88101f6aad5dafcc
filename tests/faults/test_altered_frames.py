"""Frames whose bytes were altered: what a format says twice is compared, and what it says once is named in the docs."""

import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest

import mdreel
from damaged_files import KINDS, N_ATOMS, N_FRAMES, Sound, frame_by_frame, write_sound
from forked_python.command import forked_python
from mdreel._core import FrameSet
from mdreel.errors import DamagedFrameWarning, FormatError, MdreelError
from mdreel.trajectory.check import check
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.open_one import CORE_FORMATS, HDF5_FORMATS

ROOT = Path(__file__).parents[2]
DCD_RECORDS = (48, 4 * N_ATOMS, 4 * N_ATOMS, 4 * N_ATOMS)


@pytest.fixture(scope="module", params=KINDS)
def sound(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sound:
    return write_sound(tmp_path_factory.mktemp("sound"), request.param)


def said_twice(sound: Sound, frame: int) -> list[int]:
    """Return the bytes of a frame from which its format has more than one way to know."""
    start, end = sound.ranges[frame]
    match sound.path.suffix:
        case ".xtc":  # Both numbers of atoms, the extremes, the first small index, the number of bytes.
            return [start + i for i in (*range(8), *range(52, 56), *range(60, 92))]
        case ".trr":  # The beginning of a header, the sizes of sections, the number of atoms.
            return list(range(start, start + 68))
        case ".dcd":  # The markers on both sides of each record.
            markers, at = [], start
            for length in DCD_RECORDS:
                markers += [*range(at, at + 4), *range(at + 4 + length, at + 8 + length)]
                at += 8 + length
            assert at == end
            return markers
        case ".h5md":  # Compressed bytes with a checksum.
            return list(range(start, end))
        case _:
            return []


def altered_frames(sound: Sound, path: Path) -> list[bytes]:
    """Return the frames that can be read, but have coordinates that no frame of the sound file has."""
    try:
        source = open_trajectory(path, index="none").with_on_error("skip")
    except FormatError:
        return []
    return [frame for frame in frame_by_frame(source).values() if frame not in sound.frames]


def damage_of_three_kinds(sound: Sound, places: list[int], seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield files with one bit changed, a patch overwritten, and bytes inserted, at some of these places."""
    random, content = np.random.default_rng(seed), sound.content
    for _ in range(40):
        at = int(random.choice(places))
        yield "flip", content[:at] + bytes([content[at] ^ 1 << int(random.integers(8))]) + content[at + 1 :]
        noise = random.bytes(min(4, 1 + max(places) - at))
        yield "noise", content[:at] + noise + content[at + len(noise) :]
        yield "insertion", content[:at] + random.bytes(int(random.integers(1, 9))) + content[at:]


def test_what_a_format_says_twice_is_compared_in_every_format(sound: Sound) -> None:
    n_changed = 0
    for frame in (1, N_FRAMES // 2):
        places = said_twice(sound, frame)
        if not places:
            assert sound.path.suffix == ".nc"
            continue
        for kind, content in damage_of_three_kinds(sound, places, seed=frame):
            if content == sound.content:
                continue
            path = sound.written(content)
            assert altered_frames(sound, path) == [], (kind, frame)
            report = check(path)
            assert not report.is_sound, (kind, frame)
            n_changed += 1
    assert n_changed > 100 or sound.path.suffix == ".nc"


def test_frames_left_out_do_not_depend_on_the_atoms_analysed(sound: Sound) -> None:
    reference = np.random.default_rng(2).uniform(0, 20, (N_ATOMS, 3))
    atoms = MDAnalysis.Universe.empty(N_ATOMS).atoms
    random, n_left_out = np.random.default_rng(6), 0
    for _ in range(30):
        frame = int(random.integers(1, N_FRAMES))
        start, end = sound.ranges[frame]
        at = int(random.choice(said_twice(sound, frame) or range(start, end)))
        path = sound.damaged(at, int(sound.content[at] ^ 1 << int(random.integers(8))))
        found = set()
        for chosen in (slice(None), slice(0, 1), slice(-1, None), slice(7, 9)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DamagedFrameWarning)
                analysis = mdreel.RMSD(atoms[chosen], reference[chosen], trajectory=path).run(on_error="skip")
            found.add((tuple(analysis.frames.tolist()), analysis.damage))
        assert len(found) == 1, at
        n_left_out += len(next(iter(found))[1])
    # A few bits of a compressed chunk mean nothing.
    assert (n_left_out >= 25) == (sound.path.suffix != ".nc")


def test_whole_xtc_frame_with_other_coordinates_is_left_out(tmp_path: Path) -> None:
    sound = write_sound(tmp_path, "xtc", n_frames=6, n_atoms=400)
    start, _ = sound.ranges[4]
    # The largest x of the header, and with it the number of integers of the axis.
    largest = int.from_bytes(sound.content[start + 72 : start + 76], "big", signed=True)
    path = sound.with_bytes(start + 72, (largest + 1).to_bytes(4, "big", signed=True))
    source = open_trajectory(path)
    first_atoms = source.read(FrameSet.range(4, 1, 1), np.arange(3, dtype=np.uint32)).positions
    assert np.isfinite(first_atoms).all()
    report = check(path)
    assert [(one.kind, one.frame) for one in report.defects] == [("damaged frame", 4)]
    assert altered_frames(sound, path) == []
    with pytest.raises(MdreelError, match="frame 4"):
        source.with_on_error("skip").read(FrameSet.range(4, 1, 1), np.arange(3, dtype=np.uint32))


def test_bytes_that_the_last_atom_leaves_are_an_error_on_every_way_to_it(tmp_path: Path) -> None:
    sound = write_sound(tmp_path, "xtc", n_frames=6, n_atoms=400)
    start, end = sound.ranges[4]
    n_bytes = int.from_bytes(sound.content[start + 88 : start + 92], "big")
    claimed = (n_bytes + 4).to_bytes(4, "big")
    path = sound.written(
        sound.content[: start + 88] + claimed + sound.content[start + 92 : end] + bytes(4) + sound.content[end:]
    )
    for atoms in (np.arange(400), np.array([399]), np.array([5, 399])):
        with pytest.raises(FormatError, match=r"frame 4, .*the header says"):
            open_trajectory(path).read(FrameSet.range(0, 1, 6), atoms.astype(np.uint32))


def test_damaged_xtc_experiment_notices_enough() -> None:
    script = ROOT / "lab" / "validation" / "damaged_xtc.py"
    command = [forked_python(), "-W", "ignore", str(script), "--files", "240"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in done.stdout.splitlines()]
    assert [row[0] for row in rows[2:]] == ["insertion", "noise patch", "bit flip"]
    altered, caught = (
        [int(row[rows[0].index(name)]) for row in rows[2:]] for name in ("decoded, altered", "caught by mdreel")
    )
    assert min(altered) > 0
    assert caught[0] == altered[0]
    assert caught[2] >= 0.14 * altered[2]


def test_docs_say_of_every_format_what_cannot_be_noticed() -> None:
    page = (ROOT / "docs" / "how-to" / "damage.md").read_text(encoding="utf-8")
    _, _, section = page.partition("## What each format lets mdreel notice\n")
    table = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert rows[0] == ["Format", "What mdreel compares", "What it cannot detect"]
    named = {name.strip() for row in rows[2:] for name in row[0].upper().split(",")}
    assert named == {*CORE_FORMATS, *HDF5_FORMATS}
    assert all(len(cell) > 10 for row in rows[2:] for cell in row[1:])
