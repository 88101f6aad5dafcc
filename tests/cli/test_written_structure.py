"""``-c`` writes a structure with which the written trajectory is opened."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC

from command_results import refused

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
SELECT = "protein and name CA"


def check_pair(structure: Path, trajectory: Path, expected: MDAnalysis.AtomGroup, first: int, n_frames: int) -> None:
    """Check that a pair of files can be opened, and has the atoms and the first frame of a group."""
    alone, pair = MDAnalysis.Universe(str(structure)), MDAnalysis.Universe(str(structure), str(trajectory))
    assert len(pair.trajectory) == n_frames
    for name in ("names", "resnames", "resids"):
        np.testing.assert_array_equal(getattr(pair.atoms, name), getattr(expected, name))
    expected.universe.trajectory[first]
    np.testing.assert_allclose(pair.atoms.positions, expected.positions, rtol=0, atol=6e-3)
    np.testing.assert_allclose(alone.atoms.positions, expected.positions, rtol=0, atol=6e-3)
    if expected.dimensions is not None:
        np.testing.assert_allclose(alone.dimensions, expected.dimensions, rtol=0, atol=6e-3)


@pytest.mark.parametrize("structure", ["a.pdb", "a.gro"])
@pytest.mark.parametrize("trajectory", ["a.xtc", "a.dcd"])
def test_converted_atoms_are_opened_with_their_structure(run, tmp_path: Path, structure: str, trajectory: str) -> None:
    words = ("convert", XTC, "-s", TPR, "--select", SELECT, "--start", "3", "-o", trajectory, "-c", structure, "-q")
    done = run(*words)
    assert (done.returncode, done.stderr) == (0, "")
    atoms = MDAnalysis.Universe(TPR, XTC).select_atoms(SELECT)
    check_pair(tmp_path / structure, tmp_path / trajectory, atoms, 3, 7)


def test_structure_of_all_atoms_and_without_a_cell(run, tmp_path: Path) -> None:
    done = run("convert", DCD, "-s", PSF, "--stop", "2", "-o", "a.xtc", "-c", "a.pdb", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    check_pair(tmp_path / "a.pdb", tmp_path / "a.xtc", MDAnalysis.Universe(PSF, DCD).atoms, 0, 2)
    assert MDAnalysis.Universe(str(tmp_path / "a.pdb")).dimensions is None


@pytest.mark.parametrize(
    ("words", "first_file", "n_frames"),
    [
        (["concat", DCD, DCD, "-o", "a.xtc"], "a.xtc", 196),
        (["split", DCD, "--n-parts", "2", "-o", "a.xtc"], "a-1.xtc", 49),
        (["repack", DCD, "-o", "a.h5md"], "a.h5md", 98),
    ],
)
def test_other_commands_write_structures_too(
    run, tmp_path: Path, words: list[str], first_file: str, n_frames: int
) -> None:
    done = run(*words, "-s", PSF, "--select", SELECT, "-c", "a.gro", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    atoms = MDAnalysis.Universe(PSF, DCD).select_atoms(SELECT)
    check_pair(tmp_path / "a.gro", tmp_path / first_file, atoms, 0, n_frames)


def test_wrong_structures_are_refused_before_the_trajectory_is_written(run, tmp_path: Path) -> None:
    words = ("convert", DCD, "-s", PSF, "-o", "a.xtc", "-q")
    refused(run(*words, "-c", "a.doc"), 2, "a.doc", "ends in .pdb or .gro")
    refused(run(*words, "-c", "a.dcd"), 2, "a.dcd", "ends in .pdb or .gro")
    refused(run("convert", DCD, "-o", "a.xtc", "-c", "a.pdb"), 2, "-c needs a topology")
    (tmp_path / "b.pdb").write_text("kept")
    refused(run(*words, "-c", "b.pdb"), 2, "b.pdb", "--force replaces it")
    refused(run(*words, "-c", "no/a.pdb"), 4, "no")
    assert not (tmp_path / "a.xtc").exists()
    assert (tmp_path / "b.pdb").read_text() == "kept"


def test_structure_of_another_system_is_refused(run) -> None:
    refused(run("convert", DCD, "-s", TPR, "-o", "a.xtc", "-c", "a.pdb", "-q"), 3, "47681", "3341")
