"""Tests of clusters of frames by the DBSCAN method against its definition and scikit-learn."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from mdreel._core import density_clusters
from mdreel.analysis import DensityClustering
from mdreel.errors import MismatchError, SelectionError, UnitWarning, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ALPHA = "protein and name CA"
LIMITS = [(0.7, 1), (0.7, 10), (0.55, 6), (1.0, 6), (1.5, 20), (3.0, 5), (0.0, 2)]


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


def dbscan(matrix: np.ndarray, cutoff: float, min_frames: int) -> np.ndarray:
    """Return labels by the definition: clusters grow from one core frame after the other."""
    near = matrix <= cutoff
    np.fill_diagonal(near, True)
    is_core = near.sum(axis=1) >= min_frames
    labels, number = np.full(len(matrix), -1), 0
    for seed in range(len(matrix)):
        if labels[seed] >= 0 or not is_core[seed]:
            continue
        waiting = [seed]
        while waiting:
            frame = waiting.pop()
            if labels[frame] < 0:
                labels[frame] = number
                waiting += np.flatnonzero(near[frame]).tolist() if is_core[frame] else []
        number += 1
    return labels


def by_size(labels: np.ndarray) -> np.ndarray:
    """Number clusters by their size, and those of the same size by their first frame."""
    names = [name for name in dict.fromkeys(labels.tolist()) if name >= 0]
    order = sorted(names, key=lambda name: -(labels == name).sum())
    return np.array([order.index(name) if name >= 0 else -1 for name in labels.tolist()])


@pytest.mark.parametrize(("cutoff", "min_frames"), LIMITS)
@pytest.mark.parametrize("weights", [None, "mass"])
def test_labels_are_those_of_the_definition(
    universe: MDAnalysis.Universe, cutoff: float, min_frames: int, weights: str | None
) -> None:
    select = "resid 20:60 and not name H*"
    matrix = mdreel.DistanceMatrix(universe, select, weights=weights, superposition=True).run().results.dist_matrix
    run = DensityClustering(universe, select, cutoff, min_frames, weights).run()
    expected = by_size(dbscan(matrix, cutoff, min_frames))
    np.testing.assert_array_equal(run.results.labels, expected)
    np.testing.assert_array_equal(run.results.sizes, np.bincount(expected[expected >= 0]))
    assert run.n_noise == (expected < 0).sum()
    for number, center in enumerate(run.results.centers.tolist()):
        members = np.flatnonzero(expected == number)
        sums = matrix[np.ix_(members, members)].sum(axis=1)
        assert sums[members == center][0] <= sums.min() * (1 + 1e-12)


@pytest.mark.parametrize(("cutoff", "min_frames"), LIMITS)
def test_labels_are_those_of_scikit_learn(universe: MDAnalysis.Universe, cutoff: float, min_frames: int) -> None:
    cluster = pytest.importorskip("sklearn.cluster", reason="scikit-learn is not installed")
    matrix = mdreel.DistanceMatrix(universe, ALPHA, superposition=True).run().results.dist_matrix
    peer = cluster.DBSCAN(eps=max(cutoff, 1e-9), min_samples=min_frames, metric="precomputed").fit(matrix)
    found = DensityClustering(universe, ALPHA, cutoff, min_frames).run().results.labels
    np.testing.assert_array_equal(found, by_size(peer.labels_))


def test_clusters_are_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    run = DensityClustering(MDAnalysis.Universe(PSF), f"{ALPHA} or index 0", 0.7, 10, trajectory=adk_xtc)
    expected = {name: array.tobytes() for name, array in run.run(backend="serial").results.items()}
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        assert {name: array.tobytes() for name, array in run.run(**options).results.items()} == expected, options


def test_neighbours_that_do_not_fit_into_memory_are_searched_again() -> None:
    rng = np.random.default_rng(3)
    ends = rng.normal(0, 6, (2, 30, 3))
    way = np.sort(rng.uniform(0, 1, 900))[:, None, None] ** 2
    frames = ends[0] + way * (ends[1] - ends[0]) + rng.normal(0, 0.25, (900, 30, 3))
    packed = np.ascontiguousarray(frames.reshape(900, -1), np.float32)
    expected = density_clusters(packed, 30, None, 0.65, 30, 1 << 40, 1)
    assert 1 < len(np.unique(expected)) < 900
    for most_pairs, n_threads in ((0, 1), (1000, 2), (0, 3)):
        np.testing.assert_array_equal(density_clusters(packed, 30, None, 0.65, 30, most_pairs, n_threads), expected)


def test_noise_is_shown_in_tables_and_figures(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    run = DensityClustering(universe, ALPHA, 0.7, 10).run()
    labels, steps = run.results.labels, run.results.transitions
    assert 0 < run.n_noise < 98
    assert run.results.sizes.sum() + run.n_noise == 98
    expected: dict[tuple[int, int], int] = {}
    for pair in zip(labels[:-1].tolist(), labels[1:].tolist(), strict=True):
        expected[pair] = expected.get(pair, 0) + 1
    assert {(one, other): count for one, other, count in steps.tolist()} == expected
    assert (-1, -1) in expected
    (axes,) = run.plot(title="").axes
    axes.figure.canvas.draw()
    assert "noise" in [text.get_text() for text in axes.get_yticklabels()]
    assert run.save_structures(tmp_path / "centers.pdb").stat().st_size > 0


def test_noise_alone_has_no_clusters(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    run = DensityClustering(universe, ALPHA, 0.5, 10**12).run(step=7)
    assert (run.n_clusters, run.n_noise) == (0, 14)
    assert run.results.positions.shape == (0, 214, 3)
    assert run.plot().axes
    assert len(run.cluster_columns()[0].values) == 0
    with pytest.raises(MismatchError, match="no cluster was found: raise the cutoff"):
        run.save_structures(tmp_path / "centers.pdb")


def test_invalid_input_is_refused(universe: MDAnalysis.Universe) -> None:
    with pytest.raises(MismatchError, match="min_frames must be 1 or more, not 0"):
        DensityClustering(universe, ALPHA, min_frames=0)
    for cutoff, message in ((-1.0, "0 Å or more"), (np.nan, "must be a number"), (np.inf, "a finite length")):
        with pytest.raises(MismatchError, match=message):
            DensityClustering(universe, ALPHA, cutoff)
    with pytest.warns(UnitWarning, match="0.2 nm are 2 Å"):
        DensityClustering(universe, ALPHA, 0.2)
    with pytest.raises(SelectionError, match="has no atoms"):
        DensityClustering(universe, "name XY")
    with pytest.raises(UnsupportedError, match="UpdatingAtomGroup"):
        DensityClustering(universe.select_atoms("around 4 resname TRP", updating=True))
