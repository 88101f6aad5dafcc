"""Files that we write, read by others: MDAnalysis, mdtraj and GROMACS find what we find."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD_TRICLINIC, XTC, TRR_xvf

from conformance.mdanalysis_oracle import differences, frames_of_mdanalysis, frames_of_mdreel
from mdreel._core import Source
from mdreel.trajectory.convert import convert

pytestmark = pytest.mark.filterwarnings("ignore:DCDReader currently makes independent timesteps:DeprecationWarning")

CELLS = {
    "none": None,
    "rectangular": [30, 35, 40, 90, 90, 90],
    "triclinic": [30, 35, 40, 77, 83, 95],
    "rhombic dodecahedron": [30, 30, 30, 60, 60, 90],
}


@pytest.fixture(params=[(cell, n_atoms) for cell in CELLS for n_atoms in (1, 9, 10, 300)], ids=str)
def source(request: pytest.FixtureRequest) -> Source:
    """Seven frames, 2.5 ps apart from 5 ps on."""
    cell, n_atoms = request.param
    positions = np.random.default_rng(n_atoms).uniform(-20, 50, (7, n_atoms, 3)).astype(np.float32)
    dimensions = None if CELLS[cell] is None else np.tile(np.array(CELLS[cell], np.float32), (7, 1))
    return Source.memory(positions, 5 + 2.5 * np.arange(7), dimensions)


def agree_with_mdanalysis(path: Path) -> None:
    ours, theirs = frames_of_mdreel(path), frames_of_mdanalysis(path)
    found = differences(ours, theirs)
    if path.suffix in (".xtc", ".trr") and found.pop(
        "dimensions", None
    ):  # see test_real_files.py: the vectors have all bits
        np.testing.assert_array_max_ulp(ours.dimensions, theirs.dimensions, maxulp=2)
    assert found == {}


@pytest.mark.parametrize("ending", ["xtc", "dcd", "trr", "nc"])
def test_mdanalysis_reads_what_we_read(tmp_path: Path, source: Source, ending: str) -> None:
    convert(source, tmp_path / f"a.{ending}")
    agree_with_mdanalysis(tmp_path / f"a.{ending}")


@pytest.mark.parametrize("ending", ["xtc", "dcd", "trr", "nc"])
@pytest.mark.parametrize("original", [XTC, DCD_TRICLINIC])
def test_mdanalysis_reads_what_we_read_of_real_trajectories(tmp_path: Path, original: str, ending: str) -> None:
    convert(original, tmp_path / f"a.{ending}", precision=1234 if ending == "xtc" else None)
    agree_with_mdanalysis(tmp_path / f"a.{ending}")


def test_mdtraj_reads_the_dcd_that_we_write(tmp_path: Path, source: Source) -> None:
    from mdtraj.formats import DCDTrajectoryFile

    convert(source, tmp_path / "a.dcd")
    ours = frames_of_mdreel(tmp_path / "a.dcd")
    with DCDTrajectoryFile(str(tmp_path / "a.dcd")) as file:
        positions, lengths, angles = file.read()
    np.testing.assert_array_equal(positions, ours.positions)
    if np.isnan(ours.dimensions).all():
        assert lengths is None or not lengths.any()
    else:
        np.testing.assert_allclose(np.hstack([lengths, angles]), ours.dimensions, rtol=1e-6)


def test_mdtraj_reads_the_xtc_that_we_write(tmp_path: Path, source: Source) -> None:
    from mdtraj.formats import XTCTrajectoryFile

    convert(source, tmp_path / "a.xtc")
    ours = frames_of_mdreel(tmp_path / "a.xtc")
    with XTCTrajectoryFile(str(tmp_path / "a.xtc")) as file:
        positions, times, steps, boxes = file.read()
    np.testing.assert_allclose(positions * np.float32(10), ours.positions, rtol=3e-7)
    np.testing.assert_array_equal(times, ours.times)
    np.testing.assert_array_equal(steps, np.arange(7))
    if boxes is None:
        assert np.isnan(ours.vectors).all()
    else:
        np.testing.assert_allclose(boxes * 10, ours.vectors, rtol=1e-6)


def test_mdtraj_reads_the_trr_that_we_write(tmp_path: Path, source: Source) -> None:
    from mdtraj.formats import TRRTrajectoryFile

    convert(source, tmp_path / "a.trr")
    ours = frames_of_mdreel(tmp_path / "a.trr")
    with TRRTrajectoryFile(str(tmp_path / "a.trr")) as file:
        positions, times, steps, boxes, _ = file.read()
    np.testing.assert_allclose(positions * np.float32(10), ours.positions, rtol=3e-7)
    np.testing.assert_array_equal(times, ours.times)
    np.testing.assert_array_equal(steps, np.arange(7))
    if np.isnan(ours.vectors).all():
        assert boxes is None or not boxes.any()
    else:
        np.testing.assert_allclose(boxes * 10, ours.vectors, rtol=1e-6)


@pytest.mark.skipif(shutil.which("gmx") is None, reason="gmx is not installed")
def test_gmx_check_finds_every_frame_of_the_xtc_that_we_write(tmp_path: Path) -> None:
    convert(XTC, tmp_path / "a.xtc", precision=500)
    command = ["gmx", "-quiet", "-nobackup", "check", "-f", "a.xtc"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    said = done.stdout + done.stderr
    assert "# Atoms  47681" in said
    assert "Precision 0.002 (nm)" in said
    assert ["Coords", "10", "100"] in [line.split() for line in said.splitlines()]


@pytest.mark.skipif(shutil.which("gmx") is None, reason="gmx is not installed")
def test_gmx_check_finds_all_quantities_of_the_trr_that_we_write(tmp_path: Path) -> None:
    convert(TRR_xvf, tmp_path / "a.trr")
    command = ["gmx", "-quiet", "-nobackup", "check", "-f", "a.trr"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    words = [line.split() for line in (done.stdout + done.stderr).splitlines()]
    counts = {
        line[0]: line[1] for line in words if len(line) > 1 and line[0] in ("Coords", "Velocities", "Forces", "Box")
    }
    n_frames = str(len(frames_of_mdanalysis(Path(TRR_xvf)).times))
    assert counts == dict.fromkeys(("Coords", "Velocities", "Forces", "Box"), n_frames)
