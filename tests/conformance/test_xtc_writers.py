"""XTC files of every writer at hand pass the comparisons that look for altered frames."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conformance.reference_xtc import HIGHEST_SMALL_INDEX, SHAPES, positions_of, small_index, write_reference
from mdreel._core import FrameSet, Source
from mdreel.errors import FormatError
from mdreel.trajectory.check import check
from mdreel.trajectory.convert import convert
from mdreel.trajectory.open import open as open_trajectory

N_FRAMES = 6


def write_mdanalysis(path: Path, positions: np.ndarray) -> None:
    write_reference(path, positions, np.eye(3, dtype=np.float32) * 5, 1000)


def write_mdreel(path: Path, positions: np.ndarray) -> None:
    dimensions = np.tile(np.array([50, 50, 50, 90, 90, 90], np.float32), (len(positions), 1))
    convert(Source.memory(positions, np.arange(len(positions)) * 2.5, dimensions), path)


def write_mdtraj(path: Path, positions: np.ndarray) -> None:
    formats = pytest.importorskip("mdtraj.formats")
    n_frames = len(positions)
    boxes = np.tile(np.eye(3, dtype=np.float32) * 5, (n_frames, 1, 1))
    with formats.XTCTrajectoryFile(str(path), "w") as file:
        file.write(positions / np.float32(10), np.arange(n_frames, dtype=np.float32), np.arange(n_frames), boxes)


def write_chemfiles(path: Path, positions: np.ndarray) -> None:
    chemfiles = pytest.importorskip("chemfiles")
    with chemfiles.Trajectory(str(path), "w") as file:
        for step, positions_of_frame in enumerate(positions):
            frame = chemfiles.Frame()
            frame.resize(len(positions_of_frame))
            frame.positions[:] = positions_of_frame
            frame.step = step
            frame["time"] = float(step)
            file.write(frame)


def write_openmm(path: Path, positions: np.ndarray) -> None:
    openmm, app = pytest.importorskip("openmm"), pytest.importorskip("openmm.app")
    from openmm import unit

    topology = app.Topology()
    residue = topology.addResidue("X", topology.addChain())
    for i in range(positions.shape[1]):
        topology.addAtom(f"X{i}", None, residue)
    file = app.XTCFile(str(path), topology, 0.002 * unit.picoseconds, interval=10)
    vectors = [openmm.Vec3(*row) for row in np.eye(3) * 5] * unit.nanometers
    for frame in positions:
        file.writeModel((frame / np.float32(10)) * unit.nanometers, periodicBoxVectors=vectors)


def frames_of(path: Path) -> list[bytes]:
    content, frames = path.read_bytes(), []
    while content:
        n_atoms, n_bytes = (int.from_bytes(content[at : at + 4], "big") for at in (4, 88))
        size = 92 + (n_bytes + 3) // 4 * 4 if n_atoms > 9 else 56 + 12 * n_atoms
        frames.append(content[:size])
        content = content[size:]
    return frames


WRITERS: dict[str, Callable[[Path, np.ndarray], None]] = {
    "MDAnalysis": write_mdanalysis,
    "mdreel": write_mdreel,
    "mdtraj": write_mdtraj,
    "chemfiles": write_chemfiles,
    "OpenMM": write_openmm,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("writer", WRITERS)
def test_frames_of_every_writer_pass_all_checks(tmp_path: Path, writer: str, shape: str) -> None:
    for n_atoms in (5, 11, 300):
        path = tmp_path / f"{n_atoms}.xtc"
        WRITERS[writer](path, positions_of(shape, n_atoms, N_FRAMES, 1))
        if writer != "mdreel" and max(small_index(frame) for frame in frames_of(path)) > HIGHEST_SMALL_INDEX:
            continue  # The library writes frames that nobody can read.
        damage = [one for one in check(path).defects if one.kind not in ("time", "no cell", "cell")]
        assert damage == []
        source = open_trajectory(path, index="none").with_on_error("skip")
        frames = source.read(FrameSet.range(0, 1, N_FRAMES), np.arange(n_atoms, dtype=np.uint32))
        assert frames.positions.shape == (N_FRAMES, n_atoms, 3)


@pytest.mark.parametrize("writer", WRITERS)
def test_altered_coordinates_are_noticed_whoever_wrote_them(tmp_path: Path, writer: str) -> None:
    path, damaged = tmp_path / "sound.xtc", tmp_path / "damaged.xtc"
    WRITERS[writer](path, positions_of("water", 300, N_FRAMES, 1))
    content, size = path.read_bytes(), len(frames_of(path)[0])
    random, n_noticed, n_decoded = np.random.default_rng(4), 0, 0
    for _ in range(60):
        at = int(random.integers(92, size - 4))
        damaged.write_bytes(content[:at] + bytes([content[at] ^ 1 << int(random.integers(8))]) + content[at + 1 :])
        try:
            open_trajectory(damaged, index="none").read(FrameSet.range(0, 1, 1), np.arange(300, dtype=np.uint32))
        except FormatError:
            continue
        n_decoded += 1
        n_noticed += any(defect.kind == "damaged frame" for defect in check(damaged).defects)
    assert n_decoded > 20
    # Where packing again were left out, next to none would be noticed.
    assert n_noticed > n_decoded / 10
