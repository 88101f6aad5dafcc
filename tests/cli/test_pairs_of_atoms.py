"""Commands about pairs of atoms: distances over time, and site-specific radial distribution functions."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.distances import dist
from MDAnalysis.analysis.rdf import InterRDF_s
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC

from command_results import refused, table

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
INPUT = ("-s", PSF, "-f", DCD)


def test_distances_over_time_have_a_column_for_each_pair(run, tmp_path: Path) -> None:
    selections = ("name CA and resid 55 60", "name CB and resid 169")
    words = ("distances", *INPUT, "--select", selections[0], "--other", selections[1], "--over-time", "-q")
    done = run(*words, "-o", "a.csv", "-o", "a.png")
    assert (done.returncode, done.stderr) == (0, "")
    universe = MDAnalysis.Universe(PSF, DCD)
    first, second = (universe.select_atoms(one) for one in selections)
    head, rows = table(tmp_path / "a.csv")
    assert head[2:] == [f"distance_{i}_{second.ix[0]}_angstrom" for i in first.ix]
    expected = [dist(first, second[[0, 0]])[2] for _ in universe.trajectory]
    np.testing.assert_allclose(rows[:, 2:], expected, rtol=0, atol=1e-5)
    assert "mean distance lowest" in run(*words).stdout


def test_pairs_within_a_selection_are_each_written_once(run, tmp_path: Path) -> None:
    words = ("distances", *INPUT, "--select", "index 3:5", "--over-time", "-q", "--stop", "2", "-o", "a.csv")
    assert run(*words, "-o", "a.png").returncode == 0
    assert table(tmp_path / "a.csv")[0][2:] == [f"distance_{pair}_angstrom" for pair in ("3_4", "3_5", "4_5")]


def test_wrong_distances_are_refused(run) -> None:
    words = ("distances", *INPUT, "--over-time", "-q")
    refused(run(*words, "--cutoff", "5"), 2, "--cutoff", "--over-time")
    refused(run(*words, "--select", "index 3", "--stop", "2"), 3, "--other")
    refused(run(*words, "--select", "resname XYZ"), 3, "matches none")
    refused(run(*words, "--other", "resname XYZ"), 3, "matches none")


def test_site_rdf_agrees_with_mdanalysis(run, tmp_path: Path) -> None:
    selections = ("name CA and resid 1:2", "name CA and resid 5:7")
    words = ("site-rdf", "-s", TPR, "-f", XTC, "--select", selections[0], "--other", selections[1], "--bins", "40")
    done = run(*words, "-q", "-o", "a.csv", "-o", "a.svg")
    assert (done.returncode, done.stderr) == (0, "")
    universe = MDAnalysis.Universe(TPR, XTC)
    first, second = (universe.select_atoms(one) for one in selections)
    expected = InterRDF_s(universe, [(first, second)], nbins=40, norm="rdf").run()
    head, rows = table(tmp_path / "a.csv")
    assert head[0] == "r_angstrom"
    np.testing.assert_allclose(rows[:, 0], expected.results.bins)
    for i, one in enumerate(first.ix):
        for j, other in enumerate(second.ix):
            found = {name: rows[:, head.index(f"{name}_{one}_{other}")] for name in ("rdf", "count", "cdf")}
            np.testing.assert_array_equal(found["count"], expected.results.count[0][i, j])
            np.testing.assert_allclose(found["rdf"], expected.results.rdf[0][i, j], rtol=1e-5)
            np.testing.assert_allclose(found["cdf"], expected.get_cdf()[0][i, j], rtol=1e-12)
    assert "pairs                   6" in run(*words, "-q").stdout


def test_wrong_site_rdfs_are_refused(run) -> None:
    refused(run("site-rdf", *INPUT, "-q", "--other", "index 1"), 3, "no periodic cell")
    refused(run("site-rdf", *INPUT, "-q", "--other", "resname XYZ"), 3, "matches none")
    refused(run("site-rdf", *INPUT, "--norm", "none of these"), 2, "--norm")
    refused(run("site-rdf", "-s", PSF, "-f", "no.xtc", "--other", "index 1"), 3, "no.xtc")
