"""Commands of analyses write what the analyses give."""

import json
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC

import mdreel

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
INPUT = ("-s", PSF, "-f", DCD)


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF)


def table(path: Path) -> tuple[list[str], np.ndarray]:
    with path.open() as file:
        return file.readline().strip().split(","), np.loadtxt(file, delimiter=",")


def test_rmsf_writes_a_row_for_each_atom(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    done = run("rmsf", *INPUT, "-o", tmp_path / "rmsf.csv", "--plot", tmp_path / "rmsf.png", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    atoms = universe.select_atoms("protein and name CA")
    head, rows = table(tmp_path / "rmsf.csv")
    assert head == ["atom", "resid", "rmsf_angstrom"]
    expected = mdreel.RMSF(atoms, trajectory=DCD).run().results.rmsf
    np.testing.assert_allclose(rows, np.transpose([atoms.ix, atoms.resids, expected]), rtol=1e-12)
    assert (tmp_path / "rmsf.png").read_bytes().startswith(b"\x89PNG")
    assert "CA of GLY 56" in run("rmsf", *INPUT, "-q").stdout


def test_rg_writes_radii_of_each_frame(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    done = run("rg", *INPUT, "-o", tmp_path / "rg.csv", "--plot", tmp_path / "rg.svg", "--step", "7")
    assert done.returncode == 0, done.stderr
    head, rows = table(tmp_path / "rg.csv")
    assert head == ["frame", "time_ps", "rg_angstrom", "rg_x_angstrom", "rg_y_angstrom", "rg_z_angstrom"]
    expected = mdreel.Rg(universe.select_atoms("protein"), trajectory=DCD).run(step=7).results.rgyr
    np.testing.assert_allclose(rows, expected, rtol=1e-12)
    alike = run("rg", *INPUT, "--weights", "none", "-o", tmp_path / "rg.json")
    assert alike.returncode == 0, alike.stderr
    assert json.loads((tmp_path / "rg.json").read_text())["metadata"]["weights"] == "none"


def test_dihedrals_writes_a_column_for_each_torsion(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    options = ("--select", "resid 1:9", "--kind", "chi1", "--kind", "phi")
    done = run("dihedrals", *INPUT, *options, "-o", tmp_path / "a.csv", "--plot", tmp_path / "a.png")
    assert done.returncode == 0, done.stderr
    expected = mdreel.Dihedrals(universe.select_atoms("resid 1:9"), ("chi1", "phi"), trajectory=DCD).run()
    head, rows = table(tmp_path / "a.csv")
    assert head[:4] == ["frame", "time_ps", "chi1_met_1_degree", "chi1_arg_2_degree"]
    np.testing.assert_allclose(rows[:, 2:], expected.results.angles, rtol=1e-12)
    done = run("dihedrals", *INPUT, "--features", "cos_sin", "-q", "--plot", tmp_path / "b.pdf")
    assert done.returncode == 0, done.stderr
    assert "cos psi MET 1" in done.stdout


def test_distances_writes_a_row_for_each_pair(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    options = ("--select", "name CA and resid 1:9", "--other", "name CB and resid 5:9", "--cutoff", "7.5")
    done = run("distances", *INPUT, *options, "-o", tmp_path / "d.csv", "--plot", tmp_path / "d.png")
    assert done.returncode == 0, done.stderr
    first, second = universe.select_atoms(options[1]), universe.select_atoms(options[3])
    expected = mdreel.DistanceArray(first, second, cutoff=7.5, trajectory=DCD).run().results
    head, rows = table(tmp_path / "d.csv")
    assert head == ["atom", "other", "mean_angstrom", "variance_angstrom2", "contact_frequency"]
    np.testing.assert_array_equal(rows[:, 0].reshape(len(first), len(second))[:, 0], first.ix)
    np.testing.assert_array_equal(rows[: len(second), 1], second.ix)
    np.testing.assert_allclose(rows[:, 2].reshape(len(first), len(second)), expected.mean, rtol=1e-12)
    np.testing.assert_allclose(rows[:, 4].reshape(len(first), len(second)), expected.contact_frequency, rtol=1e-12)
    assert f"{len(first) * len(second)}   98 frames" in run("distances", *INPUT, *options, "-q").stdout


def test_helices_writes_a_column_for_each_pair(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    segments = ("--segment", "13:24", "--segment", "31:40", "--segment", "61:73")
    done = run("helices", *INPUT, *segments, "--pairs", "-o", tmp_path / "h.csv", "--plot", tmp_path / "h.png")
    assert done.returncode == 0, done.stderr
    groups = [universe.select_atoms(f"name CA and resid {residues}") for residues in segments[1::2]]
    expected = mdreel.HelixEigenvalues(groups, pairs=True, trajectory=DCD).run().results.eigenvalues
    head, rows = table(tmp_path / "h.csv")
    assert head[2:] == ["helix_1_2_angstrom", "helix_1_3_angstrom", "helix_2_3_angstrom"]
    np.testing.assert_allclose(rows[:, 2:], expected, rtol=1e-12)
    assert run("helices", *INPUT).returncode == 2
    done = run("helices", *INPUT, "--segment", "500:510")
    assert (done.returncode, "no such residue" in done.stderr) == (3, True)


def test_rdf_writes_a_row_for_each_bin(run, tmp_path: Path) -> None:
    files = ("-s", TPR, "-f", XTC, "--step", "5")
    options = ("--select", "name CA", "--other", "name OW", "--bins", "20", "--to", "9")
    done = run("rdf", *files, *options, "-o", tmp_path / "r.csv", "--plot", tmp_path / "r.png")
    assert done.returncode == 0, done.stderr
    system = MDAnalysis.Universe(TPR)
    groups = [system.select_atoms(name) for name in options[1:4:2]]
    expected = mdreel.InterRDF(*groups, 20, (0, 9), exclude_same="residue", trajectory=XTC).run(step=5).results
    head, rows = table(tmp_path / "r.csv")
    assert head == ["r_angstrom", "rdf", "count"]
    np.testing.assert_allclose(rows, np.transpose([expected.bins, expected.rdf, expected.count]), rtol=1e-12)
    assert run("rdf", *files, "--select", "name CA", "--from", "9", "--to", "3").returncode == 3


def test_contacts_writes_a_row_for_each_frame(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    groups = ("name CA and resid 30:59", "name CA and resid 1:29")
    options = ("--select", groups[0], "--other", groups[1], "--radius", "9")
    done = run("contacts", *INPUT, *options, "-o", tmp_path / "q.csv", "--plot", tmp_path / "q.png")
    assert done.returncode == 0, done.stderr
    expected = mdreel.Contacts(universe, groups, 0, radius=9.0, trajectory=DCD).run()
    head, rows = table(tmp_path / "q.csv")
    assert head == ["frame", "time_ps", "q"]
    np.testing.assert_allclose(rows[:, ::2], expected.results.timeseries, rtol=1e-12)
    done = run("contacts", *INPUT, *options, "--method", "count", "-o", tmp_path / "n.csv")
    assert (done.returncode, table(tmp_path / "n.csv")[0][2]) == (0, "contacts")


def test_hbonds_writes_a_row_for_each_bond(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    groups = ("resid 1:100", "resid 50:214")
    options = ("--select", groups[0], "--other", groups[1], "--step", "20")
    done = run("hbonds", *INPUT, *options, "-o", tmp_path / "h.csv", "--plot", tmp_path / "h.png")
    assert done.returncode == 0, done.stderr
    expected = mdreel.HydrogenBondAnalysis(universe, between=groups, trajectory=DCD).run(step=20).results.hbonds
    head, rows = table(tmp_path / "h.csv")
    assert head == ["frame", "donor", "hydrogen", "acceptor", "distance_angstrom", "angle_degree"]
    np.testing.assert_allclose(rows, expected, rtol=1e-12)
    assert run("hbonds", *INPUT, "--hydrogens", "name XX").returncode == 3


def test_analysis_that_cannot_be_prepared_is_one_line(run) -> None:
    done = run("dihedrals", *INPUT, "--select", "name CA and resid 1", "--kind", "phi")
    assert done.returncode == 3
    assert done.stderr == "mdreel: error: no residue of the 1 atoms has a torsion phi\n"
    assert run("rg", *INPUT, "--weights", "charge").returncode == 2
