"""Tests of correlations between atoms against loops over frames and pairs."""

import math
from pathlib import Path

import MDAnalysis
import networkx
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC

import mdreel
from mdreel._core import Source
from mdreel.analysis import CrossCorrelation
from mdreel.errors import MismatchError, SelectionError, UnsupportedError
from mdreel.execution import pipeline
from mdreel.timing.spans import NO_BLOCK

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ALPHA = "protein and name CA and resid 10:49"


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


def positions_of(atoms: MDAnalysis.AtomGroup, step: int = 1) -> np.ndarray:
    return np.array([atoms.positions for _ in atoms.universe.trajectory[::step]], np.float64)


def superposed(positions: np.ndarray) -> np.ndarray:
    """Superpose frames on the first one with the algorithm of Kabsch."""
    reference = positions[0] - positions[0].mean(axis=0)
    moved = []
    for frame in positions:
        centred = frame - frame.mean(axis=0)
        left, _, right = np.linalg.svd(centred.T @ reference)
        turn = left @ np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))]) @ right
        moved.append(centred @ turn)
    return np.array(moved)


def correlations(positions: np.ndarray) -> np.ndarray:
    """Return the definition of the matrix, pair by pair."""
    d = positions - positions.mean(axis=0)
    n_atoms = positions.shape[1]
    found = np.empty((n_atoms, n_atoms))
    for i in range(n_atoms):
        for j in range(n_atoms):
            dot = (d[:, i] * d[:, j]).sum(axis=1).mean()
            found[i, j] = dot / math.sqrt((d[:, i] ** 2).sum(axis=1).mean() * (d[:, j] ** 2).sum(axis=1).mean())
    return found


def information(positions: np.ndarray) -> np.ndarray:
    """Return the definition of the mutual information, with determinants of covariance matrices."""
    n_atoms = positions.shape[1]
    found = np.full((n_atoms, n_atoms), np.inf)

    def entropy(*atoms: int) -> float:
        return float(np.linalg.slogdet(np.cov(positions[:, list(atoms)].reshape(len(positions), -1).T))[1])

    for i in range(n_atoms):
        for j in range(i):
            found[i, j] = found[j, i] = 0.5 * (entropy(i) + entropy(j) - entropy(i, j))
    return found


@pytest.mark.parametrize("superposition", [False, True])
@pytest.mark.parametrize("files", [(PSF, DCD), (GRO, XTC)], ids=["adk", "water"])
def test_correlations_are_those_of_the_definition(files: tuple[str, str], superposition: bool) -> None:
    atoms = MDAnalysis.Universe(*files).select_atoms(ALPHA)
    frames = superposed(positions_of(atoms)) if superposition else positions_of(atoms)
    found = CrossCorrelation(atoms, superposition=superposition).run().results
    np.testing.assert_allclose(found.correlation, correlations(frames), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(found.correlation, found.correlation.T)
    np.testing.assert_array_equal(np.diag(found.correlation), 1.0)
    assert set(found) == {"correlation"}


@pytest.mark.parametrize("superposition", [False, True])
def test_mutual_information_is_that_of_the_definition(universe: MDAnalysis.Universe, superposition: bool) -> None:
    atoms = universe.select_atoms(ALPHA)
    frames = superposed(positions_of(atoms)) if superposition else positions_of(atoms)
    found = CrossCorrelation(universe, ALPHA, superposition, mutual_information=True).run().results
    expected = information(frames)
    np.testing.assert_allclose(found.mutual_information, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found.mutual_information, found.mutual_information.T)
    expected = np.sqrt(1 - np.exp(-2 * expected / 3))
    np.testing.assert_allclose(found.generalized_correlation, expected, rtol=1e-5, atol=1e-6)
    alone = CrossCorrelation(universe, ALPHA, superposition).run().results
    np.testing.assert_allclose(found.correlation, alone.correlation, rtol=0, atol=1e-12)


def test_directions_matter_for_correlations_but_not_for_information() -> None:
    rng = np.random.default_rng(2)
    moves = rng.normal(size=(4000, 3))
    noise = rng.normal(size=(4000, 3))
    turned = moves[:, [1, 2, 0]]
    frames = np.stack([moves, moves + 0.1 * noise, -moves + 0.1 * noise, turned + 0.1 * noise, noise], axis=1)
    system = MDAnalysis.Universe.empty(5, trajectory=True)
    source = Source.memory(frames.astype(np.float32), np.arange(4000.0))
    found = CrossCorrelation(system, mutual_information=True, trajectory=source).run().results
    r = 1 / math.sqrt(1.01)
    np.testing.assert_allclose(found.correlation[0], [1, r, -r, 0, 0], rtol=0, atol=0.05)
    # For three independent directions with the same correlation r, the generalized correlation is r.
    np.testing.assert_allclose(found.generalized_correlation[0], [1, r, r, r, 0], rtol=0, atol=0.06)
    assert found.mutual_information[0, 0] == np.inf


def test_results_are_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    universe = MDAnalysis.Universe(PSF)
    for mutual_information in (False, True):
        run = CrossCorrelation(universe, ALPHA, True, mutual_information, trajectory=adk_xtc)
        expected = {name: array.tobytes() for name, array in run.run(backend="serial").results.items()}
        for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
            found = {name: array.tobytes() for name, array in run.run(**options).results.items()}
            assert found == expected, options


def test_atoms_keep_the_given_order_with_repetitions(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms(ALPHA)
    order = [7, 3, 3, 20, 0, 11]
    plain = CrossCorrelation(atoms, mutual_information=True).run().results
    chosen = CrossCorrelation(atoms[order], None, mutual_information=True).run()
    for name in ("correlation", "generalized_correlation"):
        np.testing.assert_allclose(chosen.results[name], plain[name][np.ix_(order, order)], rtol=0, atol=1e-12)
    assert chosen.results.correlation[1, 2] == 1.0
    assert len(set(chosen.atom_labels)) == 5  # the repeated atom is one node


def test_atoms_that_do_not_move_have_no_correlation(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    frames = np.tile(rng.normal(scale=5.0, size=(6, 3)), (20, 1, 1))
    frames[:, :4] += rng.normal(size=(20, 4, 3))
    frames[:, 3, 2] = 7.0  # moves in a plane
    system = MDAnalysis.Universe.empty(6, trajectory=True)
    source = Source.memory(frames.astype(np.float32), np.arange(20.0))
    run = CrossCorrelation(system, mutual_information=True, trajectory=source).run()
    found = run.results
    is_still, is_flat = np.arange(6) >= 4, np.arange(6) >= 3
    np.testing.assert_array_equal(np.isnan(found.correlation), is_still[:, None] | is_still)
    for name in ("mutual_information", "generalized_correlation"):
        np.testing.assert_array_equal(np.isnan(found[name]), is_flat[:, None] | is_flat)
    assert len(run.edge_list(0.0)) == 6
    assert len(run.edge_list(0.0, "generalized_correlation")) == 3
    assert len(run.pair_columns()[0].values) == 15
    assert run.plot(title="").axes
    assert run.save(tmp_path / "pairs.csv").stat().st_size > 0


def test_few_frames_are_refused(universe: MDAnalysis.Universe) -> None:
    with pytest.raises(MismatchError, match="a correlation needs 2 frames or more, not 1: analyse more frames"):
        CrossCorrelation(universe, ALPHA).run(stop=1)
    with pytest.raises(MismatchError, match="the mutual information needs 7 frames or more, not 6"):
        CrossCorrelation(universe, ALPHA, mutual_information=True).run(stop=6)
    two = CrossCorrelation(universe, ALPHA, superposition=True).run(stop=2).results.correlation
    np.testing.assert_allclose(np.diag(two), 1.0)
    np.testing.assert_allclose(np.linalg.matrix_rank(two, tol=1e-5), 3, atol=0)  # one direction for each axis


def test_edges_make_a_network(universe: MDAnalysis.Universe) -> None:
    run = CrossCorrelation(universe, ALPHA, True, mutual_information=True).run()
    for value in ("correlation", "generalized_correlation"):
        matrix = run.results[value]
        edges = run.edge_list(0.6, value)
        graph = networkx.Graph()
        graph.add_edges_from(edges)
        expected = {(i, j) for i in range(40) for j in range(i + 1, 40) if abs(matrix[i, j]) >= 0.6}
        places = {label: i for i, label in enumerate(run.atom_labels)}
        assert len(places) == 40
        assert {(places[one], places[other]) for one, other, _ in edges} == expected
        for one, other, attributes in edges:
            at = matrix[places[one], places[other]]
            assert attributes["correlation"] == at
            assert attributes["weight"] == abs(at)
            assert attributes["distance"] == pytest.approx(-math.log(abs(at)))
        assert networkx.shortest_path(graph, *edges[0][:2], weight="distance")
    with pytest.raises(MismatchError, match="min_correlation must be 0 to 1, not 2"):
        run.edge_list(2.0)


def test_labels_of_atoms_are_unique(universe: MDAnalysis.Universe) -> None:
    every = CrossCorrelation(universe, "resid 10:12")
    assert len(set(every.atom_labels)) == len(every.atomgroup)
    assert every.atom_labels[0] == "ALA 10 N" if every.atomgroup[0].resname == "ALA" else every.atom_labels[0]
    assert CrossCorrelation(universe, ALPHA).atom_labels[0].split()[1:] == ["10"]
    unnamed = CrossCorrelation(MDAnalysis.Universe.empty(3, trajectory=True))
    assert len(set(unnamed.atom_labels)) == 3


def test_table_has_a_row_for_each_pair(universe: MDAnalysis.Universe) -> None:
    run = CrossCorrelation(universe, ALPHA, True, mutual_information=True).run()
    columns = {column.name: column.values for column in run.columns()}
    assert len(columns["correlation"]) == 40 * 39 / 2
    first, second = (np.searchsorted(run.atomgroup.ix, columns[f"{side}_atom"]) for side in ("first", "second"))
    np.testing.assert_array_equal(columns["correlation"], run.results.correlation[first, second])
    np.testing.assert_array_equal(columns["mutual_information"], run.results.mutual_information[first, second])
    np.testing.assert_array_equal(columns["first_resid"], run.atomgroup.resids[first])
    few = {column.name: column.values for column in run.pair_columns(0.8)}
    np.testing.assert_array_equal(few["correlation"], columns["correlation"][np.abs(columns["correlation"]) >= 0.8])
    assert run.plot_generalized(title="").axes
    pytest.importorskip("xarray", reason="xarray is not installed")
    assert run.to_xarray().correlation.dims == ("atom", "other_atom")


def test_what_was_not_computed_is_refused(universe: MDAnalysis.Universe) -> None:
    run = CrossCorrelation(universe, ALPHA)
    with pytest.raises(AttributeError, match="call run"):
        run.edge_list()
    run.run()
    for call in (run.plot_generalized, lambda: run.edge_list(0.5, "generalized_correlation")):
        with pytest.raises(MismatchError, match="create the analysis with mutual_information=True"):
            call()
    with pytest.raises(MismatchError, match="value must be"):
        run.edge_list(0.5, "covariance")  # type: ignore[arg-type]


def test_invalid_input_is_refused(universe: MDAnalysis.Universe) -> None:
    with pytest.raises(SelectionError, match="has no atoms"):
        CrossCorrelation(universe, "name XY")
    with pytest.raises(UnsupportedError, match="UpdatingAtomGroup"):
        CrossCorrelation(universe.select_atoms("around 4 resname ALA", updating=True))
    with pytest.raises(MismatchError, match="select fewer atoms"):
        CrossCorrelation(MDAnalysis.Universe(GRO, XTC)).run()


def test_correlations_can_be_computed_with_others_in_one_pass(universe: MDAnalysis.Universe) -> None:
    alone = CrossCorrelation(universe, ALPHA, True).run(start=5, step=3)
    together = CrossCorrelation(universe, ALPHA, True)
    mdreel.run([mdreel.RMSD(universe.atoms), together], start=5, step=3)
    np.testing.assert_array_equal(together.results.correlation, alone.results.correlation)


def test_runs_with_many_sums_have_few_blocks(universe: MDAnalysis.Universe, monkeypatch: pytest.MonkeyPatch) -> None:
    def n_blocks() -> int:
        spans = CrossCorrelation(universe, ALPHA).run(n_workers=2).timing.spans
        return len(set(spans["block"].tolist()) - {NO_BLOCK})

    usual, n_sums = n_blocks(), 3 * 40 + 40 * 41 // 2
    monkeypatch.setattr(pipeline, "_MANY_SUMS", n_sums)
    assert n_blocks() == usual > 4
    monkeypatch.setattr(pipeline, "_MANY_SUMS", n_sums - 1)
    assert n_blocks() == 4
