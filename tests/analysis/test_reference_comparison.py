"""Comparisons of frames with a reference structure, against loops over frames, pairs and orders."""

import math
import warnings
from itertools import pairwise

import MDAnalysis
import networkx
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF
from networkx.algorithms.isomorphism import GraphMatcher, categorical_node_match

import mdreel
from mdreel.analysis import LDDT, NativeContacts, ResidueRMSD, SymmetricRMSD, TMScore
from mdreel.analysis.comparison.equivalent_atoms import equivalent_orders
from mdreel.errors import MismatchError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
FRAMES = slice(0, 98, 24)
SOME = "resid 10:40 and not name H*"


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


def positions_of(atoms: MDAnalysis.AtomGroup) -> np.ndarray:
    return np.array([atoms.positions for _ in atoms.universe.trajectory[FRAMES]], np.float64)


def fit(mobile: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rotation (to multiply from the right) and the shift that superpose points, after Kabsch."""
    centre, target = mobile.mean(axis=0), reference.mean(axis=0)
    left, _, right = np.linalg.svd((mobile - centre).T @ (reference - target))
    turn = left @ np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))]) @ right
    return turn, target - centre @ turn


def lddt(frame: np.ndarray, reference: np.ndarray, residues: np.ndarray, radius: float) -> np.ndarray:
    """Return the score, and that of each residue, pair by pair."""
    kept, possible = np.zeros((2, 1 + residues.max() + 1))
    for i, j in zip(*np.triu_indices(len(frame), 1), strict=True):
        length = math.dist(reference[i], reference[j])
        if residues[i] != residues[j] and length <= radius:
            n_kept = sum(abs(math.dist(frame[i], frame[j]) - length) <= most for most in (0.5, 1, 2, 4))
            for place in (0, 1 + residues[i], 1 + residues[j]):
                kept[place] += n_kept
                possible[place] += 4
    return kept / possible


def test_lddt_is_the_fraction_of_preserved_distances(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms(SOME)
    frames, residues = positions_of(atoms), np.unique(atoms.resindices, return_inverse=True)[1]
    for radius in (15.0, 6.0):
        run = LDDT(universe, select=SOME, radius=radius).run(step=24)
        expected = np.array([lddt(frame, frames[0], residues, radius) for frame in frames])
        np.testing.assert_array_equal(run.results.lddt, expected[:, 0])
        np.testing.assert_array_equal(run.results.residue_lddt, expected[:, 1:])
    assert 0.5 < run.results.lddt[-1] < run.results.lddt[0] == 1


def test_lddt_of_a_residue_without_distances_is_nan() -> None:
    atoms = MDAnalysis.Universe.empty(3, 3, atom_resindex=[0, 1, 2], trajectory=True).atoms
    atoms.positions = [[0, 0, 0], [0, 0, 4], [99, 0, 0]]
    run = LDDT(atoms, select="all", ref_frame=0).run()
    np.testing.assert_array_equal(run.results.residue_lddt, [[1, 1, np.nan]])
    assert run.results.lddt == [1.0]


def test_rmsd_of_residues_is_that_after_superposition_of_all_atoms(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms(SOME)
    frames = positions_of(atoms)
    for superposition in (True, False):
        run = ResidueRMSD(universe, select=SOME, superposition=superposition).run(step=24)
        for found, frame in zip(run.results.residue_rmsd, frames, strict=True):
            turn, shift = fit(frame, frames[0]) if superposition else (np.eye(3), np.zeros(3))
            squares = ((frame @ turn + shift - frames[0]) ** 2).sum(axis=1)
            expected = [math.sqrt(squares[atoms.resindices == one].mean()) for one in np.unique(atoms.resindices)]
            np.testing.assert_allclose(found, expected, atol=1e-6)
        total = mdreel.RMSD(atoms, superposition=superposition).run(step=24).results.rmsd[:, 2]
        np.testing.assert_allclose(run.results.rmsd, total, atol=1e-9)
    assert run.residue_labels[0] == "GLY 10"


def test_native_contacts_are_those_of_the_paper(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms(SOME)
    frames = positions_of(atoms)
    run = NativeContacts(universe, select=SOME).run(step=24)
    pairs = [
        (i, j)
        for i, j in zip(*np.triu_indices(len(atoms), 1), strict=True)
        if abs(atoms.resindices[i] - atoms.resindices[j]) > 3 and math.dist(frames[0][i], frames[0][j]) <= 4.5
    ]
    np.testing.assert_array_equal(run.results.pairs, atoms.ix[np.array(pairs)])
    for found, frame in zip(run.results.q, frames, strict=True):
        terms = [
            1 / (1 + math.exp(5 * (math.dist(frame[i], frame[j]) - 1.8 * math.dist(frames[0][i], frames[0][j]))))
            for i, j in pairs
        ]
        assert found == pytest.approx(np.mean(terms), abs=1e-9)


def test_native_contacts_between_segments_always_count() -> None:
    universe = MDAnalysis.Universe.empty(3, 3, 2, atom_resindex=[0, 1, 2], residue_segindex=[0, 0, 1], trajectory=True)
    universe.atoms.positions = [[0, 0, 0], [0, 0, 3], [0, 3, 0]]
    run = NativeContacts(universe, select="all").run()
    np.testing.assert_array_equal(run.results.pairs, [[0, 2], [1, 2]])
    np.testing.assert_array_equal(
        NativeContacts(universe, select="all", min_separation=1).run().results.pairs[0], [0, 1]
    )


def orders_by_networkx(labels: list[str], bonds: np.ndarray) -> np.ndarray:
    graph = networkx.Graph()
    graph.add_nodes_from((place, {"element": one}) for place, one in enumerate(labels))
    graph.add_edges_from(bonds.tolist())
    matcher = GraphMatcher(graph, graph, categorical_node_match("element", None))
    return np.array(sorted([each[place] for place in range(len(labels))] for each in matcher.isomorphisms_iter()))


@pytest.mark.parametrize("select", ["resid 3 and not name H*", "resid 19", "resid 1:4 and not name H*", "resid 50:53"])
def test_equivalent_orders_are_the_automorphisms_of_the_bonds(universe: MDAnalysis.Universe, select: str) -> None:
    atoms = universe.select_atoms(select)
    bonds = np.asarray(universe.bonds.indices)
    bonds = np.searchsorted(atoms.ix, bonds[np.isin(bonds, atoms.ix).all(axis=1)])
    labels = [name[0] for name in atoms.names]
    if "H" in labels:
        labels = [f"{one}{i}" if one == "H" and i % 3 else one for i, one in enumerate(labels)]
    found = equivalent_orders(labels, bonds, 100_000)
    np.testing.assert_array_equal(found, orders_by_networkx(labels, bonds))
    np.testing.assert_array_equal(found[0], np.arange(len(atoms)))


def test_orders_of_molecules_that_are_not_connected_are_found() -> None:
    bonds = np.array([[0, 1], [2, 3]])
    expected = [[0, 1, 2, 3], [0, 1, 3, 2], [1, 0, 2, 3], [1, 0, 3, 2]]
    expected += [[2, 3, 0, 1], [2, 3, 1, 0], [3, 2, 0, 1], [3, 2, 1, 0]]
    np.testing.assert_array_equal(equivalent_orders(["C"] * 4, bonds, 8), expected)
    with pytest.raises(MismatchError, match="more than 7 equivalent orders"):
        equivalent_orders(["C"] * 4, bonds, 7)


def test_symmetric_rmsd_is_the_smallest_of_all_orders(universe: MDAnalysis.Universe) -> None:
    select = "resid 19 and not name H* C O N"  # the side chain and CA of a phenylalanine
    atoms = universe.select_atoms(select)
    flipped = [list(atoms.names).index(name) for name in ("CD2", "CD1", "CE2", "CE1")]
    places = [list(atoms.names).index(name) for name in ("CD1", "CD2", "CE1", "CE2")]
    frames = positions_of(atoms)
    frames[1:, places] = frames[1:, flipped]
    moved = MDAnalysis.Merge(atoms)
    moved.load_new(frames.astype(np.float32))
    for superposition in (True, False):
        run = SymmetricRMSD(moved, superposition=superposition).run()
        assert len(run.orders) == 2
        for found, frame in zip(run.results.rmsd, frames, strict=True):
            values = []
            for order in run.orders:
                target = frames[0][order]
                turn, shift = fit(frame, target) if superposition else (np.eye(3), np.zeros(3))
                values.append(math.sqrt(((frame @ turn + shift - target) ** 2).sum(axis=1).mean()))
            assert found == pytest.approx(min(values), abs=1e-5)
        assert run.results.rmsd[1] < mdreel.RMSD(moved, superposition=superposition).run().results.rmsd[1, 2]


def scores(frame: np.ndarray, reference: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the TM-score, GDT-TS and GDT-HA after superposition of some residues."""
    turn, shift = fit(frame[chosen], reference[chosen])
    distances = np.linalg.norm(frame @ turn + shift - reference, axis=1)
    scale = 1.24 * np.cbrt(len(frame) - 15) - 1.8
    within = [(distances <= cutoff).mean() for cutoff in (0.5, 1, 2, 4, 8)]
    return np.array([np.mean(1 / (1 + (distances / scale) ** 2)), np.mean(within[1:]), np.mean(within[:4])])


def test_scores_are_at_least_those_of_any_superposition_of_fragments(universe: MDAnalysis.Universe) -> None:
    """The kernel has a slow oracle in Rust; this checks its definition in another language."""
    frames = positions_of(universe.select_atoms("name CA"))
    run = TMScore(universe).run(step=24)
    found = np.column_stack([run.results[name] for name in ("tm_score", "gdt_ts", "gdt_ha")])
    np.testing.assert_allclose(found[0], 1, atol=1e-9)
    for values, frame in zip(found, frames, strict=True):
        for first, last in [*pairwise(range(0, 215, 107)), *pairwise(range(0, 213, 53)), (0, 214)]:
            assert (values >= scores(frame, frames[0], np.arange(first, last)) - 1e-6).all()
    assert 0.5 < found[-1, 0] < 0.9


def test_domain_that_moves_rigidly_leaves_the_score_of_the_other_one(universe: MDAnalysis.Universe) -> None:
    """Move the first 50 residues very far. The best superposition is that of the others."""
    frame = positions_of(universe.select_atoms("name CA"))[0]
    moved = MDAnalysis.Merge(universe.select_atoms("name CA"))
    frames = np.stack([frame, frame + np.where(np.arange(214) < 50, 1e4, 0)[:, None]])
    moved.load_new(frames.astype(np.float32))
    run = TMScore(moved, select="all").run()
    for name in ("tm_score", "gdt_ts", "gdt_ha"):
        assert run.results[name][1] == pytest.approx(164 / 214, abs=1e-6)
    longer = TMScore(moved, select="all", n_residues=428).run().results
    assert longer.gdt_ts[1] == pytest.approx(164 / 428)


def test_reference_in_another_universe_is_compared(universe: MDAnalysis.Universe) -> None:
    other = MDAnalysis.Universe(PSF, DCD)
    for kind, options in ((LDDT, {"select": "name CA"}), (ResidueRMSD, {}), (NativeContacts, {}), (TMScore, {})):
        first = kind(universe, other, ref_frame=97, **options).run(step=97)
        own = kind(universe, ref_frame=97, **options).run(step=97)
        for name in own.results:
            np.testing.assert_array_equal(first.results[name], own.results[name])


def test_invalid_input_is_refused(universe: MDAnalysis.Universe) -> None:
    alpha = universe.select_atoms("name CA")
    with pytest.raises(MismatchError, match="atomgroup has 214 atoms, reference has 213"):
        TMScore(alpha, alpha[1:], select=None)  # a residue without CA
    with pytest.raises(MismatchError, match=r"n_residues must be at least 214.*not 213"):
        TMScore(alpha, n_residues=213)
    with pytest.raises(MismatchError, match="residue MET 1 of segment 4AKE has 2 selected atoms"):
        TMScore(universe, select="name CA CB and resid 1:2 and not (resid 2 and name CB)")
    with pytest.raises(SelectionError, match="no atoms"):
        LDDT(universe, select="resname XYZ")
    with pytest.raises(MismatchError, match="min_separation must be 0 or more residues, not -1"):
        NativeContacts(universe, min_separation=-1)
    with pytest.raises(MismatchError, match="beta and lambda_constant must be more than 0"):
        NativeContacts(universe, beta=0.0)
    with pytest.raises(MismatchError, match="more than 10,000 equivalent orders"):
        SymmetricRMSD(universe, select="resid 1:20")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bare = MDAnalysis.Universe.empty(3, 1, atom_resindex=[0, 0, 0], trajectory=True)
        bare.add_TopologyAttr("names", ["C1", "C2", "C3"])
    with pytest.raises(SelectionError, match="the topology has no bonds"):
        SymmetricRMSD(bare)


def test_one_frame_is_enough(universe: MDAnalysis.Universe) -> None:
    assert LDDT(universe, select="name CA").run(stop=1).results.lddt == [1.0]
    assert TMScore(universe).run(stop=1).results.gdt_ha == [1.0]
