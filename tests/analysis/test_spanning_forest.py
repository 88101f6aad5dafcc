"""Bonds from which molecules are made whole."""

import MDAnalysis as mda
import numpy as np
import pytest
from MDAnalysisTests import datafiles

from mdreel.analysis.topology.spanning_forest import SpanningForest
from mdreel.errors import SelectionError


def neighbours(universe: mda.Universe) -> set[tuple[int, int]]:
    """Return the pairs of atoms that a tree of bonds connects: all bonds, if there are no rings."""
    forest = SpanningForest.of(universe, universe.atoms.ix.astype(np.uint32))
    atoms = forest.atoms.astype(int)
    pairs = zip(atoms, atoms[forest.parents.astype(int)], strict=True)
    return {(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["TPR", "PSF", "PRM", "mol2_molecules"])
def test_trees_consist_of_bonds_of_mdanalysis_and_connect_its_fragments(name: str) -> None:
    universe = mda.Universe(getattr(datafiles, name))
    found = neighbours(universe)
    assert found <= {(min(bond), max(bond)) for bond in universe.bonds.indices.tolist()}
    assert len(found) == universe.atoms.n_atoms - universe.atoms.n_fragments


def test_bonds_that_were_added_or_deleted_are_noticed() -> None:
    universe = mda.Universe.empty(4, trajectory=True)
    universe.add_TopologyAttr("bonds", [(1, 0), (1, 2)])
    assert neighbours(universe) == {(0, 1), (1, 2)}
    universe.add_bonds([(3, 2)])
    universe.delete_bonds([(0, 1)])
    assert neighbours(universe) == {(1, 2), (2, 3)}
    universe.delete_bonds([(1, 2), (2, 3)])
    assert neighbours(universe) == set()


def test_topology_without_bonds_is_refused() -> None:
    universe = mda.Universe.empty(2, trajectory=True)
    with pytest.raises(SelectionError, match="the topology has no bonds"):
        neighbours(universe)
