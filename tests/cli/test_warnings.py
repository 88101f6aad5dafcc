"""Warnings on the command line: one line each, with the remedy, and none with --quiet."""

from pathlib import Path

import pytest
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC

BROKEN = ("-s", TPR, "-f", XTC, "--stop", "2")


@pytest.mark.parametrize("name", ["rg", "rmsd"])
def test_broken_molecule_is_warned_of_in_one_line(run, name: str, tmp_path: Path) -> None:
    done = run(name, *BROKEN, "-o", tmp_path / "a.csv")
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("mdreel: warning: "))
    assert "the periodic cell cuts a molecule: in frame 0" in line
    assert "--transform whole on the command line" in line
    quiet = run(name, *BROKEN, "-o", tmp_path / "a.csv", "--force", "--quiet")
    assert (quiet.returncode, quiet.stderr) == (0, "")
    whole = run(name, *BROKEN, "-o", tmp_path / "b.csv", "--transform", "whole")
    assert (whole.returncode, "warning" in whole.stderr) == (0, False)


def test_align_warns_until_molecules_are_whole(run, tmp_path: Path) -> None:
    command = ("align", *BROKEN, "--select", "name CA")
    done = run(*command, "-o", tmp_path / "a.xtc")
    assert done.returncode == 0, done.stderr
    assert "the periodic cell cuts a molecule" in done.stderr
    whole = run(*command, "-o", tmp_path / "b.xtc", "--transform", "whole")
    assert (whole.returncode, "warning" in whole.stderr) == (0, False)


def test_msd_of_wrapped_atoms_names_its_own_remedy(run) -> None:
    command = ("msd", "-s", TPR, "-f", XTC, "--select", "name OW")
    assert "--unwrap-jumps toroidal on the command line" in run(*command).stderr
    assert "warning" not in run(*command, "--unwrap-jumps", "toroidal").stderr


def test_recipe_warns_once_of_all_its_analyses(run, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'topology = "{TPR}"\ntrajectory = "{XTC}"\nrun.stop = 2\n'
        '[[analysis]]\ntype = "rg"\n[[analysis]]\ntype = "rmsd"\n[[analysis]]\ntype = "hbonds"\nselect = "resid 1:20"\n'
    )
    done = run("run", recipe)
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stderr.splitlines() if "periodic cell" in line)
    assert line.startswith("mdreel: warning: Rg, RMSD: ")


def test_length_in_nanometres_is_warned_of_or_refused(run) -> None:
    command = ("contacts", "-s", PSF, "-f", DCD, "--stop", "2", "--select", "name CA", "--method", "count")
    done = run(*command, "--radius", "0.6")
    assert done.returncode == 0, done.stderr
    assert "mdreel: warning: --radius is 0.6 Å" in done.stderr
    assert "0.6 nm are 6 Å" in done.stderr
    quiet = run(*command, "--radius", "0.6", "--quiet")
    assert (quiet.returncode, quiet.stderr) == (0, "")
    refused = run("hbonds", "-s", PSF, "-f", DCD, "--stop", "2", "--distance", "0.35")
    assert refused.returncode == 3
    assert "--distance must be more than 1 Å, not 0.35" in refused.stderr
    assert "0.35 nm are 3.5 Å" in refused.stderr


def test_reference_that_select_has_removed_is_warned_of(run) -> None:
    command = ("select", "-s", TPR, "-f", XTC, "--stop", "1", "--dynamic", "name OW and around 3.5 protein")
    done = run(*command, "--select", "resname SOL")
    assert done.returncode == 0, done.stderr
    assert "all 3,341 atoms that it refers to are outside the group" in done.stderr
    assert "without --select" in done.stderr
    assert "warning" not in run(*command).stderr
