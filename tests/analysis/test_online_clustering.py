"""Tests of online clusters against every comparison of a frame with the leaders before it."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from growing_file import grow
from mdreel.analysis import OnlineClustering
from mdreel.errors import MismatchError, SelectionError, UnitWarning, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ALPHA = "protein and name CA"


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


def leaders_of(matrix: np.ndarray, cutoff: float) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and leaders that follow from a matrix of distances, one frame after the other."""
    labels, leaders = [], []
    for frame, distances in enumerate(matrix):
        near = [(distances[leader], number) for number, leader in enumerate(leaders) if distances[leader] <= cutoff]
        labels.append(min(near)[1] if near else len(leaders))
        if not near:
            leaders.append(frame)
    return np.array(labels), np.array(leaders)


@pytest.mark.parametrize("cutoff", [0.3, 0.7, 1.0, 1.5, 2.5, 20.0])
@pytest.mark.parametrize("weights", [None, "mass"])
def test_clusters_follow_from_the_matrix_of_all_pairs(
    universe: MDAnalysis.Universe, cutoff: float, weights: str | None
) -> None:
    select = "resid 20:60 and not name H*"
    matrix = mdreel.DistanceMatrix(universe, select, weights=weights, superposition=True).run().results.dist_matrix
    run = OnlineClustering(universe, select, cutoff, weights).run()
    labels, leaders = leaders_of(matrix, cutoff)
    np.testing.assert_array_equal(run.results.labels, labels)
    np.testing.assert_array_equal(run.results.centers, leaders)
    np.testing.assert_array_equal(run.results.sizes, np.bincount(labels))
    assert run.results.transitions[:, 2].sum() == len(labels) - 1
    atoms = universe.select_atoms(select)
    for leader, positions in zip(run.results.centers.tolist(), run.results.positions, strict=True):
        universe.trajectory[leader]
        np.testing.assert_array_equal(positions, atoms.positions)


def test_many_clusters_follow_from_the_matrix_when_bounds_rule_leaders_out() -> None:
    rng = np.random.default_rng(5)
    shapes = rng.normal(0, 3, (60, 12, 3))
    frames = (shapes[rng.integers(0, 60, 700)] + rng.normal(0, 0.2, (700, 12, 3))).astype(np.float32)
    atoms = MDAnalysis.Universe.empty(12, trajectory=True).atoms
    source = mdreel._core.Source.memory(frames, np.arange(700.0))
    matrix = mdreel.DistanceMatrix(atoms, superposition=True, trajectory=source).run().results.dist_matrix
    for cutoff in (0.3, 0.6, 2.0, 3.0):
        labels, leaders = leaders_of(matrix, cutoff)
        run = OnlineClustering(atoms, None, cutoff, trajectory=source).run(n_workers=2, n_parts=9)
        np.testing.assert_array_equal(run.results.labels, labels)
        np.testing.assert_array_equal(run.results.centers, leaders)


def test_order_of_frames_decides_and_is_kept(universe: MDAnalysis.Universe) -> None:
    order = np.random.default_rng(1).permutation(98)
    matrix = mdreel.DistanceMatrix(universe, ALPHA, superposition=True).run().results.dist_matrix
    shuffled = OnlineClustering(universe, ALPHA, 1.2).run(frames=order)
    labels, leaders = leaders_of(matrix[np.ix_(order, order)], 1.2)
    np.testing.assert_array_equal(shuffled.results.labels, labels)
    np.testing.assert_array_equal(shuffled.results.centers, order[leaders])
    straight = OnlineClustering(universe, ALPHA, 1.2).run()
    assert set(straight.results.centers.tolist()) != set(shuffled.results.centers.tolist())
    part = OnlineClustering(universe, ALPHA, 1.2).run(start=3, step=2)
    np.testing.assert_array_equal(part.results.centers, 3 + 2 * leaders_of(matrix[3::2, 3::2], 1.2)[1])


def test_clusters_are_bitwise_identical_for_all_executors(adk_xtc: Path, tmp_path: Path) -> None:
    clusters = OnlineClustering(MDAnalysis.Universe(PSF), f"{ALPHA} or index 0", 1.1, trajectory=adk_xtc)
    expected = {name: array.tobytes() for name, array in clusters.run(backend="serial").results.items()}
    assert clusters.n_clusters > 4
    for options in (
        {"n_parts": 97},
        {"n_workers": 3, "n_parts": 20},
        {"backend": "processes", "n_workers": 2, "n_parts": 5},
        {"checkpoint": tmp_path / "half.checkpoint", "n_workers": 2},
        {"checkpoint": tmp_path / "half.checkpoint"},  # all of it from the file
    ):
        found = {name: array.tobytes() for name, array in clusters.run(**options).results.items()}
        assert found == expected, options


def test_second_run_does_not_know_the_leaders_of_the_first(universe: MDAnalysis.Universe) -> None:
    clusters = OnlineClustering(universe, ALPHA, 1.2)
    first = clusters.run(start=50).results.labels.copy()
    whole = clusters.run().results
    np.testing.assert_array_equal(whole.labels, OnlineClustering(universe, ALPHA, 1.2).run().results.labels)
    np.testing.assert_array_equal(clusters.run(start=50).results.labels, first)


def test_results_of_a_growing_file_are_a_beginning_of_the_last(tmp_path: Path, adk_xtc: Path) -> None:
    atoms = MDAnalysis.Universe(PSF).select_atoms(ALPHA)
    output, stop_file = tmp_path / "growing.xtc", tmp_path / "stop"
    output.touch()
    with grow("pieces", adk_xtc, output, stop_file) as process:
        source = mdreel.trajectory.follow(output, stop_file=stop_file, timeout=60)
        live = OnlineClustering(atoms, None, 1.2, trajectory=source)
        results = mdreel.live.stream_results([live], every=0, n_workers=2)
        seen = [live.results.labels.copy() for _ in results]
        assert process.wait(60) == 0
    whole = OnlineClustering(atoms, None, 1.2, trajectory=adk_xtc).run().results
    for labels in seen:
        np.testing.assert_array_equal(labels, whole.labels[: len(labels)])
    for name, array in whole.items():
        np.testing.assert_array_equal(live.results[name], array)


def test_one_frame_and_a_cutoff_of_zero(universe: MDAnalysis.Universe) -> None:
    one = OnlineClustering(universe, ALPHA, 0.0).run(stop=1)
    assert one.results.labels.tolist() == [0]
    assert one.results.transitions.shape == (0, 3)
    assert OnlineClustering(universe, ALPHA, 0.0).run(step=9).n_clusters == 11
    assert OnlineClustering(universe, ALPHA, 1e6).run(step=9).n_clusters == 1


def test_structures_of_the_largest_clusters_are_written(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    clusters = OnlineClustering(universe, ALPHA, 1.5).run()
    sizes = clusters.results.sizes
    largest = np.argsort(-sizes, kind="stable")
    assert (largest != np.arange(len(sizes))).any()
    written = MDAnalysis.Universe(str(clusters.save_structures(tmp_path / "two.pdb", n_clusters=2)))
    assert len(written.trajectory) == 2
    for frame, number in zip(written.trajectory, largest, strict=False):
        np.testing.assert_allclose(frame.positions, clusters.results.positions[number], rtol=0, atol=6e-4)
    other = universe.select_atoms("resid 3")
    again = clusters.save_structures(tmp_path / "other.xtc", other, n_clusters=1)
    universe.trajectory[int(clusters.results.centers[largest[0]])]
    found = MDAnalysis.Merge(other).load_new(str(again)).atoms.positions
    np.testing.assert_allclose(found, other.positions, rtol=0, atol=6e-3)


def test_wrong_arguments_are_named(universe: MDAnalysis.Universe) -> None:
    with pytest.raises(SelectionError, match="name XY"):
        OnlineClustering(universe, "name XY")
    for cutoff in (-1.0, np.nan, np.inf):
        with pytest.raises(MismatchError, match="cutoff must"):
            OnlineClustering(universe, ALPHA, cutoff)
    with pytest.warns(UnitWarning, match="nm"):
        OnlineClustering(universe, ALPHA, 0.2)
    with pytest.raises(MismatchError, match="weights"):
        OnlineClustering(universe, ALPHA, weights=[1.0, 2.0])
    with pytest.raises(MismatchError, match="weight"):
        OnlineClustering(universe, ALPHA, weights=np.zeros(214)).run(stop=2)
    with pytest.raises(UnsupportedError):
        OnlineClustering(universe.select_atoms("around 4 resname TRP", updating=True))
