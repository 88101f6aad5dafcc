"""Tests of clusters of frames by the k-means method against its definition and scikit-learn."""

import pickle
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import align, rms
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from mdreel._core import Source, nearest_centers, superposed_rows
from mdreel.analysis import KMeansClustering
from mdreel.analysis.clustering.initial_frames import nani_frames, plus_plus_frames
from mdreel.analysis.clustering.lloyd import lloyd
from mdreel.analysis.clustering.superposed_frames import superposed_on_frame, superposed_on_mean
from mdreel.errors import ArgumentError, MismatchError, SelectionError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ALPHA = "protein and name CA"


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


@pytest.fixture(scope="module")
def frames(universe: MDAnalysis.Universe) -> np.ndarray:
    """Positions of the alpha carbons, a row for each frame."""
    atoms = universe.select_atoms(ALPHA)
    return np.array([atoms.positions.ravel() for _ in universe.trajectory])


def same_partition(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two labels have the same clusters, however they are numbered."""
    pairs = set(zip(first.tolist(), second.tolist(), strict=True))
    return len(pairs) == len(set(first.tolist())) == len(set(second.tolist()))


def k_means(points: np.ndarray, centers: np.ndarray, most: int = 300) -> tuple[np.ndarray, float]:
    """Return labels and inertia by the definition."""
    labels = np.full(len(points), -1)
    for _ in range(most):
        squares = ((points[:, None] - centers[None]) ** 2).sum(axis=2)
        previous, labels = labels, squares.argmin(axis=1)
        if (previous == labels).all():
            break
        centers = np.array([points[labels == one].mean(axis=0) for one in range(len(centers))])
    return labels, float(squares.min(axis=1).sum())


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("init", ["k-means++", "nani"])
@pytest.mark.parametrize("weights", [None, "mass"])
def test_labels_and_inertia_are_those_of_the_definition(
    universe: MDAnalysis.Universe, n_clusters: int, init: str, weights: str | None
) -> None:
    select = "resid 20:60 and not name H*"
    run = KMeansClustering(universe, select, n_clusters=n_clusters, init=init, ref_frame=7, weights=weights).run()
    atoms = universe.select_atoms(select)
    shares = np.ones(len(atoms)) if weights is None else atoms.masses
    shares = shares / shares.sum()
    universe.trajectory[7]
    reference = atoms.positions - (shares[:, None] * atoms.positions.astype(np.float64)).sum(axis=0)
    points = []
    for _ in universe.trajectory:
        moved = atoms.positions - (shares[:, None] * atoms.positions.astype(np.float64)).sum(axis=0)
        rotation, _ = align.rotation_matrix(moved, reference, weights=shares)
        points.append((moved @ rotation.T * np.sqrt(shares)[:, None]).ravel())
    points = np.array(points)
    found = run.results
    labels, inertia = k_means(points, points[found.initial_frames])
    assert same_partition(found.labels, labels)
    assert found.inertia == pytest.approx(inertia, rel=1e-5)
    assert run.is_converged
    np.testing.assert_array_equal(found.sizes, np.bincount(found.labels))
    assert (np.diff(found.sizes) <= 0).all()
    for number, center in enumerate(found.centers.tolist()):
        members = np.flatnonzero(found.labels == number)
        squares = ((points[members] - points[members].mean(axis=0)) ** 2).sum(axis=1)
        assert squares[members == center][0] <= squares.min() + 1e-6


@pytest.mark.parametrize("n_clusters", [1, 2, 4, 7, 12])
@pytest.mark.parametrize("kind", ["positions", "features"])
def test_labels_from_the_same_centres_are_those_of_scikit_learn(frames: np.ndarray, n_clusters: int, kind: str) -> None:
    cluster = pytest.importorskip("sklearn.cluster", reason="scikit-learn is not installed")
    if kind == "positions":
        points = superposed_on_mean(frames, 214, None, 2)
    else:
        points = np.random.default_rng(1).normal(0, 1, (700, 5)) + np.random.default_rng(2).integers(0, 3, (700, 1))
    chosen = np.random.default_rng(n_clusters).choice(len(points), n_clusters, replace=False)
    peer = cluster.KMeans(n_clusters, init=points[chosen], n_init=1, tol=0, max_iter=300).fit(points)
    found = lloyd(points, points[chosen].astype(np.float64), 300, 2)
    np.testing.assert_array_equal(found.labels, peer.labels_)
    assert found.inertia == pytest.approx(peer.inertia_, rel=1e-5)
    assert found.n_iterations == peer.n_iter_


def test_empty_clusters_take_the_farthest_points_as_in_scikit_learn() -> None:
    cluster = pytest.importorskip("sklearn.cluster", reason="scikit-learn is not installed")
    points = np.random.default_rng(3).normal(0, 1, (60, 2))
    centers = np.array([[0.0, 0.0], [50.0, 0.0], [60.0, 0.0], [0.5, 0.5]])
    peer = cluster.KMeans(4, init=centers, n_init=1, tol=0).fit(points)
    found = lloyd(points, centers, 300, 1)
    np.testing.assert_array_equal(found.labels, peer.labels_)
    assert len(np.unique(found.labels)) == 4


def test_points_are_superposed_on_the_mean(universe: MDAnalysis.Universe, frames: np.ndarray) -> None:
    points = superposed_on_mean(frames, 214, None, 2).astype(np.float64) * np.sqrt(214)
    mean = points.mean(axis=0).reshape(214, 3)
    for point, frame in zip(points[::20], frames[::20], strict=True):
        expected = rms.rmsd(frame.reshape(214, 3), mean, center=True, superposition=True)
        found = np.sqrt(((point.reshape(214, 3) - mean) ** 2).sum() / 214)
        assert found == pytest.approx(expected, abs=1e-4)
    average = align.AverageStructure(universe, universe, select=ALPHA, ref_frame=0).run().results.positions
    assert rms.rmsd(average, mean, center=True, superposition=True) < 0.1


def test_atoms_without_weight_do_not_count(frames: np.ndarray) -> None:
    weights = np.where(np.arange(214) < 60, 1.0, 0.0)
    points = superposed_on_mean(frames, 214, weights, 1)
    alone = superposed_on_mean(np.ascontiguousarray(frames[:, :180]), 60, None, 1)
    assert not points[:, 180:].any()
    np.testing.assert_allclose(points[:, :180], alone, atol=1e-4)


def test_nani_takes_the_frames_of_its_definition() -> None:
    rng = np.random.default_rng(5)
    points = rng.normal(0, 1, (140, 6)) * rng.uniform(0.5, 3, 6)

    def mean_square(chosen: np.ndarray) -> float:
        """Mean square distance of all pairs."""
        return float(((chosen[:, None] - chosen[None]) ** 2).sum(axis=2).mean())

    complementary = np.array([mean_square(np.delete(points, i, axis=0)) for i in range(140)])
    dense = np.argsort(-complementary)[:14].tolist()
    expected = [dense[0]]
    while len(expected) < 6:
        left = [i for i in dense if i not in expected]
        expected.append(max(left, key=lambda i: mean_square(points[[*expected, i]])))
    np.testing.assert_array_equal(nani_frames(points, 6, 0.0, 2), expected)


def test_random_frames_are_chosen_in_proportion_to_square_distances() -> None:
    points = np.array([0.0, 1.0, 1.0, 5.0])
    counts = np.zeros(4)
    for seed in range(3000):
        first, second = plus_plus_frames(4, 2, (seed,), lambda i: (points - points[i]) ** 2)
        if first == 0:
            counts[second] += 1
    assert counts[0] == 0
    np.testing.assert_allclose(counts / counts.sum(), [0, 1 / 27, 1 / 27, 25 / 27], atol=0.04)


@pytest.mark.parametrize("init", ["k-means++", "nani"])
def test_clusters_are_bitwise_identical_for_all_executors(adk_xtc: Path, init: str) -> None:
    atoms = f"{ALPHA} or index 0"
    run = KMeansClustering(MDAnalysis.Universe(PSF), atoms, n_clusters=4, init=init, trajectory=adk_xtc)
    expected = {name: np.asarray(value).tobytes() for name, value in run.run(backend="serial").results.items()}
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        found = {name: np.asarray(value).tobytes() for name, value in run.run(**options).results.items()}
        assert found == expected, options


def test_kernels_give_the_same_bits_on_any_number_of_threads() -> None:
    frames = np.random.default_rng(1).normal(0, 8, (1500, 33)).astype(np.float32)
    reference = frames[0].reshape(11, 3).astype(np.float64)
    rows = [superposed_rows(frames, 11, None, reference, n) for n in (1, 2, 5)]
    found = [nearest_centers(rows[0], rows[0][:6].astype(np.float64), n) for n in (1, 2, 5)]
    for one, other in zip(rows[1:], found[1:], strict=True):
        assert one.tobytes() == rows[0].tobytes()
        assert [array.tobytes() for array in other] == [array.tobytes() for array in found[0]]


def test_more_starts_never_raise_the_inertia(universe: MDAnalysis.Universe) -> None:
    inertias = [
        KMeansClustering(universe, ALPHA, n_clusters=8, n_starts=n, seed=3).run().results.inertia for n in (1, 4, 12)
    ]
    assert sorted(inertias, reverse=True) == inertias
    assert inertias[0] > inertias[-1]
    again = KMeansClustering(universe, ALPHA, n_clusters=8, n_starts=12, seed=3).run().results.inertia
    assert again == inertias[-1]


def test_features_are_compared_instead_of_positions(universe: MDAnalysis.Universe) -> None:
    features = np.where(np.arange(98) % 3 == 0, 1000.0, 0.0)[:, None] + np.linspace(0, 1, 98)[:, None]
    run = KMeansClustering(universe, ALPHA, n_clusters=2, features=features).run()
    np.testing.assert_array_equal(run.results.labels, np.where(np.arange(98) % 3 == 0, 1, 0))
    assert run.results.positions.shape == (2, 214, 3)
    universe.trajectory[int(run.results.centers[1])]
    np.testing.assert_array_equal(run.results.positions[1], universe.select_atoms(ALPHA).positions)
    part = KMeansClustering(universe, ALPHA, n_clusters=2, features=features[10::4]).run(start=10, step=4)
    np.testing.assert_array_equal(part.results.labels == part.results.labels[2], np.arange(10, 98, 4) % 3 == 0)
    assert part.results.labels[2] == 1


def test_iterations_end_at_the_limit(universe: MDAnalysis.Universe) -> None:
    run = KMeansClustering(universe, ALPHA, n_clusters=6, n_starts=1, max_iterations=1).run()
    assert (run.is_converged, run.results.n_iterations) == (False, 1)
    with pytest.raises(AttributeError, match="call run"):
        _ = KMeansClustering(universe, ALPHA, n_clusters=6).is_converged


def test_one_frame_and_frames_that_are_the_same(universe: MDAnalysis.Universe) -> None:
    for init in ("k-means++", "nani"):
        one = KMeansClustering(universe, ALPHA, n_clusters=1, init=init).run(stop=1).results
        assert (one.labels.tolist(), one.centers.tolist()) == ([0], [0])
        assert one.inertia == pytest.approx(0, abs=1e-9)
        twice = KMeansClustering(universe, ALPHA, n_clusters=2, init=init).run(frames=[5, 90, 5]).results
        assert (twice.labels.tolist(), twice.centers.tolist()) == ([0, 1, 0], [5, 90])
        with pytest.raises(MismatchError, match=r"n_clusters is 3, but only 2 of the"):
            KMeansClustering(universe, ALPHA, n_clusters=3, init=init).run(frames=[5, 90, 5])
        moved = np.array([universe.select_atoms("resid 3").positions + 7 * i for i in range(4)], np.float32)
        rigid = MDAnalysis.Universe.empty(moved.shape[1], trajectory=True)
        with pytest.raises(MismatchError, match=r"only 1 of the"):
            KMeansClustering(rigid, n_clusters=2, init=init, trajectory=Source.memory(moved, np.arange(4.0))).run()
    every = KMeansClustering(universe, ALPHA, n_clusters=7).run(frames=range(0, 98, 14))
    assert sorted(every.results.labels.tolist()) == list(range(7))
    assert every.results.inertia == pytest.approx(0, abs=1e-9)


def test_invalid_input_is_refused(universe: MDAnalysis.Universe) -> None:
    def made(**arguments: object) -> KMeansClustering:
        return KMeansClustering(universe, ALPHA, **{"n_clusters": 3, **arguments})

    with pytest.raises(ArgumentError, match="n_clusters"):
        KMeansClustering(universe, ALPHA)
    for arguments, message in (
        ({"n_clusters": 0}, "n_clusters must be 1 or more, not 0"),
        ({"n_starts": 0}, "n_starts must be 1 or more"),
        ({"seed": -1}, "seed must be 0 or more"),
        ({"max_iterations": 0}, "max_iterations must be 1 or more"),
        ({"init": "nani", "n_starts": 5}, "always starts from the same frames"),
        ({"features": [1.0, 2.0]}, r"features must have the shape \(n_frames, n_features\), not \(2,\)"),
        ({"features": [[1.0], [np.nan]]}, "row 1, column 0 is nan"),
        ({"features": [[1.0]], "weights": "mass"}, "are for positions"),
        ({"weights": [1.0]}, "weights must have the shape"),
    ):
        with pytest.raises(MismatchError, match=message):
            made(**arguments)
    with pytest.raises(MismatchError, match="init must be"):
        made(init="random")
    with pytest.raises(MismatchError, match="there are only 98 frames"):
        made(n_clusters=99).run()
    with pytest.raises(MismatchError, match="features has 3 rows, but 98 frames"):
        made(features=np.eye(3)).run()
    with pytest.raises(MismatchError, match="ref_frame is 3, which is not among the analysed frames"):
        made(ref_frame=3).run(step=2)
    with pytest.raises(MismatchError, match="too large for a float64"):
        made(features=np.full((98, 1), 1e200) * np.arange(98)[:, None]).run()
    with pytest.raises(SelectionError, match="has no atoms"):
        KMeansClustering(universe, "name XY", n_clusters=2)
    with pytest.raises(UnsupportedError, match="UpdatingAtomGroup"):
        KMeansClustering(universe.select_atoms("around 4 resname TRP", updating=True), n_clusters=2)


def test_finished_clustering_can_be_pickled_saved_and_run_with_others(
    universe: MDAnalysis.Universe, tmp_path: Path
) -> None:
    alone = KMeansClustering(universe, ALPHA, n_clusters=3).run()
    copy = pickle.loads(pickle.dumps(alone))
    np.testing.assert_array_equal(copy.results.labels, alone.results.labels)
    assert copy.is_converged
    _, together = mdreel.run([mdreel.RMSD(universe.atoms), KMeansClustering(universe, ALPHA, n_clusters=3)])
    assert together.results.inertia == alone.results.inertia
    alone.save_structures(tmp_path / "centers.pdb")
    assert len(MDAnalysis.Universe(str(tmp_path / "centers.pdb")).trajectory) == 3
    assert alone.plot().axes
    assert alone.transition_columns()[2].values.sum() == 97


def test_distance_of_points_is_the_deviation_on_the_reference(frames: np.ndarray) -> None:
    points = superposed_on_frame(frames, 214, None, 4, 1).astype(np.float64)
    found = np.linalg.norm(points - points[4], axis=1)
    expected = [rms.rmsd(one.reshape(214, 3), frames[4].reshape(214, 3), superposition=True) for one in frames]
    np.testing.assert_allclose(found, expected, atol=1e-4)
