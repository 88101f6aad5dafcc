"""Command ``mdreel cluster-frames``."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

from command_results import refused, table
from mdreel.analysis import (
    DensityClustering,
    GromosClustering,
    HierarchicalClustering,
    KMeansClustering,
    KMedoidsClustering,
    OnlineClustering,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
INPUT = ("-s", PSF, "-f", DCD, "-q")


@pytest.fixture(scope="module")
def clusters() -> GromosClustering:
    return GromosClustering(MDAnalysis.Universe(PSF, DCD), "protein and name CA", 1.5).run()


def test_tables_structures_and_picture_are_written(run, tmp_path: Path, clusters: GromosClustering) -> None:
    files = ("--clusters", "sizes.csv", "--transitions", "steps.csv", "--structures", "centers.pdb")
    done = run("cluster-frames", *INPUT, "--cutoff", "1.5", "-o", "labels.csv", "--plot", "labels.png", *files)
    assert done.returncode == 0, done.stderr
    head, rows = table(tmp_path / "labels.csv")
    assert head == ["frame", "time_ps", "cluster"]
    np.testing.assert_array_equal(rows[:, 2], clusters.results.labels)
    head, rows = table(tmp_path / "sizes.csv")
    assert head == ["cluster", "size", "population", "center_frame", "center_time_ps"]
    np.testing.assert_array_equal(rows[:, 1], clusters.results.sizes)
    np.testing.assert_array_equal(rows[:, 3], clusters.results.centers)
    head, rows = table(tmp_path / "steps.csv")
    assert head == ["from_cluster", "to_cluster", "count"]
    np.testing.assert_array_equal(rows, clusters.results.transitions)
    assert (tmp_path / "labels.png").stat().st_size > 1000
    written = MDAnalysis.Universe(str(tmp_path / "centers.pdb"))
    assert (len(written.atoms), len(written.trajectory)) == (214, clusters.n_clusters)
    for frame, positions in zip(written.trajectory, clusters.results.positions, strict=True):
        np.testing.assert_allclose(frame.positions, positions, rtol=0, atol=6e-4)


def test_other_atoms_of_the_largest_clusters_are_written(run, tmp_path: Path, clusters: GromosClustering) -> None:
    options = ("--structures", "centers.xtc", "--structure-select", "resid 1:3", "--largest", "2")
    done = run("cluster-frames", *INPUT, "--cutoff", "1.5", *options)
    assert done.returncode == 0, done.stderr
    universe = MDAnalysis.Universe(PSF, DCD)
    atoms = universe.select_atoms("resid 1:3")
    written = MDAnalysis.Merge(atoms).load_new(str(tmp_path / "centers.xtc"))
    assert len(written.trajectory) == 2
    for frame, center in zip(written.trajectory, clusters.results.centers, strict=False):
        universe.trajectory[int(center)]
        np.testing.assert_allclose(frame.positions, atoms.positions, rtol=0, atol=6e-3)


def test_summary_lists_the_largest_clusters(run, clusters: GromosClustering) -> None:
    text = run("cluster-frames", *INPUT, "--cutoff", "1.5").stdout
    assert f"frames 98   clusters {clusters.n_clusters}" in text
    assert f"centre: frame {clusters.results.centers[0]}" in text


def test_tables_have_the_units_of_the_command(run, tmp_path: Path) -> None:
    done = run("cluster-frames", *INPUT, "--cutoff", "1.5", "-tu", "ns", "--clusters", "a.csv")
    assert done.returncode == 0, done.stderr
    assert table(tmp_path / "a.csv")[0][-1] == "center_time_ns"


def test_what_cannot_be_written_is_refused_before_the_run(run, tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("old")
    refused(run("cluster-frames", *INPUT, "--clusters", "old.csv"), 2, "exists already")
    refused(run("cluster-frames", *INPUT, "--clusters", "a.nothing"), 2, "known endings of tables")
    refused(run("cluster-frames", *INPUT, "--structures", "a.nothing"), 2, "writes no structures")
    refused(run("cluster-frames", *INPUT, "--largest", "2"), 2, "require --structures")
    refused(run("cluster-frames", *INPUT, "--clusters", "a.csv", "--transitions", "a.csv"), 2, "the same name")
    refused(run("cluster-frames", *INPUT, "--cutoff", "-1"), 2, "--cutoff")
    options = ("--structures", "a.pdb", "--structure-select", "name XY")
    refused(run("cluster-frames", *INPUT, *options), 3, "XY")
    assert (tmp_path / "old.csv").read_text() == "old"


@pytest.mark.parametrize("method", ["single", "complete", "average"])
def test_hierarchical_clusters_are_written(run, tmp_path: Path, method: str) -> None:
    files = ("-o", "labels.csv", "--clusters", "sizes.csv", "--structures", "centers.pdb", "--plot", "labels.png")
    done = run("cluster-frames", *INPUT, "--method", method, "--n-clusters", "4", *files)
    assert done.returncode == 0, done.stderr
    universe = MDAnalysis.Universe(PSF, DCD)
    expected = HierarchicalClustering(universe, "protein and name CA", method, n_clusters=4).run().results
    np.testing.assert_array_equal(table(tmp_path / "labels.csv")[1][:, 2], expected.labels)
    np.testing.assert_array_equal(table(tmp_path / "sizes.csv")[1][:, 1], expected.sizes)
    assert len(MDAnalysis.Universe(str(tmp_path / "centers.pdb")).trajectory) == 4
    text = run("cluster-frames", *INPUT, "--method", method, "--cutoff", "1.5").stdout
    limited = HierarchicalClustering(universe, "protein and name CA", method, 1.5).run()
    assert f"clusters {limited.n_clusters}" in text


def test_density_clusters_are_written_with_noise(run, tmp_path: Path) -> None:
    options = ("--method", "dbscan", "--cutoff", "0.7", "--min-frames", "10")
    done = run("cluster-frames", *INPUT, *options, "-o", "labels.csv")
    assert done.returncode == 0, done.stderr
    expected = DensityClustering(MDAnalysis.Universe(PSF, DCD), "protein and name CA", 0.7, 10).run()
    np.testing.assert_array_equal(table(tmp_path / "labels.csv")[1][:, 2], expected.results.labels)
    assert f"noise       {expected.n_noise:>9,} frames" in run("cluster-frames", *INPUT, *options).stdout
    none = ("--method", "dbscan", "--cutoff", "0.5", "--min-frames", "99", "--structures", "none.pdb")
    refused(run("cluster-frames", *INPUT, *none), 4, "no cluster was found")


def test_online_clusters_are_written_and_the_largest_are_listed(run, tmp_path: Path) -> None:
    options = ("--method", "online", "--cutoff", "1.5")
    files = ("-o", "labels.csv", "--structures", "centers.pdb", "--largest", "1")
    done = run("cluster-frames", *INPUT, *options, *files)
    assert done.returncode == 0, done.stderr
    expected = OnlineClustering(MDAnalysis.Universe(PSF, DCD), "protein and name CA", 1.5).run().results
    np.testing.assert_array_equal(table(tmp_path / "labels.csv")[1][:, 2], expected.labels)
    largest = int(expected.sizes.argmax())
    assert largest > 0
    first = run("cluster-frames", *INPUT, *options).stdout.splitlines()[1]
    assert first.split()[:3] == ["cluster", str(largest), str(expected.sizes[largest])]
    written = MDAnalysis.Universe(str(tmp_path / "centers.pdb"))
    np.testing.assert_allclose(written.atoms.positions, expected.positions[largest], rtol=0, atol=6e-4)


def test_options_of_another_method_are_refused(run) -> None:
    refused(run("cluster-frames", *INPUT, "--method", "online", "--n-clusters", "3"), 2, "use --cutoff")
    refused(run("cluster-frames", *INPUT, "--n-clusters", "3"), 2, "use --cutoff")
    refused(run("cluster-frames", *INPUT, "--method", "single", "--min-frames", "3"), 2, "is for --method dbscan")
    both = ("--method", "single", "--n-clusters", "3", "--cutoff", "1")
    refused(run("cluster-frames", *INPUT, *both), 2, "either --cutoff or --n-clusters")
    refused(run("cluster-frames", *INPUT, "--method", "average", "--n-clusters", "99"), 3, "only 98 frames")


@pytest.mark.parametrize("init", ["k-means++", "nani"])
def test_clusters_with_centres_are_written(run, tmp_path: Path, init: str) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    for method, kind in (("k-means", KMeansClustering), ("k-medoids", KMedoidsClustering)):
        options = ("--method", method, "--n-clusters", "4", "--init", init, "--seed", "3")
        files = ("-o", f"{method}.csv", "--clusters", f"{method}_sizes.csv", "--structures", f"{method}.pdb")
        done = run("cluster-frames", *INPUT, *options, *files)
        assert done.returncode == 0, done.stderr
        expected = kind(universe, "protein and name CA", n_clusters=4, init=init, seed=3).run().results
        np.testing.assert_array_equal(table(tmp_path / f"{method}.csv")[1][:, 2], expected.labels)
        np.testing.assert_array_equal(table(tmp_path / f"{method}_sizes.csv")[1][:, 3], expected.centers)
        assert len(MDAnalysis.Universe(str(tmp_path / f"{method}.pdb")).trajectory) == 4


def test_features_of_a_table_are_clustered(run, tmp_path: Path) -> None:
    done = run("projection", *INPUT, "--superposition", "-o", "projections.csv")
    assert done.returncode == 0, done.stderr
    options = ("--method", "k-means", "--n-clusters", "3", "--starts", "4", "--features", "projections.csv")
    done = run("cluster-frames", *INPUT, *options, "-o", "labels.csv")
    assert done.returncode == 0, done.stderr
    rows = table(tmp_path / "projections.csv")[1]
    clusters = KMeansClustering(
        MDAnalysis.Universe(PSF, DCD), "protein and name CA", n_clusters=3, features=rows[:, 2:], n_starts=4
    )
    np.testing.assert_array_equal(table(tmp_path / "labels.csv")[1][:, 2], clusters.run().results.labels)
    refused(run("cluster-frames", *INPUT, *options, "-e", "30"), 3, "98 rows, but")
    (tmp_path / "empty.csv").write_text("frame,time_ps\n0,0\n")
    refused(run("cluster-frames", *INPUT, *options[:-1], "empty.csv"), 3, "the table has no features")
    refused(run("cluster-frames", *INPUT, *options[:-1], "none.csv"), 3, "none.csv")


def test_options_that_methods_with_centres_lack_are_refused(run) -> None:
    for method in ("k-means", "k-medoids"):
        refused(run("cluster-frames", *INPUT, "--method", method), 2, "give --n-clusters")
        refused(run("cluster-frames", *INPUT, "--method", method, "--cutoff", "1"), 2, "give --n-clusters")
        refused(run("cluster-frames", *INPUT, "--method", method, "--n-clusters", "99"), 3, "only 98 frames")
        several = ("--method", method, "--n-clusters", "3", "--init", "nani", "--starts", "2")
        refused(run("cluster-frames", *INPUT, *several), 2, "always starts from the same frames")
    for option in (("--init", "nani"), ("--starts", "3"), ("--seed", "1")):
        refused(run("cluster-frames", *INPUT, *option), 2, "is for --method k-means and k-medoids")
    refused(run("cluster-frames", *INPUT, "--features", "a.csv"), 2, "is for --method k-means")
    weighted = ("--method", "k-means", "--n-clusters", "3", "--features", "a.csv", "--weights", "mass")
    refused(run("cluster-frames", *INPUT, *weighted), 2, "--weights is for positions")
