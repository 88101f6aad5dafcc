"""Tests of dihedral angles against MDAnalysis and mdtraj."""

from pathlib import Path

import MDAnalysis
import mdtraj
import numpy as np
import pytest
from MDAnalysis.analysis import dihedrals
from MDAnalysisTests.datafiles import DCD, GRO, PDB, PSF, TPR, XTC

import mdreel
from mdreel._core import Source
from mdreel.analysis.topology.torsions import TORSIONS, torsions_of
from mdreel.errors import MismatchError, SelectionError
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ACCURACY = 1e-4  # degrees


def apart(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest periodic difference of angles, in degrees."""
    difference = np.abs(ours - theirs) % 360
    return float(np.minimum(difference, 360 - difference).max())


@pytest.fixture(params=[(PSF, DCD), (GRO, XTC)], ids=["adk", "water"])
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(*request.param)


def test_dihedral_agrees_with_mdanalysis(universe: MDAnalysis.Universe) -> None:
    residues = universe.select_atoms("protein").residues[3:60]
    groups = [residue.phi_selection() for residue in residues] + [residue.omega_selection() for residue in residues]
    ours = mdreel.Dihedral(groups).run(step=3)
    theirs = dihedrals.Dihedral(groups).run(step=3)
    assert apart(ours.results.angles, theirs.results.angles) < ACCURACY
    np.testing.assert_array_equal(ours.times, theirs.times)


def test_ramachandran_agrees_with_mdanalysis(universe: MDAnalysis.Universe) -> None:
    protein = universe.select_atoms("protein")
    ours, theirs = mdreel.Ramachandran(protein).run(), dihedrals.Ramachandran(protein).run()
    assert ours.results.angles.shape == theirs.results.angles.shape
    # In a triclinic cell MDAnalysis looks for images in single precision; see the next test.
    accuracy = 1e-3 if universe.dimensions is not None and (universe.dimensions[3:] != 90).any() else ACCURACY
    assert apart(ours.results.angles, theirs.results.angles) < accuracy


def test_ramachandran_in_a_triclinic_cell_is_that_of_the_shortest_of_many_images() -> None:
    universe = MDAnalysis.Universe(GRO, XTC)
    ramachandran = mdreel.Ramachandran(universe.select_atoms("protein")).run(frames=[4])
    cell = universe.trajectory[4].triclinic_dimensions.astype(float)
    images = np.stack(np.meshgrid(*[np.arange(-2, 3)] * 3), axis=-1).reshape(-1, 3) @ cell
    for residue, angles in zip(ramachandran.residues, ramachandran.results.angles[0], strict=True):
        for group, angle in zip((residue.phi_selection(), residue.psi_selection()), angles, strict=True):
            moved = np.diff(group.positions.astype(float), axis=0)[:, None] + images
            a, b, c = moved[np.arange(3), np.linalg.norm(moved, axis=-1).argmin(axis=1)]
            normals = np.cross(a, b), np.cross(b, c)
            expected = np.degrees(np.arctan2(np.linalg.norm(b) * (a @ normals[1]), normals[0] @ normals[1]))
            assert apart(angle, expected) < ACCURACY


@pytest.mark.parametrize("kind", TORSIONS)
def test_torsions_are_those_of_mdtraj(kind: str, tmp_path: Path) -> None:
    protein = MDAnalysis.Universe(GRO, XTC).select_atoms("protein")
    protein.write(tmp_path / "protein.pdb")
    alone = MDAnalysis.Universe(tmp_path / "protein.pdb")
    trajectory = mdtraj.load(tmp_path / "protein.pdb")
    atoms, angles = getattr(mdtraj, f"compute_{kind}")(trajectory)
    ours = mdreel.Dihedrals(alone.atoms, [kind]).run()
    found = {tuple(four): angle for four, angle in zip(ours.quadruples.tolist(), ours.results.angles[0], strict=True)}
    expected = {tuple(four): angle for four, angle in zip(atoms.tolist(), np.degrees(angles[0]), strict=True)}
    assert set(found) == set(expected)
    assert apart(np.array([found[four] for four in expected]), np.array(list(expected.values()))) < 1e-2  # float32


def test_features_are_named_cosines_and_sines(universe: MDAnalysis.Universe) -> None:
    protein = universe.select_atoms("protein and resid 2:9")
    degrees = mdreel.Dihedrals(protein, ("chi1", "phi")).run()
    features = mdreel.Dihedrals(protein, ("chi1", "phi"), "cos_sin").run()
    radians = np.radians(degrees.results.angles)
    np.testing.assert_allclose(features.results.angles[:, 0::2], np.cos(radians), rtol=0, atol=1e-12)
    np.testing.assert_allclose(features.results.angles[:, 1::2], np.sin(radians), rtol=0, atol=1e-12)
    assert degrees.names[:2] == ["chi1 ARG 2", "phi ARG 2"]
    assert features.names[:4] == ["cos chi1 ARG 2", "sin chi1 ARG 2", "cos phi ARG 2", "sin phi ARG 2"]
    assert len(features.names) == features.results.angles.shape[1]


def test_complete_residues_have_all_torsions(universe: MDAnalysis.Universe) -> None:
    protein = universe.select_atoms("protein")
    complete = mdreel.Dihedrals(protein, features="cos_sin", complete=True)
    assert len(complete.names) == 2 * 2 * 212  # as Khoshlessan et al. (2018)
    numbers = [name.split()[-1] for name in complete.names[::2]]
    assert numbers == [str(n) for n in range(2, 214) for _ in range(2)]


def test_bonds_across_the_cell_are_made_whole() -> None:
    universe = MDAnalysis.Universe(TPR, XTC)
    protein = universe.select_atoms("protein")
    expected = mdreel.Dihedrals(protein).run(stop=1).results.angles
    universe.trajectory[0]
    broken = universe.atoms.wrap(compound="atoms")
    broken += np.random.default_rng(1).integers(-2, 3, broken.shape) @ universe.trajectory.ts.triclinic_dimensions
    source = Source.memory(broken[None].astype(np.float32), np.zeros(1), universe.dimensions[None])
    found = mdreel.Dihedrals(protein, trajectory=source).run().results.angles
    assert apart(found, expected) < 5e-3  # coordinates have lost digits on their way


def test_dihedrals_are_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    protein = MDAnalysis.Universe(PSF).select_atoms("protein")
    expected = mdreel.Dihedrals(protein, trajectory=adk_xtc).run(backend="serial").results.angles.tobytes()
    for options in (
        {"n_parts": 97},
        {"n_workers": 3},
        {"backend": "processes", "n_workers": 2},
    ):
        source = open_trajectory(adk_xtc, index="none")
        assert mdreel.Dihedrals(protein, trajectory=source).run(**options).results.angles.tobytes() == expected, options


def test_residues_next_to_missing_ones_have_no_angle_across_the_gap() -> None:
    protein = MDAnalysis.Universe(PDB).select_atoms("protein")
    gap = protein.select_atoms("not resid 50:60")
    universe = MDAnalysis.Merge(gap)
    whole, cut = torsions_of(protein, ["phi", "psi"]), torsions_of(universe.atoms, ["phi", "psi"])
    numbers = [(kind, residue.resid) for kind, residue in zip(whole.kinds, whole.residues, strict=True)]
    left = [(kind, residue.resid) for kind, residue in zip(cut.kinds, cut.residues, strict=True)]
    lost = {("phi", 61), ("psi", 49)}
    assert left == [(kind, n) for kind, n in numbers if not 50 <= n <= 60 and (kind, n) not in lost]


def test_dihedrals_refuse_invalid_input(universe: MDAnalysis.Universe) -> None:
    protein = universe.select_atoms("protein")
    with pytest.raises(MismatchError, match="unknown torsion 'chi9'"):
        mdreel.Dihedrals(protein, ["phi", "chi9"])
    with pytest.raises(MismatchError, match="different torsions"):
        mdreel.Dihedrals(protein, ["phi", "phi"])
    with pytest.raises(MismatchError, match="'radians'"):
        mdreel.Dihedrals(protein, features="radians")
    with pytest.raises(SelectionError, match="no residue of the 3 atoms has a torsion"):
        mdreel.Dihedrals(universe.select_atoms("resname MET and resid 1").atoms[:3], ["phi"])
    with pytest.raises(SelectionError, match="no group"):
        mdreel.Dihedral([])
    with pytest.raises(MismatchError, match="group 1 has 3 atoms"):
        mdreel.Dihedral([protein[:4], protein[:3]])
    with pytest.raises(MismatchError, match="frame 0: atoms"):
        mdreel.Dihedral([protein[[0, 1, 1, 2]]]).run()
