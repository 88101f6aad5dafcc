"""XTC files of the reference implementation, and coordinates of many shapes to write."""

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

Shape = Callable[[np.random.Generator, int], np.ndarray]

SHAPES: dict[str, Shape] = {
    "tiny box": lambda random, n: random.uniform(0, 3, (n, 3)),
    "one point": lambda random, n: np.full((n, 3), 1.234),
    "water": lambda random, n: (
        random.uniform(0, 40, (n // 3 + 1, 1, 3)) + random.normal(0, 0.6, (n // 3 + 1, 3, 3))
    ).reshape(-1, 3)[:n],
    "walk": lambda random, n: np.cumsum(random.normal(0, 1.5, (n, 3)), axis=0),
    "steps of all sizes": lambda random, n: np.cumsum(
        random.normal(0, 1, (n, 3)) * 10 ** random.uniform(-3, 2.5, (n, 1)), axis=0
    ),
    "far apart": lambda random, n: random.uniform(-3e3, 3e3, (n, 3)),
    "a plane": lambda random, n: random.uniform(-50, 50, (n, 3)) * [1, 0, 1e-4],
    "negative": lambda random, n: random.uniform(-80, -20, (n, 3)),
    "one long axis": lambda random, n: random.uniform(-4e5, 4e5, (n, 3)) * [1e-3, 1, 1e-3],
}
"""Positions in Å of n atoms."""

HIGHEST_SMALL_INDEX = 64
"""Above it, the reference reads beyond a table and writes files that it cannot read."""


def positions_of(shape: str, n_atoms: int, n_frames: int, seed: int) -> np.ndarray:
    """Frames of a shape: (n_frames, n_atoms, 3), float32, Å."""
    random = np.random.default_rng([seed, n_atoms, *shape.encode()])
    return np.array([SHAPES[shape](random, n_atoms) for _ in range(n_frames)], np.float32)


def write_reference(path: Path, positions: np.ndarray, box: np.ndarray, precision: float) -> None:
    """Write frames (Å) with the xdrfile library of MDAnalysis, times 2.5 ps apart; `box` in nm."""
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    with XTCFile(str(path), "w") as file:
        for i, frame in enumerate(positions):
            # The product of a Python float and float32, as MDAnalysis's XTCWriter has it.
            file.write(0.1 * frame, box, i, 2.5 * i, precision)


def small_index(xtc: bytes) -> int:
    """The small index of the first frame; 0 for few atoms, which are not compressed."""
    return struct.unpack(">i", xtc[84:88])[0] if struct.unpack(">i", xtc[4:8])[0] > 9 else 0
