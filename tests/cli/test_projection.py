"""``mdreel projection`` writes the projections of PCA."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.pca import PCA
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from command_results import refused, table

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
INPUT = ("-s", PSF, "-f", DCD)
SELECT = "name CA and resid 1:20"


def test_projections_agree_with_mdanalysis(run, tmp_path: Path) -> None:
    words = ("projection", *INPUT, "--select", SELECT, "--step", "3", "-q", "--components", "3")
    done = run(*words, "-o", "a.csv", "-o", "a.png")
    assert (done.returncode, done.stderr) == (0, "")
    head, rows = table(tmp_path / "a.csv")
    assert head == ["frame", "time_ps", "pc1_angstrom", "pc2_angstrom", "pc3_angstrom"]
    assert rows[:, 0].tolist() == list(range(0, 98, 3))
    universe = MDAnalysis.Universe(PSF, DCD)
    pca = PCA(universe, select=SELECT).run(step=3)
    expected = pca.transform(universe.select_atoms(SELECT), 3, step=3)
    signs = np.sign((expected * rows[:, 2:]).sum(axis=0))
    np.testing.assert_allclose(rows[:, 2:] * signs, expected, rtol=0, atol=1e-3)
    assert "pc3 lowest" in run(*words).stdout


def test_projections_can_be_those_of_superposed_frames(run, tmp_path: Path) -> None:
    words = ("projection", *INPUT, "--select", SELECT, "-b", "20", "-e", "80", "-q", "--superposition")
    done = run(*words, "-o", "a.csv", "--backend", "processes", "-nt", "2")
    assert (done.returncode, done.stderr) == (0, "")
    atoms = MDAnalysis.Universe(PSF, DCD).select_atoms(SELECT)
    pca = mdreel.PCA(atoms, align=True).run(start=19, stop=80)
    expected = pca.projection(atoms, 2).run(start=19, stop=80).results.projection
    np.testing.assert_allclose(table(tmp_path / "a.csv")[1][:, 2:], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--components", "0"], 2, ["--components"]),
        (["--components", "61"], 3, ["1 to 60"]),
        (["--select", "resname XYZ"], 3, ["matches none"]),
        (["--follow", "--end-idle", "1"], 2, ["--follow", "reads the trajectory twice"]),
        (["--stop", "1"], 3, ["a single frame has no covariance"]),
        (["-o", "a.doc"], 2, ["a.doc"]),
    ],
)
def test_wrong_projections_are_refused(run, options: list[str], code: int, words: list[str]) -> None:
    refused(run("projection", *INPUT, "--select", SELECT, *options, "-q"), code, *words)


def test_projection_is_no_analysis_of_channels(run) -> None:
    refused(run("projection", "-s", PSF, "--channel", "none"), 2, "--channel", "reads the trajectory twice")


def test_advice_refuses_analyses_that_read_twice(run) -> None:
    refused(run("advise", "--", "mdreel", "projection", *INPUT), 2, "reads the trajectory twice")


def test_recipe_projects_beside_other_analyses(run, tmp_path: Path) -> None:
    analysis = f'[[analysis]]\ntype = "projection"\nselect = "{SELECT}"\nsuperposition = true\noutput = "p.csv"\n'
    other = '[[analysis]]\ntype = "rg"\noutput = ["rg.csv", "rg.png"]\n'
    (tmp_path / "r.toml").write_text(f'topology = "{PSF}"\ntrajectory = "{DCD}"\n[run]\nstep = 10\n{analysis}{other}')
    done = run("run", "r.toml", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(table(tmp_path / "p.csv")[1]) == len(table(tmp_path / "rg.csv")[1]) == 10
    assert (tmp_path / "rg.png").exists()
