"""Groups that are selected again in each frame, in the analyses that take them: compared with MDAnalysis."""

from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.density import DensityAnalysis
from MDAnalysis.analysis.hydrogenbonds import HydrogenBondAnalysis
from MDAnalysis.lib.distances import distance_array
from MDAnalysisTests.datafiles import TPR, XTC

import mdreel
from mdreel.errors import MismatchError, SelectionError, UnsupportedError

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
