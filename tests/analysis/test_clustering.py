"""Tests of clusters of frames by the GROMOS method."""

import pickle
import re
import shutil
import subprocess
from pathlib import Path

import MDAnalysis
import mdtraj
import numpy as np
import pytest
from MDAnalysis.analysis import rms
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC

import mdreel
from mdreel._core import Source, gromos_clusters
from mdreel.analysis import GromosClustering
from mdreel.errors import MismatchError, SelectionError, UnitWarning, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ALPHA = "protein and name CA"
ALL = 1 << 40


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


def gromos(matrix: np.ndarray, cutoff: float) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and centres that follow from a matrix of distances, in an obvious way."""
    near = matrix <= cutoff
    np.fill_diagonal(near, True)
    labels, centers = np.full(len(matrix), -1), []
    while (labels < 0).any():
        left = labels < 0
        counts = np.where(left, (near & left).sum(axis=1), -1)
        center = int(counts.argmax())  # the first of several
        labels[near[center] & left] = len(centers)
        centers.append(center)
    return labels, np.array(centers)


def packed(positions: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(positions.reshape(len(positions), -1), np.float32)


@pytest.mark.parametrize("cutoff", [0.0, 0.7, 1.0, 1.5, 2.5, 4.0, 20.0])
@pytest.mark.parametrize("weights", [None, "mass"])
def test_clusters_follow_from_the_matrix_of_all_pairs(
    universe: MDAnalysis.Universe, cutoff: float, weights: str | None
) -> None:
    select = "resid 20:60 and not name H*"
    matrix = mdreel.DistanceMatrix(universe, select, weights=weights, superposition=True).run().results.dist_matrix
    found = GromosClustering(universe, select, cutoff, weights).run().results
    labels, centers = gromos(matrix, cutoff)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_array_equal(found.centers, centers)
    np.testing.assert_array_equal(found.sizes, np.bincount(labels))
    assert (np.diff(found.sizes) <= 0).all()


def test_pair_at_the_cutoff_is_near_and_the_next_number_is_not(universe: MDAnalysis.Universe) -> None:
    matrix = mdreel.DistanceMatrix(universe, ALPHA, superposition=True).run().results.dist_matrix
    for cutoff in np.quantile(matrix[np.triu_indices(98, 1)], [0.05, 0.2, 0.5], method="nearest"):
        for limit in (cutoff, np.nextafter(cutoff, 0)):
            labels, _ = gromos(matrix, limit)
            found = GromosClustering(universe, ALPHA, limit).run().results.labels
            np.testing.assert_array_equal(found, labels)


@pytest.mark.parametrize("files", [(PSF, DCD), (GRO, XTC)], ids=["adk", "water"])
def test_clusters_agree_with_the_matrix_of_mdanalysis(files: tuple[str, str]) -> None:
    universe = MDAnalysis.Universe(*files)
    atoms = universe.select_atoms(ALPHA)
    frames = [atoms.positions.astype(np.float64) for _ in universe.trajectory[::3]]
    matrix = np.array([[0 if a is b else rms.rmsd(a, b, superposition=True) for a in frames] for b in frames])
    upper = np.sort(matrix[np.triu_indices(len(frames), 1)])
    gaps = np.diff(upper)
    for place in (len(upper) // 8, len(upper) // 3):  # where no pair is near the cutoff
        widest = place + int(gaps[place : place + 9].argmax())
        cutoff = upper[widest : widest + 2].mean()
        found = GromosClustering(universe, ALPHA, cutoff).run(step=3).results
        labels, centers = gromos(matrix, cutoff)
        np.testing.assert_array_equal(found.labels, labels)
        np.testing.assert_array_equal(found.centers, 3 * centers)


def test_clusters_agree_with_the_matrix_of_mdtraj(universe: MDAnalysis.Universe) -> None:
    trajectory = mdtraj.load(DCD, top=PSF)
    atoms = trajectory.topology.select("name CA")
    matrix = np.array([10 * mdtraj.rmsd(trajectory, trajectory, i, atom_indices=atoms) for i in range(98)])
    matrix = (matrix + matrix.T) / 2
    upper = np.sort(matrix[np.triu_indices(98, 1)])
    place = 900 + int(np.diff(upper[900:950]).argmax())
    cutoff = upper[place : place + 2].mean()
    found = GromosClustering(universe, "name CA", cutoff).run().results
    np.testing.assert_array_equal(found.labels, gromos(matrix, cutoff)[0])


def test_clusters_agree_with_gromacs(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    gmx = shutil.which("gmx")
    if gmx is None:
        pytest.skip("gmx is not installed")
    atoms = universe.select_atoms("name CA")
    atoms.write(tmp_path / "ca.pdb")
    atoms.write(tmp_path / "ca.xtc", frames=universe.trajectory[:])
    clusters = GromosClustering(MDAnalysis.Universe(str(tmp_path / "ca.pdb")), trajectory=tmp_path / "ca.xtc")
    matrix = mdreel.DistanceMatrix(clusters.atomgroup, trajectory=tmp_path / "ca.xtc", superposition=True).run()
    upper = np.sort(matrix.results.dist_matrix[np.triu_indices(98, 1)])
    place = 700 + int(np.diff(upper[700:760]).argmax())  # where no pair is near the cutoff, which GROMACS rounds
    cutoff = float(upper[place : place + 2].mean())
    command = [gmx, "cluster", "-method", "gromos", "-s", "ca.pdb", "-f", "ca.xtc", "-cutoff", f"{cutoff / 10:.9f}"]
    command += ["-g", "cluster.log", "-o", "rmsd.xpm"]
    done = subprocess.run(
        command, cwd=tmp_path, input="0\n0\n", text=True, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "cluster.log").read_text()
    theirs = _clusters_in(text)
    near = matrix.results.dist_matrix <= cutoff
    ours = GromosClustering(clusters.atomgroup, None, cutoff, trajectory=tmp_path / "ca.xtc").run()
    labels = ours.results.labels
    found = [frozenset(np.flatnonzero(labels == number).tolist()) for number in range(ours.n_clusters)]
    # Frames may have as many neighbours, and GROMACS does not choose the first of them.
    for each in (theirs, found):
        left = np.ones(98, bool)
        for members in each:
            counts = (near & left).sum(axis=1)
            assert len(members) == counts[left].max()
            assert any(frozenset(np.flatnonzero(near[i] & left).tolist()) == members for i in members)
            left[list(members)] = False
        assert not left.any()


def _clusters_in(text: str) -> list[frozenset[int]]:
    """Return the frames of each cluster of a log of GROMACS, in which frames are listed by time."""
    found: list[set[int]] = []
    for line in text[text.index("cl. |") :].splitlines()[1:]:
        number, *_, members = line.split("|")
        if number.strip():
            found.append(set())
        found[-1].update(round(float(time)) for time in members.split())
    times = sorted(time for one in found for time in one)
    return [frozenset(times.index(time) for time in one) for one in found]


def test_clusters_are_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    clusters = GromosClustering(MDAnalysis.Universe(PSF), f"{ALPHA} or index 0", 1.5, trajectory=adk_xtc)
    expected = {name: array.tobytes() for name, array in clusters.run(backend="serial").results.items()}
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        found = {name: array.tobytes() for name, array in clusters.run(**options).results.items()}
        assert found == expected, options


@pytest.mark.parametrize("cutoff", [0.9, 2.0, 5.0])
def test_neighbours_that_do_not_fit_into_memory_are_searched_again(cutoff: float) -> None:
    rng = np.random.default_rng(3)
    ends = rng.normal(0, 6, (2, 30, 3))
    way = np.sort(rng.uniform(0, 1, 900))[:, None, None]
    frames = packed(ends[0] + way * (ends[1] - ends[0]) + rng.normal(0, 0.25, (900, 30, 3)))
    expected = gromos_clusters(frames, 30, None, cutoff, ALL, 1)
    assert 1 < len(expected[1]) < 900
    for most_pairs, n_threads in ((0, 1), (1000, 2), (0, 3)):
        found = gromos_clusters(frames, 30, None, cutoff, most_pairs, n_threads)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_rigid_motion_of_each_frame_changes_no_label(universe: MDAnalysis.Universe) -> None:
    positions = np.array([universe.select_atoms(ALPHA).positions for _ in universe.trajectory], np.float64)
    rng = np.random.default_rng(8)
    rotations, _ = np.linalg.qr(rng.normal(size=(98, 3, 3)))
    rotations *= np.linalg.det(rotations)[:, None, None]
    moved = positions @ rotations + rng.uniform(-40, 40, (98, 1, 3))
    first, second = (gromos_clusters(packed(one), 214, None, 1.2, ALL, 2) for one in (positions, moved))
    np.testing.assert_array_equal(first[0], second[0])
    mirrored = packed(positions * np.where(np.arange(98) % 2, 1, -1)[:, None, None])
    labels = gromos_clusters(mirrored, 214, None, 1.2, ALL, 2)[0]
    assert not set(labels[::2]) & set(labels[1::2])  # no rotation turns a chiral shape into its mirror image


def test_order_of_frames_decides_only_between_frames_of_as_many_neighbours(universe: MDAnalysis.Universe) -> None:
    order = np.random.default_rng(1).permutation(98)
    matrix = mdreel.DistanceMatrix(universe, ALPHA, superposition=True).run().results.dist_matrix[np.ix_(order, order)]
    labels, centers = gromos(matrix, 1.2)
    shuffled = GromosClustering(universe, ALPHA, 1.2).run(frames=order).results
    np.testing.assert_array_equal(shuffled.labels, labels)
    np.testing.assert_array_equal(shuffled.centers, order[centers])


def test_one_frame_and_frames_that_are_the_same(universe: MDAnalysis.Universe) -> None:
    one = GromosClustering(universe, ALPHA, 0.0).run(stop=1)
    assert one.results.labels.tolist() == [0]
    assert one.results.transitions.tolist() == []
    assert one.results.transitions.shape == (0, 3)
    assert one.plot().axes
    twice = GromosClustering(universe, ALPHA, 1e-6).run(frames=[5, 9, 5])  # more than rounding errors
    assert twice.results.labels.tolist() == [0, 1, 0]
    assert twice.results.centers.tolist() == [5, 9]
    assert twice.results.transitions.tolist() == [[0, 1, 1], [1, 0, 1]]
    assert GromosClustering(universe, ALPHA, 1e6).run(step=9).n_clusters == 1


def test_transitions_count_steps_between_and_within_clusters(universe: MDAnalysis.Universe) -> None:
    clusters = GromosClustering(universe, ALPHA, 1.5).run()
    labels, found = clusters.results.labels, clusters.results.transitions
    expected = np.zeros((clusters.n_clusters,) * 2, int)
    np.add.at(expected, (labels[:-1], labels[1:]), 1)
    dense = np.zeros_like(expected)
    dense[found[:, 0], found[:, 1]] = found[:, 2]
    np.testing.assert_array_equal(dense, expected)
    assert (found[:, 2] > 0).all()
    assert [column.values.tolist() for column in clusters.transition_columns()] == found.T.tolist()


def test_tables_have_a_row_per_frame_and_per_cluster(universe: MDAnalysis.Universe) -> None:
    clusters = GromosClustering(universe, ALPHA, 1.5).run(start=3, step=2)
    frame, time, cluster = clusters.columns()
    assert (frame.heading, time.heading, cluster.heading) == ("frame", "time_ps", "cluster")
    np.testing.assert_array_equal(frame.values, np.arange(3, 98, 2))
    number, size, population, center, center_time = (column.values for column in clusters.cluster_columns())
    np.testing.assert_array_equal(number, np.arange(clusters.n_clusters))
    assert population.sum() == pytest.approx(1)
    assert size.sum() == clusters.n_frames
    times = dict(zip(clusters.frames, clusters.times, strict=True))
    assert center_time.tolist() == [times[one] for one in center]
    pytest.importorskip("xarray", reason="xarray is not installed")
    assert clusters.to_xarray().labels.dims == ("frame",)
    assert clusters.to_xarray().positions.dims == ("cluster", "atom", "axis")


@pytest.mark.parametrize("ending", ["pdb", "gro", "xtc", "dcd"])
def test_structures_are_those_of_the_centres(universe: MDAnalysis.Universe, tmp_path: Path, ending: str) -> None:
    group = universe.select_atoms("resid 1:9")[[7, 3, 3, 50]]  # in an order, with a repetition
    clusters = GromosClustering(group, None, 0.5).run()
    assert clusters.n_clusters > 1
    every = clusters.save_structures(tmp_path / f"all.{ending}")
    _check_structures(every, clusters, group, clusters.n_clusters)
    whole = universe.select_atoms("resid 3:8")
    some = clusters.save_structures(tmp_path / f"some.{ending}", whole, n_clusters=2)
    _check_structures(some, clusters, whole, 2)


def _check_structures(path: Path, clusters: GromosClustering, atoms: MDAnalysis.AtomGroup, n_written: int) -> None:
    if path.suffix == ".gro":
        lines = path.read_text().splitlines()
        assert len(lines) == n_written * (len(atoms) + 3)
        rows = [lines[i * (len(atoms) + 3) + 2 :][: len(atoms)] for i in range(n_written)]
        found = np.array([[[float(row[k : k + 8]) for k in (20, 28, 36)] for row in one] for one in rows]) * 10
    else:
        read = MDAnalysis.Merge(atoms).load_new(str(path))
        found = np.array([read.atoms.positions for _ in read.trajectory])
    assert len(found) == n_written
    for positions, frame in zip(found, clusters.results.centers, strict=False):
        atoms.universe.trajectory[int(frame)]
        np.testing.assert_allclose(positions, atoms.positions, rtol=0, atol=0.0061 if path.suffix == ".gro" else 6e-3)


def test_files_of_structures_that_cannot_be_written_are_refused(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    clusters = GromosClustering(universe, ALPHA, 1.5)
    with pytest.raises(AttributeError, match="call run"):
        clusters.save_structures(tmp_path / "a.pdb")
    clusters.run()
    with pytest.raises(UnsupportedError, match="writes no structures"):
        clusters.save_structures(tmp_path / "a.nothing")
    with pytest.raises(MismatchError, match="n_clusters must be 1 to"):
        clusters.save_structures(tmp_path / "a.pdb", n_clusters=0)
    with pytest.raises(MismatchError, match="another Universe"):
        clusters.save_structures(tmp_path / "a.pdb", MDAnalysis.Universe(PSF, DCD).atoms)
    clusters.save_structures(tmp_path / "a.pdb")
    with pytest.raises(FileExistsError):
        clusters.save_structures(tmp_path / "a.pdb")
    clusters.save_structures(tmp_path / "a.pdb", force=True)


def test_clustering_refuses_invalid_input(universe: MDAnalysis.Universe) -> None:
    with pytest.raises(SelectionError, match="has no atoms"):
        GromosClustering(universe, "name XY")
    with pytest.raises(MismatchError, match="weights must have the shape"):
        GromosClustering(universe, ALPHA, weights=[1.0, 2.0])
    for cutoff, message in ((-1.0, "cutoff must be 0 Å or more"), (np.nan, "cutoff must be a number")):
        with pytest.raises(MismatchError, match=message):
            GromosClustering(universe, ALPHA, cutoff)
    with pytest.raises(MismatchError, match="cutoff must be a finite length"):
        GromosClustering(universe, ALPHA, np.inf)
    with pytest.warns(UnitWarning, match=re.escape("0.2 nm are 2 Å")):
        GromosClustering(universe, ALPHA, 0.2)
    for select in ("all", ALPHA):
        with pytest.raises(UnsupportedError, match="UpdatingAtomGroup"):
            GromosClustering(universe.select_atoms("around 4 resname TRP", updating=True), select)
    positions = np.zeros((9, 3, 3), np.float32)
    positions[5, 1, 2] = np.nan
    empty = MDAnalysis.Universe.empty(3, trajectory=True)
    with pytest.raises(MismatchError, match="frame 5: atom 1 of the 3 selected"):
        GromosClustering(empty, trajectory=Source.memory(positions, np.arange(9.0))).run()
    with pytest.raises(MismatchError, match="weights are 0"):
        GromosClustering(universe, ALPHA, weights=np.zeros(214)).run(stop=2)


def test_finished_clustering_can_be_pickled_and_run_with_others(universe: MDAnalysis.Universe) -> None:
    alone = GromosClustering(universe, ALPHA, 1.5).run()
    copy = pickle.loads(pickle.dumps(alone))
    np.testing.assert_array_equal(copy.results.labels, alone.results.labels)
    _, together = mdreel.run([mdreel.RMSD(universe.atoms), GromosClustering(universe, ALPHA, 1.5)])
    for name, array in alone.results.items():
        np.testing.assert_array_equal(together.results[name], array)
