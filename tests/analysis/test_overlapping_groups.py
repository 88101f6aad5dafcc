"""Analyses of groups that lack the atoms an analysis needs, ligands that cannot be read, and groups that overlap."""

from collections.abc import Callable
from typing import Any

import MDAnalysis
import numpy as np
import pytest

import mdreel
from incomplete_groups import (
    CA,
    FIRST,
    NO_HYDROGENS,
    SECOND,
    SHELL,
    Universe,
    assert_outcome,
    bridged,
    empty,
    fingerprint,
    plain,
    read,
    same,
    system,
    values,
)
from mdreel import analysis as ana
from mdreel.analysis.base.analysis import Analysis

CLUSTERS = (ana.GromosClustering, ana.DensityClustering, ana.OnlineClustering)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

LACKING: dict[str, tuple[Callable[[Universe], Analysis], Any]] = {
    "alpha carbons": (
        lambda u: mdreel.ResidueContacts(u, scheme="ca", cutoff=8.0),
        (
            r"42 of 54 residues are left out, because they have no alpha carbon .*\(SOL 1354, .*: select only residues",
            same,
        ),
    ),
    "all alpha carbons": (
        lambda u: mdreel.ResidueContacts(u.select_atoms("resname SOL"), scheme="ca"),
        "no residue has an alpha carbon .*: use another scheme, such as 'closest-heavy'",
    ),
    "beta carbons": (
        lambda u: mdreel.ResidueContacts(u.select_atoms("backbone"), scheme="cb", cutoff=8.0),
        (r"9 of 12 residues are left out.*beta carbon.*\(MET 1, ", values(pairs=[[6, 11]])),
    ),
    "side chains": (
        lambda u: mdreel.ResidueContacts(u.select_atoms("backbone"), scheme="sidechain"),
        "no residue has an atom in the side chain of a protein residue: use another scheme",
    ),
    "heavy atoms": (lambda u: mdreel.ResidueContacts(u.select_atoms("name H*")), "no residue has an atom that is not"),
    "one CA of a residue": (lambda u: ana.TMScore(u, select="backbone"), "MET 1 .* has 4 selected atoms: select one"),
    "protein": (lambda u: ana.LDDT(u.select_atoms("resname SOL")), "'protein and not name H\\*' has no atoms"),
    "rings": (
        lambda u: fingerprint(u, "FaceToFace", "EdgeToFace"),
        ("no interactions will be found, because .* in FaceToFace, EdgeToFace: select whole residues, or", empty),
    ),
    "waters with hydrogens": (
        lambda u: bridged(system("protein or name OW")),
        "have no hydrogens, which interactions.*SOL 1354, .*add them to the structure",
    ),
    "hydrogens of one group": (
        lambda u: fingerprint(system("resname SOL or not name H*"), second="resname SOL"),
        NO_HYDROGENS,
    ),
    "other atoms than water": (
        lambda u: ana.WaterOrientationalRelaxation(u, "around 3.5 protein", 2),
        "MET 1 .* but a water molecule has 1 and 2: select only water",
    ),
    "bonds of the selected atoms": (
        lambda u: ana.SymmetricRMSD(u, select="protein and resid 3:6 and name CA"),
        r"4 selected atoms have no bonds to other selected atoms, such as atom 45 \(CA of ILE 3\).*select whole",
    ),
    "donors": (
        lambda u: ana.WaterBridgeAnalysis(u, CA, SECOND),
        ("no bridges will be found, because selection1 .* has no donors with hydrogens and no acceptors", empty),
    ),
    "atoms near each other": (
        lambda u: ana.WaterBridgeAnalysis(
            u, "protein and resid 1 and name N", "protein and resid 12 and name O", order=0
        ),
        (r"no atoms of the selections are within 4 Å in the current frame \(raise order, or", empty),
    ),
    "three atoms of a molecule": (
        lambda u: ana.WaterOrientationalRelaxation(u, SHELL, 2, molecules=[[174, 175, 175]]),
        r"three different atoms, but row 0 is \[174, 175, 175\]",
    ),
}


@pytest.mark.parametrize("name", LACKING)
def test_groups_without_the_needed_atoms_have_a_clear_outcome(name: str) -> None:
    make, outcome = LACKING[name]
    assert_outcome(lambda: make(system()), outcome, plain("contacts of CA") if name == "alpha carbons" else None)


def ligand(change: Callable[[MDAnalysis.AtomGroup], None], select: str = "all") -> Universe:
    """Return the system with one residue as a ligand that RDKit must perceive."""
    universe = system(select)
    universe.residues[2].resname = "LIG"
    change(universe.residues[2].atoms)
    return universe


def bind_too_often(atoms: MDAnalysis.AtomGroup) -> None:
    hydrogens = atoms.select_atoms("name H HA")
    atoms.universe.add_bonds([(atoms.select_atoms("name CB")[0].ix, one.ix) for one in hydrogens])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ligand(bind_too_often), r"RDKit cannot perceive .* LIG 3 \(Explicit valence .*\): check their bonds"),
        (
            lambda: ligand(lambda atoms: setattr(atoms, "elements", ["Xx"] * len(atoms))),
            r"cannot perceive the residues LIG 3 \(Element 'Xx' not found\): check their bonds, elements and hydrogens",
        ),
        (
            lambda: ligand(lambda atoms: None, "not (protein and resid 3 and name H*)"),
            r"residues of the groups have no hydrogens, .*\(LIG 3\): add them",
        ),
    ],
    ids=["valence", "element", "hydrogens"],
)
def test_ligand_that_rdkit_cannot_read_is_named(make: Callable[[], Universe], words: str) -> None:
    pytest.importorskip("rdkit", reason="rdkit is not installed")
    assert_outcome(lambda: fingerprint(make(), first="resname LIG", second="protein and not resname LIG"), words)


CHEMICAL = ("Hydrophobic", "HBDonor", "HBAcceptor", "Cationic", "Anionic", "CationPi", "PiCation")
"""Interactions of TIP4P water too, which has sites without a radius."""


@pytest.mark.parametrize("bonded", ["protein and not resname LIG", "resname LIG", "index 0:1"])
def test_residues_without_bonds_in_the_topology_get_guessed_ones(bonded: str) -> None:
    """Compare with complete bonds. A PDB file may describe only those of a ligand, or between cysteines."""
    pytest.importorskip("rdkit", reason="rdkit is not installed")
    universes = [ligand(lambda atoms: None), ligand(lambda atoms: None)]
    bonds = universes[1].bonds
    kept = bonds.atomgroup_intersection(universes[1].select_atoms(bonded), strict=True)
    universes[1].delete_bonds([bond for bond in bonds if bond not in kept])
    assert 0 < len(universes[1].bonds) < len(universes[0].bonds)
    found, expected = (
        fingerprint(u, *CHEMICAL, first="resname LIG", second="resname SOL or (protein and not resname LIG)").run()
        for u in universes
    )
    assert expected.results.counts.any()
    same(found, expected)


def overlapping(found: Any, expected: Any) -> None:
    """Fail unless the pairs within both groups count once, and no residue is paired with itself."""
    pairs = found.results.pairs
    assert len(np.unique(np.sort(pairs, axis=1), axis=0)) == len(np.unique(pairs, axis=0)) > 0
    assert (pairs[:, 0] != pairs[:, 1]).all()


def both_ways(found: Any, _: Any) -> None:
    """Fail unless each pair of residues that belong to both groups occurs in both orders, as in ProLIF."""
    in_both = set(found.residues.ix.tolist()) & set(found.other_residues.ix.tolist())
    counts = dict(zip(map(tuple, found.results.pairs.tolist()), found.results.frequency.tolist(), strict=True))
    pairs = [pair for pair in counts if set(pair) <= in_both]
    assert pairs
    assert all(one != other for one, other in counts)
    assert all(counts[pair] == counts[pair[::-1]] for pair in pairs)


def twice(name: str, u: Universe) -> Analysis:
    """Return an analysis of a group with each atom twice."""
    atoms = u.select_atoms(CA) + u.select_atoms(CA)
    kinds = {"gromos": CLUSTERS[0], "density": CLUSTERS[1], "online": CLUSTERS[2]}
    if name in kinds:
        return kinds[name](atoms, None)
    if name == "hierarchical":
        return ana.HierarchicalClustering(atoms, None, cutoff=1.0)
    kind = ana.KMeansClustering if name == "k-means" else ana.KMedoidsClustering
    return kind(atoms, None, n_clusters=2)


def same_clusters(found: Any, expected: Any) -> None:
    for key in ("labels", "sizes", "centers"):
        np.testing.assert_array_equal(found.results[key], expected.results[key])


OVERLAPPING: dict[str, tuple[Callable[[Universe], Analysis], Any]] = {
    "contacts": (
        lambda u: mdreel.ResidueContacts(u.select_atoms("protein"), u.select_atoms(SECOND)),
        overlapping,
    ),
    "contacts of atoms that are given twice": (
        lambda u: mdreel.ResidueContacts(u.select_atoms("protein") + u.select_atoms("protein")),
        lambda found, _: same(found, plain("contacts")),
    ),
    "fingerprint": (lambda u: fingerprint(u, "VdWContact", first="protein and resid 1:8"), both_ways),
    "waters in a group": (
        lambda u: ana.InteractionFingerprint(
            u.select_atoms(FIRST), u.atoms, ["WaterBridge"], {"WaterBridge": {"water": u.select_atoms("resname SOL")}}
        ),
        both_ways,
    ),
    "bridges": (
        lambda u: ana.WaterBridgeAnalysis(u, "protein", "protein", "all"),
        lambda found, _: np.testing.assert_array_equal(found.results.counts > 0, np.ones(len(read()[1]), bool)),
    ),
    "survival near itself": (
        lambda u: ana.SurvivalProbability(u, "name OW and around 3 name OW", 2),
        ("no atom is selected in any frame", values(counts=0)),
    ),
    "hydrogens of waters": (
        lambda u: ana.WaterOrientationalRelaxation(u, "resname SOL and around 3.5 protein", 2),
        lambda found, _: same(found, plain("relaxation")),
    ),
    **{
        name: (lambda u, name=name: twice(name, u), lambda found, _, name=name: same_clusters(found, plain(name)))
        for name in ("gromos", "density", "online", "hierarchical", "k-means", "k-medoids")
    },
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_groups_that_overlap_have_a_documented_result(name: str) -> None:
    make, outcome = OVERLAPPING[name]
    assert_outcome(lambda: make(system()), outcome)
