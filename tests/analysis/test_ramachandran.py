"""Tests of pairs of torsions against MDAnalysis."""

import matplotlib
import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import dihedrals
from MDAnalysisTests.datafiles import DCD, GRO, PDB_HOLE, PSF, XTC, PDB_full, PDB_janin, PDB_rama

import mdreel
from mdreel.errors import SelectionError

ignoring = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
GROUPS = ("ag1", "ag2", "ag3", "ag4", "ag5")


@pytest.fixture(scope="module")
def adk() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


@ignoring
@pytest.mark.parametrize("check_protein", [True, False])
@pytest.mark.parametrize("file", [PSF, PDB_rama, PDB_janin, PDB_full, PDB_HOLE])
def test_atoms_of_ramachandran_are_those_of_mdanalysis(file: str, check_protein: bool) -> None:
    protein = MDAnalysis.Universe(file, *([DCD] if file == PSF else [])).select_atoms("protein")
    ours = mdreel.Ramachandran(protein, check_protein=check_protein)
    theirs = dihedrals.Ramachandran(protein, check_protein=check_protein)
    for name in GROUPS:
        np.testing.assert_array_equal(getattr(ours, name).ix, getattr(theirs, name).ix)
    assert ours.atomgroup == protein


@ignoring
def test_ramachandran_takes_other_names(adk: MDAnalysis.Universe) -> None:
    other = MDAnalysis.Merge(adk.select_atoms("resid 1:20"))
    names = {"C": "CX", "N": "NT", "CA": "S"}
    expected = mdreel.Ramachandran(other.atoms).run().results.angles
    other.atoms.names = [names.get(name, name) for name in other.atoms.names]
    with pytest.raises(SelectionError, match="no residue"):
        mdreel.Ramachandran(other.atoms)
    found = mdreel.Ramachandran(other.atoms, "CX", "NT Q", "S", False).run().results.angles
    np.testing.assert_array_equal(found, expected)
    assert expected.shape == (1, 18, 2)


def test_ramachandran_refuses_what_is_no_protein() -> None:
    universe = MDAnalysis.Universe(GRO, XTC)
    with pytest.raises(SelectionError, match=r"residue SOL \d+ .* is not protein: .* check_protein=False"):
        mdreel.Ramachandran(universe.select_atoms("resid 220"))


def test_ramachandran_warns_once_of_residues_that_it_leaves_out(adk: MDAnalysis.Universe) -> None:
    with pytest.warns(UserWarning, match="2 of 214 residues are left out, .*: MET 1, GLY 214") as caught:
        mdreel.Ramachandran(adk)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    mdreel.Ramachandran(adk.select_atoms("resid 2:213"))


@ignoring
@pytest.mark.parametrize("select", ["protein", "resname LYS", "resid 3:30"])
def test_janin_agrees_with_mdanalysis(adk: MDAnalysis.Universe, select: str) -> None:
    group = adk.select_atoms(select)
    ours, theirs = mdreel.Janin(group).run(step=10), dihedrals.Janin(group).run(step=10)
    for name in GROUPS:
        np.testing.assert_array_equal(getattr(ours, name).ix, getattr(theirs, name).ix)
    np.testing.assert_allclose(ours.results.angles, theirs.results.angles, rtol=0, atol=1e-4)
    assert 0 <= ours.results.angles.min() < 180 < ours.results.angles.max() < 360
    assert ours.residue_labels == [f"{residue.resname} {residue.resid}" for residue in theirs.ag2.residues]


def test_janin_refuses_incomplete_and_ambiguous_residues(adk: MDAnalysis.Universe) -> None:
    for atoms, message in (
        (adk.select_atoms("resname GLY"), "no residue of the 141 atoms has chi1 and chi2"),
        (
            MDAnalysis.Universe(PDB_janin).select_atoms("protein and resid 682"),
            "no residue of the 5 atoms has all of the torsions",
        ),
        (MDAnalysis.Universe(PDB_full).select_atoms("protein and resid 34"), "has 2 atoms .* one alternate location"),
        (MDAnalysis.Universe(GRO).select_atoms("resid 220"), "is not protein"),
    ):
        with pytest.raises(SelectionError, match=message):
            mdreel.Janin(atoms)
    with pytest.warns(UserWarning, match="select_remove, 'resname GLY'"):
        mdreel.Janin(adk.select_atoms("resname GLY LYS"), "resname GLY")


@pytest.mark.parametrize("kind", [mdreel.Ramachandran, mdreel.Janin])
def test_plot_returns_axes_with_regions_and_points(adk: MDAnalysis.Universe, kind: type) -> None:
    analysis = kind(adk.select_atoms("resname LYS")).run(stop=3)
    axes = matplotlib.figure.Figure().add_subplot()
    assert analysis.plot(axes, c="red") is axes
    n_plain = len(axes.collections)
    np.testing.assert_array_equal(axes.collections[-1].get_offsets(), analysis.results.angles.reshape(-1, 2))
    axes = matplotlib.figure.Figure().add_subplot()
    analysis.plot(axes, ref=True)
    assert len(axes.collections) == n_plain + 1
    regions = axes.collections[0]
    # The α-helix and the rotamer -60, 180 are in the densest regions of the reference structures.
    densest = regions.get_paths()[-1]
    assert densest.contains_point((-62, -42) if kind is mdreel.Ramachandran else (291, 171))
    assert not densest.contains_point((60, -120) if kind is mdreel.Ramachandran else (120, 10))


@ignoring
def test_attribute_that_moved_to_the_results_warns(adk: MDAnalysis.Universe) -> None:
    analysis = mdreel.Ramachandran(adk).run(stop=1)
    with pytest.warns(DeprecationWarning, match="results.angles"):
        np.testing.assert_array_equal(analysis.angles, analysis.results.angles)


@ignoring
def test_distribution_is_a_map(adk: MDAnalysis.Universe) -> None:
    figure = mdreel.Ramachandran(adk).run(stop=2).plot_distribution()
    assert figure.axes[0].get_xlabel() == "φ (degrees)"
