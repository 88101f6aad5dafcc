"""Groups that are selected again in each frame, in the analyses that take them: compared with MDAnalysis."""

from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.density import DensityAnalysis
from MDAnalysis.analysis.hydrogenbonds import HydrogenBondAnalysis
from MDAnalysis.analysis.lineardensity import LinearDensity
from MDAnalysis.lib.distances import distance_array
from MDAnalysisTests.datafiles import TPR, XTC

import mdreel
from mdreel.errors import MismatchError, SelectionError, UnsupportedError
from mdreel.trajectory.convert import convert

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
Atoms = MDAnalysis.AtomGroup


@pytest.fixture
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(TPR, XTC)


def shell(universe: MDAnalysis.Universe, words: str = "name OW and around 4 protein") -> Atoms:
    return universe.select_atoms(words, updating=True)


@pytest.mark.parametrize("same", [None, "residue"])
@pytest.mark.parametrize("second", ["name OW", "changing", "itself"])
def test_radial_distribution_counts_the_pairs_of_each_frame(
    universe: MDAnalysis.Universe, second: str, same: Any
) -> None:
    first = shell(universe)
    if second == "changing":
        other = shell(universe, "not name OW and around 3 (resid 20:40)")
    else:
        other = first if second == "itself" else universe.select_atoms(second)
    rdf = mdreel.InterRDF(first, other, 20, (0.5, 6), exclude_same=same, norm="density").run(stop=4)
    counts = np.zeros(20, int)
    for _ in universe.trajectory[:4]:
        distances = distance_array(first.positions, other.positions, box=universe.dimensions)
        counts_too = np.ones(distances.shape, bool)
        if same is not None:
            counts_too = first.resindices[:, None] != other.resindices[None]
        counts += np.histogram(distances[counts_too], 20, (0.5, 6))[0]
    np.testing.assert_allclose(rdf.results.count, counts, atol=1)  # MDAnalysis has distances in single precision
    shells = 4 / 3 * np.pi * np.diff(np.linspace(0.5, 6, 21) ** 3)
    np.testing.assert_allclose(rdf.results.rdf, rdf.results.count / shells / 4)


def test_distribution_is_normalised_by_the_mean_number_of_pairs(universe: MDAnalysis.Universe) -> None:
    first, other = shell(universe), universe.select_atoms("name OW")
    rdf = mdreel.InterRDF(first, other, 20, (0.5, 6)).run(stop=4)
    n_pairs = np.mean([len(first) * len(other) for _ in universe.trajectory[:4]])
    volume = np.mean([ts.volume for ts in universe.trajectory[:4]])
    shells = 4 / 3 * np.pi * np.diff(np.linspace(0.5, 6, 21) ** 3)
    np.testing.assert_allclose(rdf.results.rdf, rdf.results.count / (4 * shells * n_pairs / volume), rtol=1e-6)


def test_density_counts_the_atoms_of_each_frame(universe: MDAnalysis.Universe) -> None:
    group = shell(universe)
    own, theirs = mdreel.DensityAnalysis(group, 2.0), DensityAnalysis(group, 2.0)
    np.testing.assert_allclose(own.run().results.density.grid, theirs.run().results.density.grid)
    universe.trajectory[0]
    of_first = mdreel.DensityAnalysis(group, 2.0, trajectory=XTC).run()
    np.testing.assert_array_equal(of_first.results.counts, own.results.counts)


def test_grid_needs_atoms_in_the_frame_that_it_is_laid_around(universe: MDAnalysis.Universe) -> None:
    far = universe.select_atoms("protein and prop x > 1e4", updating=True)
    with pytest.raises(SelectionError, match=r"the group has no atoms in frame 0.*gridcenter"):
        mdreel.DensityAnalysis(far).run()


@pytest.mark.parametrize("grouping", ["atoms", "residues", "segments", "fragments"])
def test_linear_density_is_that_of_the_atoms_of_each_frame(universe: MDAnalysis.Universe, grouping: Any) -> None:
    # MDAnalysis leaves out atoms of a triclinic cell, so every frame gets a rectangular cell.
    positions = np.array([ts.positions.copy() for ts in universe.trajectory])
    universe.load_new(positions[:4], dimensions=np.array([80, 80, 60, 90, 90, 90], np.float32))
    words = "(name OW HW1 and around 4 protein) or (protein and prop z < 20)"
    own = mdreel.LinearDensity(shell(universe, words), grouping, 1.5).run()
    theirs = LinearDensity(shell(universe.copy(), words), grouping, 1.5).run()
    for axis in "xyz":
        for name in ("mass_density", "mass_density_stddev", "charge_density", "charge_density_stddev"):
            # An atom at an edge may lie in the next bin, because MDAnalysis wraps it in single precision.
            differences = np.abs(own.results[axis][name] - theirs.results[axis][name])
            assert (differences > 1e-6 * np.abs(theirs.results[axis][name]).max()).sum() <= 2, (axis, name)
    universe.trajectory[-1]
    np.testing.assert_allclose(own.masses, theirs.masses, rtol=1e-6)
    np.testing.assert_allclose(own.charges, theirs.charges, atol=1e-5)


def test_linear_density_of_nothing_is_reported(universe: MDAnalysis.Universe) -> None:
    empty = universe.select_atoms("protein and prop x > 1e4", updating=True)
    with pytest.warns(UserWarning, match="no bin has mass or charge in any frame"):
        found = mdreel.LinearDensity(empty, "residues").run(stop=2).results
    assert not found.z.mass_density.any()
    assert not len(mdreel.LinearDensity(empty).masses)


def test_frame_in_which_a_compound_has_no_mass_is_named(universe: MDAnalysis.Universe) -> None:
    universe.select_atoms("name HW1").masses = 0
    massless = universe.select_atoms("name HW1 and around 4 protein", updating=True)
    with pytest.raises(MismatchError, match=r"frame 0: the selected atoms of compound .* have no mass"):
        mdreel.LinearDensity(massless, "residues").run()


@pytest.mark.parametrize("weights", ["mass", None])
def test_radius_of_gyration_is_that_of_the_atoms_of_each_frame(universe: MDAnalysis.Universe, weights: Any) -> None:
    group = shell(universe, "byres (name OW and around 4 protein)")
    rg = mdreel.Rg(group, weights).run()
    for row, _ in zip(rg.results.rgyr, universe.trajectory, strict=True):
        positions = group.positions.astype(float)
        given = group.masses if weights else np.ones(len(group))
        centre = np.average(positions, axis=0, weights=given)
        square = np.average(((positions - centre) ** 2).sum(axis=1), weights=given)
        np.testing.assert_allclose(row[2], np.sqrt(square))
    empty = mdreel.Rg(universe.select_atoms("protein and prop x > 1e4", updating=True)).run(stop=2)
    assert np.isnan(empty.results.rgyr[:, 2:]).all()
    with pytest.raises(MismatchError, match="weights of atoms that change"):
        mdreel.Rg(group, np.ones(len(group)))


@pytest.mark.parametrize("pairs", ["unique", "all"])
@pytest.mark.parametrize(
    ("second", "pbc"), [("protein and name O* N*", True), ("changing", True), ("changing", False), ("itself", True)]
)
def test_contacts_are_those_of_the_atoms_of_each_frame(
    universe: MDAnalysis.Universe, second: str, pairs: Any, pbc: bool
) -> None:
    first = shell(universe)
    if second == "changing":
        other = shell(universe, "name OW and around 6 (resid 20:40)")
    else:
        other = first if second == "itself" else universe.select_atoms(second)
    given = {"method": "count", "radius": 3.5, "pbc": pbc, "pairs": pairs}
    found = [
        mdreel.Contacts(universe, groups, None, **given).run(stop=3).results.timeseries
        for groups in ((first, other), (other, first))
    ]
    np.testing.assert_array_equal(*found)
    for row, ts in zip(found[0], universe.trajectory[:3], strict=True):
        near = distance_array(first.positions, other.positions, box=ts.dimensions if pbc else None) <= 3.5
        atoms = np.stack([first.ix[np.nonzero(near)[0]], other.ix[np.nonzero(near)[1]]], axis=1)
        expected = len(atoms)
        if pairs == "unique":
            expected = len(np.unique(np.sort(atoms[atoms[:, 0] != atoms[:, 1]], axis=1), axis=0))
        assert row[0] == ts.frame
        assert abs(row[1] - expected) <= 1  # MDAnalysis has distances in single precision
        assert expected > 50


def test_contacts_of_nothing_are_none_and_fractions_need_the_same_atoms(universe: MDAnalysis.Universe) -> None:
    empty = universe.select_atoms("protein and prop x > 1e4", updating=True)
    found = mdreel.Contacts(universe, (empty, "name OW"), None, "count").run(stop=2)
    assert not found.results.timeseries[:, 1].any()
    assert "up to 3,341 atoms that change" in repr(found)
    for refgroup in (0, (empty, empty)):
        with pytest.raises(UnsupportedError, match=r"without updating=True, or count contacts by method='count'"):
            mdreel.Contacts(universe, (empty, "name OW"), refgroup)


@pytest.mark.parametrize("is_alone", [True, False])
def test_area_is_that_of_the_atoms_of_each_frame(universe: MDAnalysis.Universe, is_alone: bool) -> None:
    group = shell(universe, "protein and around 3.5 (resname SOL and around 9 (resid 20:24))")
    # A shell of its own, so that the selection also reads atoms that have no surface.
    surface = None if is_alone else universe.select_atoms("protein")
    given: dict[str, Any] = {"n_sphere_points": 100, "surface": surface}
    total = mdreel.SASA(group, mode="total", **given).run(stop=4)
    areas = np.full((4, len(universe.atoms)), np.nan)
    for ts in universe.trajectory[:4]:
        fixed = universe.atoms[group.ix]
        of_frame = mdreel.SASA(fixed, **given).run(frames=[ts.frame])
        areas[ts.frame, fixed.ix] = of_frame.results.sasa[0]
        assert total.results.total_area[ts.frame] == of_frame.results.total_area[0]
    means = mdreel.SASA(group, average=True, **given).run(stop=4)
    np.testing.assert_array_equal(means.results.total_area, total.results.total_area)
    protein = universe.select_atoms("protein").ix
    np.testing.assert_array_equal(means.results.n_selected, np.isfinite(areas[:, protein]).sum(axis=0))
    with pytest.warns(RuntimeWarning):  # of atoms that are never selected
        mean, variance = np.nanmean(areas[:, protein], axis=0), np.nanvar(areas[:, protein], axis=0)
    np.testing.assert_allclose(means.results.mean, mean)
    np.testing.assert_allclose(means.results.variance, variance, atol=1e-6)
    assert np.isnan(mean).any()
    residues = mdreel.SASA(group, mode="residue", average=True, **given).run(stop=4)
    of_residue = np.array(
        [np.nansum(areas[:, residue.atoms.ix], axis=1) for residue in universe.atoms[protein].residues]
    )
    is_selected = np.array(
        [np.isfinite(areas[:, one.atoms.ix]).any(axis=1) for one in universe.atoms[protein].residues]
    )
    np.testing.assert_array_equal(residues.results.n_selected, is_selected.sum(axis=1))
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(residues.results.mean, of_residue.sum(axis=1) / is_selected.sum(axis=1))
    assert len(residues.residue_labels) == len(of_residue)
    names = [column.name for column in residues.columns()]
    assert names[-3:] == ["sasa", "sasa_std", "n_selected"]


def test_areas_that_a_group_that_changes_does_not_have_are_refused(universe: MDAnalysis.Universe) -> None:
    group = shell(universe, "protein and around 3.5 resname SOL")
    for mode in ("atom", "residue"):
        with pytest.raises(
            UnsupportedError, match=rf"mode '{mode}' needs the same atoms.*use mode='total', or average"
        ):
            mdreel.SASA(group, mode=mode)
    with pytest.raises(UnsupportedError, match="surface is an UpdatingAtomGroup"):
        mdreel.SASA(universe.select_atoms("resid 3"), surface=group)
    with pytest.raises(MismatchError, match="must be a mapping, or give surface"):
        mdreel.SASA(group, mode="total", radii=np.ones(len(group)))
    with pytest.raises(MismatchError, match="surface lacks"):
        mdreel.SASA(group, mode="total", surface=universe.select_atoms("resid 3"))
    empty = universe.select_atoms("protein and prop x > 1e4", updating=True)
    with pytest.warns(UserWarning, match="no selected atom has an area in any frame"):
        assert not mdreel.SASA(empty, mode="total").run(stop=2).results.total_area.any()


def test_outputs_that_need_the_same_atoms_say_what_to_do(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    group = shell(universe)
    remedy = r"select them without updating=True; mdreel\.Selection gives the atoms of each frame"
    with pytest.raises(UnsupportedError, match=remedy):
        mdreel.DistanceArray(group, universe.select_atoms("resid 3"))
    with pytest.raises(UnsupportedError, match=remedy):
        mdreel.DistanceArray(universe.select_atoms("resid 3"), group)
    for name in ("out.xtc", "out.trr", "out.h5", "out.nc", "out.dcd"):
        with pytest.raises(UnsupportedError, match=remedy):
            convert(XTC, tmp_path / name, atoms=group)
    assert not list(tmp_path.iterdir())


def test_hydrogen_bonds_are_those_of_the_atoms_of_each_frame(universe: MDAnalysis.Universe) -> None:
    chosen = {
        "hydrogens_sel": "name HW1 HW2 and around 5 protein",
        "acceptors_sel": "name OW and around 5 protein",
        "update_selections": True,
    }
    own = mdreel.HydrogenBondAnalysis(universe, **chosen).run(stop=3).results.hbonds
    theirs = HydrogenBondAnalysis(universe, **chosen).run(stop=3).results.hbonds
    theirs = theirs[np.lexsort(theirs[:, 3::-1].T)]
    np.testing.assert_array_equal(own[:, :4], theirs[:, :4])
    np.testing.assert_allclose(own[:, 4:], theirs[:, 4:], rtol=1e-4)


def test_what_groups_that_change_cannot_do_is_refused(universe: MDAnalysis.Universe) -> None:
    group = shell(universe)
    with pytest.raises(UnsupportedError, match="exclusion_block needs a fixed order of atoms"):
        mdreel.InterRDF(group, group, exclusion_block=(1, 1))
    several = universe.select_atoms("around 3 protein", "around 4 resid 1", updating=True)
    with pytest.raises(UnsupportedError, match=r"2 selection strings.*join the strings with 'or'"):
        mdreel.InterRDF(several, group)
    with pytest.raises(SelectionError, match="no atom can match"):
        mdreel.Rg(universe.select_atoms("resname XYZ and around 3 protein", updating=True))


def test_groups_without_pairs_in_any_frame_are_reported(universe: MDAnalysis.Universe) -> None:
    empty = universe.select_atoms("protein and prop x > 1e4", updating=True)
    with pytest.warns(UserWarning, match="no pairs in any frame"):
        found = mdreel.InterRDF(empty, universe.select_atoms("name OW"), 10, (0, 3)).run(stop=2).results
    assert np.isnan(found.rdf).all()
    with pytest.warns(UserWarning, match="no atom is selected in any frame"):
        mdreel.Selection(empty).run(stop=2)


def test_only_atoms_of_the_group_must_be_whole(universe: MDAnalysis.Universe) -> None:
    group = shell(universe, "byres (name OW and around 4 protein)")
    assert set(mdreel.Rg(group).molecules) <= set(universe.select_atoms("not protein").ix)


def test_bonds_of_atoms_with_the_same_coordinate_are_those_of_each_frame(universe: MDAnalysis.Universe) -> None:
    chosen = {
        "hydrogens_sel": "name HW1 HW2 and same x as (resid 1:40 and name CA)",
        "acceptors_sel": "name OW",
        "update_selections": True,
    }
    own = mdreel.HydrogenBondAnalysis(universe, **chosen).run(stop=3).results.hbonds
    theirs = HydrogenBondAnalysis(universe, **chosen).run(stop=3).results.hbonds
    assert sorted(map(tuple, own[:, :4])) == sorted(map(tuple, theirs[:, :4]))
    assert len(own)
