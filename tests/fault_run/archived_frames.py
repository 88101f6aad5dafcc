"""Frames of an archive, compared with those that were published."""

from pathlib import Path

import numpy as np

import far_channels as far
import mdreel
from fault_run.journal import STEPS_PER_FRAME
from mdreel._core import FrameSet

_TOLERANCES = {".h5md": 0.0, ".trr": 1e-6, ".xtc": 5.001e-3}
"""Largest difference of a position, Å: TRR rounds the last bit, and XTC to 0.001 nm."""

_AT_ONCE = 500


def check_archive(path: Path, channel: str, n_atoms: int, discrepancies: list[str]) -> list[int]:
    """Return the numbers of the frames of an archive; note each that differs from the published one."""
    source = mdreel.open(path)
    reader = source.reader(np.arange(n_atoms, dtype=np.uint32), ["positions"])
    numbers: list[int] = []
    for first in range(0, source.n_frames, _AT_ONCE):
        read = reader.read(FrameSet.range(first, 1, min(_AT_ONCE, source.n_frames - first)))
        for step, positions in zip(read.steps, read.positions, strict=True):
            number = int(step) // STEPS_PER_FRAME
            difference = np.abs(positions - far.positions(channel, number, n_atoms)).max()
            if not difference <= _TOLERANCES[path.suffix]:
                discrepancies.append(f"torn: step {step} of {path.name} differs by {difference}")
            numbers.append(number)
    return numbers
