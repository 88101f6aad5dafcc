"""Commands of analyses write what the analyses give."""

import json
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from gridData import Grid
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC

import mdreel
from command_results import TEXT, table

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
INPUT = ("-s", PSF, "-f", DCD)


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF)


def test_rmsf_writes_a_row_for_each_atom(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    done = run("rmsf", *INPUT, "-o", tmp_path / "rmsf.csv", "--plot", tmp_path / "rmsf.png", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    atoms = universe.select_atoms("protein and name CA")
    head, rows = table(tmp_path / "rmsf.csv")
    assert head == ["atom", *TEXT, "resid", "rmsf_angstrom"]
    expected = mdreel.RMSF(atoms, trajectory=DCD).run().results.rmsf
    np.testing.assert_allclose(rows, np.transpose([atoms.ix, atoms.resids, expected]), rtol=1e-12)
    assert (tmp_path / "rmsf.png").read_bytes().startswith(b"\x89PNG")
    assert "CA of GLY 56" in run("rmsf", *INPUT, "-q").stdout


def test_rmsd_writes_a_column_for_each_group(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    groups = ["name CA and resid 122:159", "name CA and resid 30:59"]
    options = ("--select", "name CA and resid 1:29", "--group", groups[0], "--group", groups[1])
    done = run("rmsd", *INPUT, *options, "-o", tmp_path / "rmsd.csv", "--plot", tmp_path / "rmsd.png", "-q")
    assert done.returncode == 0, done.stderr
    head, rows = table(tmp_path / "rmsd.csv")
    assert head[2:] == ["rmsd_angstrom", "rmsd_group_1_angstrom", "rmsd_group_2_angstrom"]
    expected = mdreel.RMSD(universe.select_atoms(options[1]), groupselections=groups, trajectory=DCD).run()
    np.testing.assert_allclose(rows, expected.results.rmsd, rtol=1e-12)
    assert "group 2: mean" in run("rmsd", *INPUT, *options, "-q").stdout


def test_rmsf_can_be_that_after_superposition(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    atoms = universe.select_atoms("protein and name CA")
    for options, by in ((("--superposition",), True), (("--fit", "name CA and resid 1:29"), "name CA and resid 1:29")):
        done = run("rmsf", *INPUT, *options, "-o", tmp_path / "rmsf.csv", "--force", "-q")
        assert done.returncode == 0, done.stderr
        expected = mdreel.RMSF(atoms, superposition=by, trajectory=DCD).run().results.rmsf
        np.testing.assert_allclose(table(tmp_path / "rmsf.csv")[1][:, 2], expected, rtol=1e-12)


def test_average_writes_a_row_for_each_atom(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    done = run("average", *INPUT, "-o", tmp_path / "a.csv", "--plot", tmp_path / "a.png", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    expected = mdreel.AverageStructure(universe, select="protein and name CA", trajectory=DCD).run().results
    head, rows = table(tmp_path / "a.csv")
    assert head == ["atom", *TEXT, "resid", "x_angstrom", "y_angstrom", "z_angstrom", "rmsf_angstrom"]
    np.testing.assert_allclose(rows[:, 2:5], expected.positions, rtol=1e-12)
    assert f"{expected.rmsd:.3f}" in run("average", *INPUT, "-q").stdout
    options = ("average", *INPUT, "--structure", tmp_path / "a.pdb", "-q")
    assert run(*options).returncode == 0
    found = MDAnalysis.Universe(tmp_path / "a.pdb").atoms.positions
    np.testing.assert_allclose(found, expected.positions, rtol=0, atol=6e-4)
    again = run(*options)
    assert (again.returncode, "--force replaces it" in again.stderr) == (2, True)
    assert run(*options, "--force").returncode == 0
    assert run("average", *INPUT, "--structure", tmp_path / "a.doc").returncode == 2


def test_pca_writes_variances_or_components(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    options = ("--select", "name CA and resid 1:20", "--superposition")
    done = run("pca", *INPUT, *options, "-o", tmp_path / "v.csv", "--plot", tmp_path / "v.png", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    expected = mdreel.PCA(universe, options[1], align=True, trajectory=DCD).run().results
    head, rows = table(tmp_path / "v.csv")
    assert head == ["component", "variance_angstrom2", "cumulated_variance"]
    np.testing.assert_allclose(rows[:, 1], expected.variance, rtol=1e-9, atol=1e-12)
    done = run("pca", *INPUT, *options, "--components", "2", "-o", tmp_path / "c.csv", "-q")
    assert done.returncode == 0, done.stderr
    head, rows = table(tmp_path / "c.csv")
    assert head[7:] == ["pc1_x", "pc1_y", "pc1_z", "pc2_x", "pc2_y", "pc2_z"]
    np.testing.assert_allclose(rows[:, 5:8].ravel(), expected.p_components[:, 0], rtol=1e-9, atol=1e-12)
    assert "component 1" in run("pca", *INPUT, *options, "-q").stdout


def test_rmsd2d_writes_a_row_for_each_pair(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    options = ("--step", "20", "--weights", "mass")
    done = run("rmsd2d", *INPUT, *options, "-o", tmp_path / "m.csv", "--plot", tmp_path / "m.png", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    matrix = mdreel.DistanceMatrix(
        universe, "protein and name CA", weights="mass", superposition=True, trajectory=DCD
    ).run(step=20)
    head, rows = table(tmp_path / "m.csv")
    assert head == ["frame", "other", "rmsd_angstrom"]
    first, second = np.triu_indices(5, 1)
    np.testing.assert_array_equal(rows[:, :2], np.transpose([20 * first, 20 * second]))
    np.testing.assert_allclose(rows[:, 2], matrix.results.dist_matrix[first, second], rtol=1e-12)
    assert "frames 0 and 80" in run("rmsd2d", *INPUT, *options, "-q").stdout


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
    assert (done.returncode, "contain no such residue" in done.stderr) == (3, True)


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
    done = run("contacts", *INPUT, *options, "--pbc")
    assert (done.returncode, "no periodic cell" in done.stderr) == (3, True)


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


def test_hbonds_writes_a_row_for_each_lifetime(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    options = ("--select", "resid 1:60", "--lifetime", "12", "--intermittency", "1")
    done = run("hbonds", *INPUT, *options, "-o", tmp_path / "l.csv", "--plot", tmp_path / "l.png")
    assert done.returncode == 0, done.stderr
    expected = mdreel.HydrogenBondAnalysis(universe, between=("resid 1:60",) * 2, trajectory=DCD).run()
    taus, shares = expected.lifetime(12, intermittency=1)
    head, rows = table(tmp_path / "l.csv")
    assert head == ["frames", "lag_time_ps", "bonds_still_there"]
    np.testing.assert_allclose(rows, np.transpose([taus, taus * expected.interval, shares]), rtol=1e-12)
    assert "fewer than 1/e" in run("hbonds", *INPUT, *options, "-q").stdout
    done = run("hbonds", *INPUT, "--lifetime", "99")
    assert (done.returncode, "the number of frames" in done.stderr) == (3, True)
    assert run("hbonds", *INPUT, "--intermittency", "1").returncode == 2


def test_analysis_that_cannot_be_prepared_is_one_line(run) -> None:
    done = run("dihedrals", *INPUT, "--select", "name CA and resid 1", "--kind", "phi")
    assert done.returncode == 3
    assert done.stderr == "mdreel: error: no residue of the 1 atoms has a torsion phi: select residues of a protein\n"
    assert run("rg", *INPUT, "--weights", "charge").returncode == 2


def test_frames_are_transformed_first(run, tmp_path: Path) -> None:
    inputs = ("-s", TPR, "-f", XTC, "--stop", "3")
    done = run("rg", *inputs, "--transform", "whole", "--transform", "center", "-o", tmp_path / "rg.csv", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    protein = MDAnalysis.Universe(TPR, XTC).select_atoms("protein")
    expected = mdreel.Rg(protein).run(stop=3, transformations=[mdreel.transformations.unwrap(protein)]).results.rgyr
    np.testing.assert_allclose(table(tmp_path / "rg.csv")[1], expected, rtol=0, atol=1e-4)
    done = run("convert", *inputs, "--select", "protein", "--transform", "whole", "-o", tmp_path / "whole.xtc", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    done = run("rg", *inputs, "--transform", "nojump", "--backend", "processes")
    assert (done.returncode, "nojump needs all frames in order" in done.stderr) == (3, True)
    assert "needs a topology" in run("convert", "-f", XTC, "--transform", "whole", "-o", tmp_path / "a.xtc").stderr


def test_msd_writes_a_row_for_each_lag(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    options = ("--select", "name CA", "--axes", "xy", "--max-lag", "20")
    done = run("msd", *INPUT, *options, "-o", tmp_path / "msd.csv", "--plot", tmp_path / "msd.png")
    assert done.returncode == 0, done.stderr
    atoms = universe.select_atoms("name CA")
    expected = mdreel.EinsteinMSD(atoms, "all", "xy", max_lag=20, trajectory=DCD).run()
    head, rows = table(tmp_path / "msd.csv")
    assert head == ["lag_time_ps", "msd_angstrom2"]
    np.testing.assert_allclose(rows[:, 1], expected.results.timeseries, rtol=1e-12)
    summary = run("msd", *INPUT, *options, "-q", "--fit-begin", "2").stdout
    assert f"{expected.diffusion(begin=2).coefficient * 10:.4g} ± " in summary
    assert done.stdout.splitlines()[-1].startswith("diffusion ")
    done = run("msd", *INPUT, "--unwrap-jumps", "lattice")
    assert (done.returncode, "no periodic cell" in done.stderr) == (3, True)


def test_end_to_end_writes_a_column_for_each_chain(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    done = run("end-to-end", *INPUT, "-o", tmp_path / "e.csv", "--plot", tmp_path / "e.png")
    assert done.returncode == 0, done.stderr
    atoms = universe.select_atoms("protein and name CA")
    expected = mdreel.EndToEnd([atoms], trajectory=DCD).run().results.distances
    head, rows = table(tmp_path / "e.csv")
    assert head == ["frame", "time_ps", "chain_1_angstrom"]
    np.testing.assert_allclose(rows[:, 2:], expected, rtol=1e-12)
    assert run("end-to-end", *INPUT, "--chains", "fragments", "-q").stdout.startswith("frames")


def test_sasa_writes_a_row_for_each_frame_residue_or_atom(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    options = ("--select", "resid 1:20", "--points", "60", "--step", "9")
    done = run("sasa", *INPUT, *options, "-o", tmp_path / "s.csv", "--plot", tmp_path / "s.png")
    assert done.returncode == 0, done.stderr
    atoms = universe.select_atoms(options[1])
    expected = mdreel.SASA(atoms, n_sphere_points=60, trajectory=DCD).run(step=9).results
    head, rows = table(tmp_path / "s.csv")
    assert head == ["frame", "time_ps", "sasa_angstrom2"]
    np.testing.assert_allclose(rows[:, 2], expected.total_area, rtol=1e-12)
    assert f"{expected.total_area.mean():.3f}" in run("sasa", *INPUT, *options, "-q").stdout
    done = run("sasa", *INPUT, *options, "--mode", "atom", "-o", tmp_path / "a.csv", "--plot", tmp_path / "a.png")
    assert done.returncode == 0, done.stderr
    head, rows = table(tmp_path / "a.csv")
    assert head == ["atom", *TEXT, "resid", "sasa_angstrom2", "sasa_std_angstrom2"]
    np.testing.assert_allclose(rows[:, 2], expected.sasa.mean(axis=0), rtol=1e-12)
    surrounded = ("--mode", "residue", "--surface", "resid 1:30")
    done = run("sasa", *INPUT, *options, *surrounded, "-o", tmp_path / "r.csv")
    assert done.returncode == 0, done.stderr
    found = mdreel.SASA(atoms, 1.4, 60, "residue", surface=universe.select_atoms("resid 1:30"), trajectory=DCD)
    np.testing.assert_allclose(
        table(tmp_path / "r.csv")[1][:, 1], found.run(step=9).results.sasa.mean(axis=0), rtol=1e-9
    )
    assert run("sasa", *INPUT, *options, "--surface", "resid 1:10").returncode == 3


def test_density_writes_a_row_for_each_bin(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    options = ("--select", "name CA", "--delta", "4", "--plot", tmp_path / "d.png")
    for grid in ("d.dx", "d.mrc"):
        done = run("density", *INPUT, *options, "-o", tmp_path / "d.csv", "--grid", tmp_path / grid, "--force")
        assert done.returncode == 0, done.stderr
    expected = mdreel.DensityAnalysis(universe.select_atoms("name CA"), 4.0, trajectory=DCD).run().results
    head, rows = table(tmp_path / "d.csv")
    assert head == ["x_angstrom", "y_angstrom", "z_angstrom", "count", "density_per_angstrom3"]
    np.testing.assert_array_equal(rows[:, 3].reshape(expected.counts.shape), expected.counts)
    for grid in ("d.dx", "d.mrc"):
        np.testing.assert_allclose(Grid(tmp_path / grid).grid, expected.density.grid, atol=1e-6)
    assert f"counted   {expected.counts.sum():>16,}" in run("density", *INPUT, *options[:4], "-q").stdout
    done = run("density", *INPUT, "--grid", tmp_path / "d.dx")
    assert (done.returncode, "exists already" in done.stderr) == (2, True)
    assert run("density", *INPUT, "--grid", tmp_path / "d.cube").returncode == 2


def test_linear_density_writes_a_row_for_each_bin(run, tmp_path: Path) -> None:
    files = ("-s", TPR, "-f", XTC, "--step", "5")
    options = ("--select", "resname SOL", "--binsize", "2", "--grouping", "residues")
    done = run("linear-density", *files, *options, "-o", tmp_path / "l.csv", "--plot", tmp_path / "l.png")
    assert done.returncode == 0, done.stderr
    water = MDAnalysis.Universe(TPR).select_atoms("resname SOL")
    expected = mdreel.LinearDensity(water, "residues", 2.0, trajectory=XTC).run(step=5).results
    head, rows = table(tmp_path / "l.csv")
    assert head[:3] == ["position_angstrom", "mass_density_x_g_per_cm3", "mass_density_x_stddev_g_per_cm3"]
    assert head[-1] == "charge_density_z_stddev_e_mol_per_cm3"
    assert rows.shape == (len(expected.x.hist_bin_edges) - 1, 13)
    np.testing.assert_allclose(rows[:, 9], expected.z.mass_density, rtol=1e-12)
    assert "along z   highest" in run("linear-density", *files, *options, "-q").stdout
    done = run("linear-density", *INPUT)
    assert (done.returncode, "no periodic cell" in done.stderr) == (3, True)


def test_dssp_writes_a_row_for_each_residue(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    outputs = ("-o", tmp_path / "d.csv", "--plot", tmp_path / "d.png", "--characters", tmp_path / "d.txt")
    done = run("dssp", *INPUT, "--method", "kabsch-sander", "--step", "20", *outputs)
    assert done.returncode == 0, done.stderr
    expected = mdreel.DSSP(universe, method="kabsch-sander", trajectory=DCD).run(step=20).results
    head, rows = table(tmp_path / "d.csv")
    assert head == [*TEXT, "resid", "loop", "helix", "bridge", "strand", "helix_3_10", "helix_pi", "turn", "bend"]
    np.testing.assert_array_equal(rows[:, 0], expected.resids)
    np.testing.assert_allclose(rows[:, 1:], expected.fraction, rtol=1e-12)
    lines = (tmp_path / "d.txt").read_text().split("\n")
    assert lines == [*("".join(states) for states in expected.dssp), ""]
    assert (
        f"{100 * expected.fraction[:, 1].mean():.2f} %"
        in run("dssp", *INPUT, "--method", "kabsch-sander", "--step", "20", "-q").stdout
    )
    done = run("dssp", *INPUT, "--characters", tmp_path / "d.txt")
    assert (done.returncode, "exists already" in done.stderr) == (2, True)
    assert run("dssp", *INPUT, "--given-hydrogens", "--longest-bond", "2.5", "-q", "--stop", "2").returncode == 0


@pytest.mark.parametrize("options", [(), ("--weights", "mass"), ("--fit", "name CA and resid 1:29")])
def test_rmsf_superposes_on_a_reference(run, adk, tmp_path: Path, options: tuple[str, ...]) -> None:
    words = ("rmsf", *INPUT, "--superposition", *options, "--reference", adk["pdb"], "-q", "-o", tmp_path / "a.csv")
    done = run(*words)
    assert done.returncode == 0, done.stderr
    atoms = MDAnalysis.Universe(PSF).select_atoms("protein and name CA")
    by = options[1] if "--fit" in options else "protein and name CA"
    expected = mdreel.RMSF(
        atoms,
        superposition=by,
        reference=MDAnalysis.Universe(str(adk["pdb"])).select_atoms(by),
        weights="mass" if "mass" in options else None,
        trajectory=DCD,
    ).run()
    np.testing.assert_allclose(table(tmp_path / "a.csv")[1][:, 2], expected.results.rmsf, rtol=1e-12)


def test_average_superposes_on_a_reference(run, adk, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    done = run("average", *INPUT, "--reference", adk["pdb"], "-q", "-o", tmp_path / "a.csv")
    assert done.returncode == 0, done.stderr
    reference = MDAnalysis.Universe(str(adk["pdb"]))
    expected = mdreel.AverageStructure(universe, reference, "protein and name CA", trajectory=DCD).run()
    np.testing.assert_allclose(table(tmp_path / "a.csv")[1][:, 2:5], expected.results.positions, rtol=1e-12)


@pytest.mark.parametrize("command", ["rmsd", "rmsd2d", "rmsf", "pca", "projection"])
def test_superposition_has_one_spelling(run, command: str) -> None:
    text = run(command, "--help").stdout
    assert "--superposition / --no-superposition" in text
    assert "Superpose each frame" in text


@pytest.mark.parametrize(
    "options", [("--no-superposition", "--fit", "name CA"), ("--ref-frame", "3"), ("--weights", "mass")]
)
def test_rmsf_refuses_options_of_a_superposition_without_one(run, options: tuple[str, ...]) -> None:
    done = run("rmsf", *INPUT, *options)
    assert (done.returncode, "superpos" in done.stderr) == (2, True)


@pytest.mark.parametrize(("command", "option", "name"), [("density", "--grid", "g.dx"), ("average", "-c", "mean.pdb")])
def test_files_beside_the_table_are_written_once(run, tmp_path: Path, command: str, option: str, name: str) -> None:
    done = run(command, *INPUT, "--step", "20", option, tmp_path / name, "-o", tmp_path / "plot.png")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / name).stat().st_size > 0
    assert (tmp_path / "plot.png").stat().st_size > 0


def test_selection_that_depends_on_positions_is_reported(run) -> None:
    done = run("rg", "-s", TPR, "-f", XTC, "--select", "protein and prop x > -100", "--stop", "2")
    assert done.returncode == 0, done.stderr
    assert "depends on positions" in done.stderr
    assert "mdreel select --dynamic" in done.stderr
