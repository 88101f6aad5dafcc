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

    A frame without a cell has NaN in its place. DCD and NetCDF store no vectors: there is nothing to compare ours with.
    Velocities, Å/ps, and forces, kJ/(mol Å), both (f, n, 3), are None where the file has none.
    """

    positions: np.ndarray
    vectors: np.ndarray | None
    dimensions: np.ndarray
    times: np.ndarray
    velocities: np.ndarray | None = None
    forces: np.ndarray | None = None


def frames_of_mdreel(path: Path) -> Frames:
    source = open_source(path, index="none")
    everything = FrameSet.range(0, 1, source.n_frames)
    wanted = source.quantities
    frames = source.read(everything, np.arange(source.n_atoms, dtype=np.uint32), wanted)
    assert all(getattr(frames, f"has_{name}").all() for name in wanted)
    np.testing.assert_array_equal(frames.times, source.times())
    source.check_end()
    return Frames(frames.positions, frames.vectors, frames.dimensions, frames.times, frames.velocities, frames.forces)


def frames_of_mdanalysis(path: Path) -> Frames:
    """What MDAnalysis's readers give; the vectors are those of its C library, times 10."""
    from MDAnalysis.coordinates.DCD import DCDReader
    from MDAnalysis.coordinates.TRJ import NCDFReader
    from MDAnalysis.coordinates.XTC import XTCReader
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    readers = {".xtc": XTCReader, ".dcd": DCDReader, ".nc": NCDFReader, ".ncdf": NCDFReader}
    with readers[path.suffix](str(path)) as reader:
        shown = [(ts.positions.copy(), copy(ts.dimensions), ts.time) for ts in reader]
        velocities = np.array([ts.velocities.copy() for ts in reader]) if reader.ts.has_velocities else None
        forces = np.array([ts.forces.copy() for ts in reader]) if reader.ts.has_forces else None
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
        velocities,
        forces,
    )


def differences(ours: Frames, theirs: Frames) -> dict[str, str]:
    """What is not the same in every bit, with how much it differs; NaN equals NaN."""
    found = {}
    for name in ("positions", "vectors", "dimensions", "times", "velocities", "forces"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        if other is None:
            assert mine is None or name == "vectors"
            continue
        assert mine.dtype == other.dtype
        if mine.shape != other.shape:
            found[name] = f"shape {mine.shape}, expected {other.shape}"
        elif not np.array_equal(mine, other, equal_nan=True):
            found[name] = f"up to {np.nanmax(np.abs(mine.astype(np.float64) - other)):.2e}"
    return found
