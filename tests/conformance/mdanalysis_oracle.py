"""MDAnalysis's frames of a file, and the comparison of ours with them, bit by bit."""

from copy import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mdreel._core import FrameSet
from mdreel.sources.open import open_source


@dataclass(frozen=True)
class Frames:
    """Positions (f, n, 3), cell vectors (f, 3, 3), both Å; lengths and angles (f, 6); times (f,), ps.

    A frame without a cell has NaN in its place. DCD stores no vectors: there is nothing to compare ours with.
    """

    positions: np.ndarray
    vectors: np.ndarray | None
    dimensions: np.ndarray
    times: np.ndarray
    velocities: np.ndarray | None = None
    forces: np.ndarray | None = None
    steps: np.ndarray | None = None


def frames_of_mdreel(path: Path) -> Frames:
    source = open_source(path, index="none")
    everything = FrameSet.range(0, 1, source.n_frames)
    frames = source.read(everything, np.arange(source.n_atoms, dtype=np.uint32), ["positions", "velocities", "forces"])
    np.testing.assert_array_equal(frames.times, source.times())
    source.check_end()
    velocities = frames.velocities if frames.has_velocities.any() else None
    forces = frames.forces if frames.has_forces.any() else None
    return Frames(frames.positions, frames.vectors, frames.dimensions, frames.times, velocities, forces, frames.steps)


def frames_of_h5md(path: Path) -> Frames:
    """What MDAnalysis's H5MDReader gives, with velocities, forces and steps."""
    from MDAnalysis.coordinates.H5MD import H5MDReader

    names = ("positions", "velocities", "forces")
    with H5MDReader(str(path)) as reader:
        has = [name for name in names if getattr(reader.ts, f"has_{name}")]
        shown = [
            ({name: getattr(ts, name).copy() for name in has}, copy(ts.dimensions), ts.time, ts.data["step"])
            for ts in reader
        ]
    stacked = {name: np.array([arrays[name] for arrays, *_ in shown]) for name in has}
    cells = [np.full(6, np.nan) if cell is None else cell for _, cell, _, _ in shown]
    return Frames(
        stacked["positions"],
        None,
        np.array(cells, np.float32),
        np.array([time for *_, time, _ in shown], np.float64),
        stacked.get("velocities"),
        stacked.get("forces"),
        np.array([step for *_, step in shown], np.int64),
    )


def frames_of_mdanalysis(path: Path) -> Frames:
    """What MDAnalysis's readers give; the vectors are those of its C library, times 10."""
    if path.suffix == ".h5md":
        return frames_of_h5md(path)
    from MDAnalysis.coordinates.DCD import DCDReader
    from MDAnalysis.coordinates.XTC import XTCReader
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    with (XTCReader if path.suffix == ".xtc" else DCDReader)(str(path)) as reader:
        shown = [(ts.positions.copy(), copy(ts.dimensions), ts.time) for ts in reader]
    cells = [np.full(6, np.nan) if cell is None else cell for _, cell, _ in shown]
    vectors = None
    if path.suffix == ".xtc":
        with XTCFile(str(path)) as file:
            vectors = np.array([frame.box for frame in file], np.float32) * np.float32(10)
        vectors[~vectors.any(axis=(1, 2))] = np.nan
    return Frames(
        np.array([positions for positions, _, _ in shown]),
        vectors,
        np.array(cells, np.float32),
        np.array([time for _, _, time in shown], np.float64),
    )


def differences(ours: Frames, theirs: Frames) -> dict[str, str]:
    """What is not the same in every bit, with how much it differs; NaN equals NaN."""
    found = {}
    for name in ("positions", "vectors", "dimensions", "times", "velocities", "forces", "steps"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        if other is None:
            continue
        if mine is None:
            found[name] = "missing"
            continue
        assert mine.dtype == other.dtype
        if mine.shape != other.shape:
            found[name] = f"shape {mine.shape}, expected {other.shape}"
        elif not np.array_equal(mine, other, equal_nan=True):
            found[name] = f"up to {np.nanmax(np.abs(mine.astype(np.float64) - other)):.2e}"
    return found
