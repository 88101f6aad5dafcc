"""MDAnalysis's frames of a file, and the comparison of ours with them, bit by bit."""

from copy import copy
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from mdreel._core import FrameSet
from mdreel.trajectory.open import open as open_trajectory


@dataclass(frozen=True)
class Frames:
    """Positions (f, n, 3), cell vectors (f, 3, 3), both Å; lengths and angles (f, 6); times (f,), ps.

    Velocities in Å/ps and forces in kJ/(mol Å), both (f, n, 3). What a frame does not have is NaN. DCD and NetCDF store
    no vectors: there is nothing to compare ours with.
    """

    positions: np.ndarray
    vectors: np.ndarray | None
    dimensions: np.ndarray
    times: np.ndarray
    steps: np.ndarray | None
    velocities: np.ndarray | None
    forces: np.ndarray | None


def frames_of_mdreel(path: Path) -> Frames:
    source = open_trajectory(path, index="none")
    everything = FrameSet.range(0, 1, source.n_frames)
    quantities = ["positions", "velocities", "forces"]
    frames = source.read(everything, np.arange(source.n_atoms, dtype=np.uint32), quantities)
    np.testing.assert_array_equal(frames.times, source.times())
    source.check_end()
    return Frames(
        frames.positions,
        frames.vectors,
        frames.dimensions,
        frames.times,
        frames.steps,
        frames.velocities,
        frames.forces,
    )


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
        np.array([step for *_, step in shown], np.int64),
        stacked.get("velocities"),
        stacked.get("forces"),
    )


def frames_of_mdanalysis(path: Path) -> Frames:
    """What MDAnalysis's readers give; the vectors are those of its C library, times 10."""
    if path.suffix == ".h5md":
        return frames_of_h5md(path)
    from MDAnalysis.coordinates.DCD import DCDReader
    from MDAnalysis.coordinates.TRJ import NCDFReader
    from MDAnalysis.coordinates.TRR import TRRReader
    from MDAnalysis.coordinates.XTC import XTCReader
    from MDAnalysis.lib.formats.libmdaxdr import TRRFile, XTCFile

    readers = {
        ".xtc": (XTCReader, XTCFile),
        ".trr": (TRRReader, TRRFile),
        ".dcd": (DCDReader, None),
        ".nc": (NCDFReader, None),
        ".ncdf": (NCDFReader, None),
    }
    reader_class, file_class = readers[path.suffix]
    with reader_class(str(path)) as reader:
        shown = [ts.copy() for ts in reader]
    vectors = None
    if file_class is not None:
        with file_class(str(path)) as file:
            vectors = np.array([frame.box for frame in file], np.float32) * np.float32(10)
        vectors[~vectors.any(axis=(1, 2))] = np.nan
    nothing = np.full((shown[0].n_atoms, 3), np.nan, np.float32)
    return Frames(
        np.array([ts.positions if ts.has_positions else nothing for ts in shown]),
        vectors,
        np.array([np.full(6, np.nan) if ts.dimensions is None else ts.dimensions for ts in shown], np.float32),
        np.array([ts.time for ts in shown], np.float64),
        None if file_class is None else np.array([ts.data["step"] for ts in shown], np.int64),
        np.array([ts.velocities if ts.has_velocities else nothing for ts in shown]),
        np.array([ts.forces if ts.has_forces else nothing for ts in shown]),
    )


def differences(ours: Frames, theirs: Frames) -> dict[str, str]:
    """What is not the same in every bit, with how much it differs; NaN equals NaN."""
    found = {}
    for name in (field.name for field in fields(Frames)):
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
