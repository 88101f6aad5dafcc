"""Tests of hierarchical clusters of frames against SciPy on the whole matrix."""

import pickle
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

import mdreel
from mdreel._core import Source
from mdreel.analysis import HierarchicalClustering
from mdreel.errors import MismatchError, SelectionError, UnitWarning, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ALPHA = "protein and name CA"
METHODS = ("single", "complete", "average")


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


def matrix_of(universe: MDAnalysis.Universe, select: str, weights: str | None = None) -> np.ndarray:
    run = mdreel.DistanceMatrix(universe, select, weights=weights, superposition=True).run()
    return np.asarray(run.results.dist_matrix)


def same_clusters(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two labellings have the same clusters."""
    return len(set(zip(found.tolist(), expected.tolist(), strict=True))) == len(set(expected)) == len(set(found))


@pytest.mark.parametrize("weights", [None, "mass"])
@pytest.mark.parametrize("method", METHODS)
def test_trees_and_clusters_are_those_of_scipy(universe: MDAnalysis.Universe, method: str, weights: str | None) -> None:
    select = "resid 20:60 and not name H*"
    matrix = matrix_of(universe, select, weights)
    expected = linkage(squareform(matrix), method)
    for limit in ({"cutoff": 0.9}, {"cutoff": 2.0}, {"n_clusters": 1}, {"n_clusters": 7}, {"n_clusters": 98}):
        found = HierarchicalClustering(universe, select, method, weights=weights, **limit).run().results
        np.testing.assert_allclose(found.linkage, expected, rtol=1e-12)
        criterion = "maxclust" if "n_clusters" in limit else "distance"
        labels = fcluster(expected, *limit.values(), criterion)
        assert same_clusters(found.labels, labels)
        _check_numbers_and_centres(found, matrix)


def _check_numbers_and_centres(found: Any, matrix: np.ndarray) -> None:
    sizes = np.bincount(found.labels)
    np.testing.assert_array_equal(found.sizes, sizes)
    firsts = [int(np.flatnonzero(found.labels == number)[0]) for number in range(len(sizes))]
    order = sorted(range(len(sizes)), key=lambda number: (-sizes[number], firsts[number]))
    assert order == list(range(len(sizes)))
    for number, center in enumerate(found.centers.tolist()):
        members = np.flatnonzero(found.labels == number)
        sums = matrix[np.ix_(members, members)].sum(axis=1)
        assert center in members
        assert sums[members == center][0] <= sums.min() * (1 + 1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_trees_of_random_shapes_are_those_of_scipy(method: str) -> None:
    rng = np.random.default_rng(8)
    shapes = rng.normal(0, 6, (5, 12, 3))
    frames = shapes[rng.integers(0, 5, 300)] + rng.normal(0, 0.6, (300, 12, 3))
    system = MDAnalysis.Universe.empty(12, trajectory=True)
    source = Source.memory(frames.astype(np.float32), np.arange(300.0))
    matrix = mdreel.DistanceMatrix(system, superposition=True, trajectory=source).run().results.dist_matrix
    found = HierarchicalClustering(system, "all", method, n_clusters=5, trajectory=source).run().results
    np.testing.assert_allclose(found.linkage, linkage(squareform(matrix), method), rtol=1e-12)
    assert sorted(found.sizes) == sorted(np.bincount(fcluster(found.linkage, 5, "maxclust"))[1:])


@pytest.mark.parametrize("method", METHODS)
def test_clusters_are_bitwise_identical_for_all_executors(method: str, adk_xtc: Path) -> None:
    run = HierarchicalClustering(MDAnalysis.Universe(PSF), ALPHA, method, n_clusters=6, trajectory=adk_xtc)
    expected = {name: array.tobytes() for name, array in run.run(backend="serial").results.items()}
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        assert {name: array.tobytes() for name, array in run.run(**options).results.items()} == expected, options


def test_one_frame_and_frames_that_are_the_same(universe: MDAnalysis.Universe) -> None:
    for limit in ({"cutoff": 0.0}, {"n_clusters": 1}):
        one = HierarchicalClustering(universe, ALPHA, **limit).run(stop=1)
        assert one.results.labels.tolist() == [0]
        assert one.results.linkage.shape == (0, 4)
        assert one.plot().axes
    twice = HierarchicalClustering(universe, ALPHA, cutoff=1e-6).run(frames=[5, 9, 5])
    assert twice.results.labels.tolist() == [0, 1, 0]
    assert twice.results.centers.tolist() == [5, 9]
    with pytest.raises(MismatchError, match="n_clusters is 3, but there are only 2 frames"):
        HierarchicalClustering(universe, ALPHA, n_clusters=3).run(stop=2)


def test_results_have_the_methods_of_all_clusters(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    run = HierarchicalClustering(universe, ALPHA, "complete", 2.0).run(step=2)
    assert pickle.loads(pickle.dumps(run)).results.labels.tolist() == run.results.labels.tolist()
    assert run.save_structures(tmp_path / "centers.pdb").stat().st_size > 0
    assert [column.name for column in run.columns()] == ["frame", "time", "cluster"]
    assert len(run.cluster_columns()[0].values) == run.n_clusters > 1
    universe.trajectory[int(run.results.centers[1])]
    np.testing.assert_array_equal(run.results.positions[1], universe.select_atoms(ALPHA).positions)
    pytest.importorskip("xarray", reason="xarray is not installed")
    assert run.to_xarray().linkage.dims == ("merge", "property")


def test_invalid_input_is_refused(universe: MDAnalysis.Universe) -> None:
    for limits in ({}, {"cutoff": 1.0, "n_clusters": 3}):
        with pytest.raises(MismatchError, match="give either cutoff, in Å, or n_clusters"):
            HierarchicalClustering(universe, ALPHA, **limits)
    with pytest.raises(MismatchError, match="method must be 'single', 'complete' or 'average', not 'ward'"):
        HierarchicalClustering(universe, ALPHA, "ward", 1.0)  # type: ignore[arg-type]
    with pytest.raises(MismatchError, match="n_clusters must be 1 or more, not 0"):
        HierarchicalClustering(universe, ALPHA, n_clusters=0)
    for cutoff, message in ((-1.0, "0 Å or more"), (np.nan, "must be a number"), (np.inf, "a finite length")):
        with pytest.raises(MismatchError, match=message):
            HierarchicalClustering(universe, ALPHA, cutoff=cutoff)
    with pytest.warns(UnitWarning, match="0.2 nm are 2 Å"):
        HierarchicalClustering(universe, ALPHA, cutoff=0.2)
    with pytest.raises(SelectionError, match="has no atoms"):
        HierarchicalClustering(universe, "name XY", cutoff=1.0)
    with pytest.raises(UnsupportedError, match="UpdatingAtomGroup"):
        HierarchicalClustering(universe.select_atoms("around 4 resname TRP", updating=True), cutoff=1.0)
