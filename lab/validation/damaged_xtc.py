"""Damage XTC files and count how often mdreel detects it: ``python lab/validation/damaged_xtc.py``.

Each file is damaged once, in the compressed coordinates of one frame. A plain decoder shows whether a reader without
further checks accepts this frame with wrong coordinates. The table counts these files, and those of them whose frame
mdreel skips with ``on_error="skip"`` and reports in a check.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import plain_xtc
from MDAnalysis.lib.formats.libmdaxdr import XTCFile
from MDAnalysisTests import datafiles
from numpy.typing import NDArray

from mdreel._core import FrameSet, Source
from mdreel.errors import FormatError
from mdreel.trajectory.check import check
from mdreel.trajectory.open import open as open_trajectory

N_FILES, SEED, N_FRAMES = 400, 22, 10
Damage = Callable[[np.random.Generator, bytes, int, int], bytes]


def insert(random: np.random.Generator, content: bytes, start: int, end: int) -> bytes:
    """Insert 1 to 64 random bytes."""
    at = int(random.integers(start, end))
    return content[:at] + random.bytes(int(random.integers(1, 65))) + content[at:]


def overwrite(*lengths: int) -> Damage:
    """Return a function that overwrites as many bytes as one of these lengths with random bytes."""

    def damage(random: np.random.Generator, content: bytes, start: int, end: int) -> bytes:
        at = int(random.integers(start, end))
        patch = random.bytes(min(int(random.choice(lengths)), end - at))
        return content[:at] + patch + content[at + len(patch) :]

    return damage


def flip(random: np.random.Generator, content: bytes, start: int, end: int) -> bytes:
    """Change one bit."""
    at = int(random.integers(start, end))
    return content[:at] + bytes([content[at] ^ 1 << int(random.integers(8))]) + content[at + 1 :]


@dataclass(frozen=True)
class Kind:
    """A kind of damage.

    Attributes
    ----------
    name : str
        Name.
    damage : callable
        Damages a file between two bytes.
    required : float
        Share of the files accepted by the plain decoder in which mdreel must detect the damage.
    """

    name: str
    damage: Damage
    required: float


KINDS = (
    Kind("insertion", insert, 18 / 18),
    Kind("noise patch", overwrite(16, 32, 64), 50 / 67),
    Kind("bit flip", flip, 18 / 128),
)
"""The required shares are those that an earlier experiment with other files detected by counts of bytes alone."""

LENGTHS = (4, 8, 16, 32, 64)
"""Lengths of patches for ``--lengths``, bytes."""


@dataclass(frozen=True)
class Sound:
    """A file without damage.

    Attributes
    ----------
    content : bytes
        Content.
    starts : list of int
        Offsets of the frames, bytes.
    integers : dict of int to ndarray
        Plainly decoded coordinates of each frame, by its offset.
    positions : set of bytes
        Coordinates of the frames, as mdreel reads them.
    """

    content: bytes
    starts: list[int]
    integers: dict[int, NDArray[np.int64]]
    positions: set[bytes]


def write_sound(path: Path) -> Sound:
    """Write the first frames of AdK as XTC."""
    universe = mda.Universe(datafiles.PSF, datafiles.DCD)
    with XTCFile(str(path), "w") as file:
        for i, step in enumerate(universe.trajectory[:N_FRAMES]):
            file.write(step.positions * np.float32(0.1), np.eye(3, dtype=np.float32) * 10, i, float(i), 1000)
    content = path.read_bytes()
    starts = [0]
    while starts[-1] < len(content):
        starts.append(starts[-1] + plain_xtc.frame_bytes(content[starts[-1] :]))
    source = open_trajectory(path, index="none")
    integers = {start: plain_xtc.decode(content[start:]).integers for start in starts[:-1]}
    return Sound(content, starts[:-1], integers, set(frames_of(source).values()))


def frames_of(source: Source) -> dict[int, bytes]:
    """Return the coordinates of the frames that can be read."""
    atoms = np.arange(source.n_atoms, dtype=np.uint32)
    found = {}
    for i in range(source.n_frames):
        try:
            found[i] = source.read(FrameSet.range(i, 1, 1), atoms).positions.tobytes()
        except FormatError:
            continue
    return found


def judge(path: Path, sound: Sound, start: int) -> Counter[str]:
    """Compare the results of a plain decoder and of mdreel for a damaged frame.

    Parameters
    ----------
    path : Path
        File with one damaged frame.
    sound : Sound
        The file before the damage.
    start : int
        Offset of the damaged frame, bytes.

    Returns
    -------
    Counter
        Outcomes, each counted once.
    """
    try:
        after = plain_xtc.decode(path.read_bytes()[start:])
    except plain_xtc.DecodeError:
        return Counter(["refused"])
    if np.array_equal(sound.integers[start], after.integers):
        return Counter(["harmless"])
    words = ["accepted"]
    words += ["bytes"] * (not after.has_all_bytes) + ["extremes"] * (not after.has_extremes)
    tolerant = open_trajectory(path, index="none").with_on_error("skip")
    is_caught = set(frames_of(tolerant).values()) <= sound.positions
    if is_caught == any(
        defect.kind == "damaged frame" and is_within(defect.byte, start) for defect in check(path).defects
    ):
        words += ["caught" if is_caught else "missed"]
    else:
        words += ["check and on_error disagree"]
    return Counter(words)


def is_within(byte: int | None, start: int) -> bool:
    """Return whether a byte belongs to the frame at `start`."""
    return byte is not None and start <= byte < start + 2**15


def experiment(folder: Path, n_files: int, seed: int, kinds: Sequence[Kind] = KINDS) -> dict[str, Counter[str]]:
    """Damage a number of files, equally many with each kind of damage."""
    random = np.random.default_rng(seed)
    sound, path = write_sound(folder / "sound.xtc"), folder / "damaged.xtc"
    counts: dict[str, Counter[str]] = {}
    for i, kind in enumerate(kinds):
        counts[kind.name] = Counter()
        for _ in range((n_files + i) // len(kinds)):
            start = sound.starts[int(random.integers(N_FRAMES))]
            size = plain_xtc.frame_bytes(sound.content[start:])
            damaged = kind.damage(random, sound.content, start + plain_xtc.HEADER_BYTES, start + size)
            path.write_bytes(damaged)
            counts[kind.name].update(judge(path, sound, start), files=1)
    return counts


def table(counts: dict[str, Counter[str]]) -> str:
    """Return the counts as a table."""
    words = {
        "files": "files",
        "harmless": "same coordinates",
        "refused": "cannot be decoded",
        "accepted": "decoded, altered",
        "bytes": "wrong count of bytes",
        "extremes": "wrong extremes",
        "caught": "caught by mdreel",
        "missed": "missed",
    }
    lines = ["| damage | " + " | ".join(words.values()) + " |", "|---" + "|--:" * len(words) + "|"]
    lines += [f"| {name} | " + " | ".join(str(count[word]) for word in words) + " |" for name, count in counts.items()]
    return "\n".join(lines)


def failures(counts: dict[str, Counter[str]]) -> list[str]:
    """Return messages about shares below the required ones."""
    wrong = []
    for kind in KINDS:
        count = counts[kind.name]
        if count["caught"] < kind.required * count["accepted"]:
            wrong.append(f"{kind.name}: {count['caught']} of {count['accepted']} caught, {kind.required:.0%} required")
        if count["caught"] + count["missed"] != count["accepted"]:
            wrong.append(f"{kind.name}: check and on_error disagree in some files")
    return wrong


def main() -> int:
    """Run the experiment, print the table, and return 1 if a share is too low."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=N_FILES, help="damaged files")
    parser.add_argument("--seed", type=int, default=SEED, help="of the random numbers")
    parser.add_argument(
        "--lengths", action="store_true", help="compare patches of several lengths; nothing is required"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        if arguments.lengths:
            kinds = [Kind(f"patch of {length} bytes", overwrite(length), 0.0) for length in LENGTHS]
            print(table(experiment(Path(folder), arguments.files, arguments.seed, kinds)))
            return 0
        counts = experiment(Path(folder), arguments.files, arguments.seed)
    print(table(counts))
    wrong = failures(counts)
    for line in wrong:
        print(line, file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
