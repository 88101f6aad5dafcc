"""Tests of clusters of frames by the k-medoids method against all choices of medoids."""

import itertools
import pickle
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from mdreel._core import Source, frame_distances
from mdreel.analysis import KMedoidsClustering
from mdreel.analysis.clustering.medoid_swaps import Medoids
from mdreel.errors import ArgumentError, MismatchError, SelectionError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ALPHA = "protein and name CA"


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


@pytest.fixture(scope="module")
def matrix(universe: MDAnalysis.Universe) -> np.ndarray:
    """RMSDs of all pairs of frames."""
    return mdreel.DistanceMatrix(universe, ALPHA, superposition=True).run().results.dist_matrix


def cost(matrix: np.ndarray, medoids: list[int]) -> float:
    return float(matrix[medoids].min(axis=0).sum())


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 6])
@pytest.mark.parametrize("init", ["k-means++", "nani"])
@pytest.mark.parametrize("weights", [None, "mass"])
def test_no_exchange_of_a_medoid_lowers_the_cost(
    universe: MDAnalysis.Universe, n_clusters: int, init: str, weights: str | None
) -> None:
    select = "resid 20:60 and not name H*"
    matrix = mdreel.DistanceMatrix(universe, select, weights=weights, superposition=True).run().results.dist_matrix
    found = KMedoidsClustering(universe, select, n_clusters=n_clusters, init=init, weights=weights).run().results
    medoids = found.centers.tolist()
    assert found.cost == pytest.approx(cost(matrix, medoids), rel=1e-9)
    np.testing.assert_array_equal(found.labels, matrix[medoids].argmin(axis=0))
    np.testing.assert_array_equal(found.labels[medoids], np.arange(n_clusters))
    np.testing.assert_array_equal(found.sizes, np.bincount(found.labels))
    assert (np.diff(found.sizes) <= 0).all()
    for place, frame in itertools.product(range(n_clusters), range(98)):
        exchanged = [*medoids[:place], frame, *medoids[place + 1 :]]
        assert cost(matrix, exchanged) >= found.cost * (1 - 1e-8)


@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_cost_is_the_smallest_of_all_choices(
    universe: MDAnalysis.Universe, matrix: np.ndarray, n_clusters: int
) -> None:
    few = matrix[::4, ::4]
    least = min(cost(few, list(chosen)) for chosen in itertools.combinations(range(len(few)), n_clusters))
    found = KMedoidsClustering(universe, ALPHA, n_clusters=n_clusters, n_starts=5).run(step=4).results
    assert found.cost == pytest.approx(least, rel=1e-9)


def test_changes_are_those_of_every_exchange(matrix: np.ndarray) -> None:
    rng = np.random.default_rng(2)
    for n_clusters in (1, 2, 5):
        frames = rng.choice(98, n_clusters, replace=False)
        medoids = Medoids(frames, lambda given: matrix[given])
        for frame in range(0, 98, 7):
            found = medoids.changes(matrix[frame])
            for place in range(n_clusters):
                exchanged = [*frames[:place].tolist(), frame, *frames[place + 1 :].tolist()]
                assert found[place] == pytest.approx(cost(matrix, exchanged) - cost(matrix, frames.tolist()), abs=1e-9)


def test_alternating_steps_never_raise_the_cost(universe: MDAnalysis.Universe, matrix: np.ndarray) -> None:
    for seed in range(5):
        made = [
            KMedoidsClustering(universe, ALPHA, n_clusters=5, seed=seed, swap=swap).run().results
            for swap in (False, True)
        ]
        first = cost(matrix, made[0].initial_frames.tolist())
        assert made[1].cost <= made[0].cost <= first * (1 + 1e-12)
        np.testing.assert_array_equal(made[0].initial_frames, made[1].initial_frames)
        for number, center in enumerate(made[0].centers.tolist()):
            members = np.flatnonzero(made[0].labels == number)
            sums = matrix[np.ix_(members, members)].sum(axis=1)
            assert sums[members == center][0] <= sums.min() * (1 + 1e-8)


def test_distances_are_those_of_the_matrix(universe: MDAnalysis.Universe, matrix: np.ndarray) -> None:
    atoms = universe.select_atoms(ALPHA)
    frames = np.array([atoms.positions.ravel() for _ in universe.trajectory])
    given = np.array([5, 97, 0, 5], np.uint32)
    found = [frame_distances(frames, 214, None, given, n) for n in (1, 2, 5)]
    np.testing.assert_allclose(found[0], matrix[given], atol=1e-9)
    assert all(one.tobytes() == found[0].tobytes() for one in found)


@pytest.mark.parametrize("init", ["k-means++", "nani"])
def test_clusters_are_bitwise_identical_for_all_executors(adk_xtc: Path, init: str) -> None:
    atoms = f"{ALPHA} or index 0"
    run = KMedoidsClustering(MDAnalysis.Universe(PSF), atoms, n_clusters=4, init=init, trajectory=adk_xtc)
    expected = {name: np.asarray(value).tobytes() for name, value in run.run(backend="serial").results.items()}
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        found = {name: np.asarray(value).tobytes() for name, value in run.run(**options).results.items()}
        assert found == expected, options


def test_one_frame_and_frames_that_are_the_same(universe: MDAnalysis.Universe) -> None:
    for init, swap in itertools.product(("k-means++", "nani"), (True, False)):
        arguments = {"init": init, "swap": swap}
        one = KMedoidsClustering(universe, ALPHA, n_clusters=1, **arguments).run(stop=1).results
        assert (one.labels.tolist(), one.centers.tolist(), one.cost) == ([0], [0], 0)
        twice = KMedoidsClustering(universe, ALPHA, n_clusters=2, **arguments).run(frames=[5, 90, 5]).results
        assert (twice.labels.tolist(), twice.cost) == ([0, 1, 0], 0)
        with pytest.raises(MismatchError, match=r"n_clusters is 3, but only 2 of the"):
            KMedoidsClustering(universe, ALPHA, n_clusters=3, **arguments).run(frames=[5, 90, 5])
        moved = np.array([universe.select_atoms("resid 3").positions + 7 * i for i in range(4)], np.float32)
        rigid = MDAnalysis.Universe.empty(moved.shape[1], trajectory=True)
        source = Source.memory(moved, np.arange(4.0))
        with pytest.raises(MismatchError, match="only 1 of the"):
            KMedoidsClustering(rigid, n_clusters=2, trajectory=source, **arguments).run()
    every = KMedoidsClustering(universe, ALPHA, n_clusters=7).run(frames=range(0, 98, 14)).results
    assert sorted(every.labels.tolist()) == list(range(7))
    assert every.cost == 0


def test_invalid_input_is_refused(universe: MDAnalysis.Universe) -> None:
    with pytest.raises(ArgumentError, match="n_clusters"):
        KMedoidsClustering(universe, ALPHA)
    for arguments, message in (
        ({"n_clusters": 0}, "n_clusters must be 1 or more, not 0"),
        ({"n_starts": 0}, "n_starts must be 1 or more"),
        ({"seed": -1}, "seed must be 0 or more"),
        ({"init": "nani", "n_starts": 5}, "always starts from the same frames"),
        ({"init": "random"}, "init must be"),
        ({"weights": [1.0]}, "weights must have the shape"),
    ):
        with pytest.raises(MismatchError, match=message):
            KMedoidsClustering(universe, ALPHA, **{"n_clusters": 3, **arguments})
    with pytest.raises(MismatchError, match="there are only 98 frames"):
        KMedoidsClustering(universe, ALPHA, n_clusters=99).run()
    with pytest.raises(SelectionError, match="has no atoms"):
        KMedoidsClustering(universe, "name XY", n_clusters=2)
    with pytest.raises(UnsupportedError, match="UpdatingAtomGroup"):
        KMedoidsClustering(universe.select_atoms("around 4 resname TRP", updating=True), n_clusters=2)
    with pytest.raises(MismatchError, match="weights are 0"):
        KMedoidsClustering(universe, ALPHA, n_clusters=2, weights=np.zeros(214)).run(stop=3)


def test_finished_clustering_can_be_pickled_and_run_with_others(universe: MDAnalysis.Universe) -> None:
    alone = KMedoidsClustering(universe, ALPHA, n_clusters=3).run()
    copy = pickle.loads(pickle.dumps(alone))
    np.testing.assert_array_equal(copy.results.labels, alone.results.labels)
    _, together = mdreel.run([mdreel.RMSD(universe.atoms), KMedoidsClustering(universe, ALPHA, n_clusters=3)])
    assert together.results.cost == alone.results.cost
    assert alone.plot().axes
