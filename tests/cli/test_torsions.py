"""Commands of torsions write what the analyses give."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.dihedrals import Dihedral
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from command_results import refused, table

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
INPUT = ("-s", PSF, "-f", DCD)


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


@pytest.mark.parametrize(
    ("command", "kind", "names", "select"),
    [
        ("ramachandran", mdreel.Ramachandran, ["phi_met_34", "psi_met_34"], "resid 34:40"),
        ("janin", mdreel.Janin, ["chi1_met_34", "chi2_met_34"], "resid 34 36"),
    ],
)
def test_pairs_of_torsions_have_two_columns_for_each_residue(
    run, universe: MDAnalysis.Universe, tmp_path: Path, command: str, kind: type, names: list[str], select: str
) -> None:
    words = (command, *INPUT, "--select", select, "--step", "5", "-q")
    done = run(*words, "-o", "a.csv", "-o", "a.png")
    assert done.returncode == 0, done.stderr
    head, rows = table(tmp_path / "a.csv")
    expected = kind(universe.select_atoms(select)).run(step=5).results.angles
    assert head[:4] == ["frame", "time_ps", *(f"{name}_degree" for name in names)]
    np.testing.assert_allclose(rows[:, 2:], expected.reshape(len(expected), -1), rtol=1e-12)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    plain = (tmp_path / "a.png").read_bytes()
    assert run(*words, "--regions", "-o", "a.png", "--force").returncode == 0
    assert (tmp_path / "a.png").read_bytes() != plain
    assert f"{names[0].split('_')[0]} MET 34" in run(*words).stdout


def test_janin_leaves_out_the_residues_that_are_named(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    words = ("janin", *INPUT, "--select", "resid 30:40", "--step", "20", "-q", "-o", "a.csv")
    done = run(*words, "--remove", "resname ALA GLY PRO SER THR VAL MET")
    assert done.returncode == 0, done.stderr
    head, _ = table(tmp_path / "a.csv")
    assert not any("met" in name for name in head)
    refused(run(*words, "--force", "--remove", "resname MET"), 3, "lacks an atom of chi1 or chi2")
    refused(run("janin", *INPUT, "--select", "resname GLY"), 3, "no residue of the")
    refused(run("ramachandran", *INPUT, "--select", "resid 1"), 3, "no residue of the")


def test_dihedrals_of_any_atoms_agree_with_mdanalysis(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    (tmp_path / "a.ndx").write_text("[ Torsions ]\n5 7 9 20\n24 22 9 7\n")
    atoms = ("resid 4 and name C", "resid 5 and name N", "resid 5 and name CA", "resid 5 and name C")
    named = [word for atom in atoms for word in ("--atoms", atom)]
    words = ("dihedral", *INPUT, "-n", "a.ndx", "--group", "Torsions", *named, "--step", "5", "-q")
    done = run(*words, "-o", "a.csv", "-o", "a.png")
    assert (done.returncode, done.stderr) == (0, "")
    phi = universe.residues[4].phi_selection()
    groups = [phi, universe.atoms[[4, 6, 8, 19]], universe.atoms[[23, 21, 8, 6]]]
    head, rows = table(tmp_path / "a.csv")
    assert head[2:] == [f"dihedral_{'_'.join(map(str, group.ix))}_degree" for group in groups]
    np.testing.assert_allclose(rows[:, 2:], Dihedral(groups).run(step=5).results.angles, rtol=0, atol=1e-3)
    assert "dihedral 4 6 8 19" not in run(*words).stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ([], 2, ["--atoms four times"]),
        (["--atoms", "index 1"], 2, ["four times", "1 times"]),
        (["--group", "A"], 2, ["give one with -n"]),
        (["-n", "a.ndx", "--group", "Five"], 3, ["'Five' has 5 atoms", "four for each angle"]),
        (["-n", "a.ndx", "--group", "None"], 3, ["no group 'None'", "Five, Twice"]),
        (["-n", "a.ndx", "--group", "Twice"], 3, ["angle of atoms 0 1 2 3 is given twice"]),
        (["-n", "no.ndx", "--group", "Twice"], 3, ["no.ndx"]),
        (["--atoms", "name CA", *["--atoms", "index 1"] * 3], 3, ["matches 214 atoms"]),
        (["--atoms", "resname XYZ", *["--atoms", "index 1"] * 3], 3, ["matches none"]),
        (["--select", "name CA", *[word for i in range(4) for word in ("--atoms", f"index {i}")]], 3, ["outside"]),
    ],
)
def test_wrong_dihedrals_are_refused(run, tmp_path: Path, options: list[str], code: int, words: list[str]) -> None:
    (tmp_path / "a.ndx").write_text("[ Five ]\n1 2 3 4 5\n[ Twice ]\n1 2 3 4 1 2 3 4\n")
    refused(run("dihedral", *INPUT, *options), code, *words)


def test_summary_names_a_single_torsion_once(run) -> None:
    atoms = ("resid 5 and name N", "resid 5 and name CA", "resid 5 and name C", "resid 6 and name N")
    done = run("dihedral", *INPUT, "--stop", "2", "-q", *(word for one in atoms for word in ("--atoms", one)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].count("dihedral") == 1
