"""Tests of ``mdreel compare``."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF, PDB_small

from command_results import refused, table
from mdreel.analysis import LDDT, NativeContacts, ResidueRMSD, SymmetricRMSD, TMScore

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
INPUT = ("compare", "-s", PSF, "-f", DCD, "-q", "--step", "20", "--select", "name CA CB and resid 10:60")
KINDS = {
    "lddt": LDDT,
    "native-contacts": NativeContacts,
    "residue-rmsd": ResidueRMSD,
    "symmetric-rmsd": SymmetricRMSD,
}


@pytest.mark.parametrize("score", KINDS)
def test_table_and_picture_are_those_of_the_library(run, tmp_path: Path, score: str) -> None:
    # Pairs of CA and CB that are not bonded to each other have too many equivalent orders.
    select = "resid 10:12 and not name H*" if score == "symmetric-rmsd" else INPUT[-1]
    done = run(*INPUT[:-1], select, "--score", score, "-o", "a.csv", "--plot", "a.png")
    assert done.returncode == 0, done.stderr
    head, rows = table(tmp_path / "a.csv")
    atoms = MDAnalysis.Universe(PSF, DCD).select_atoms(select)
    columns = KINDS[score](atoms, select="all").run(step=20).columns()
    assert head == [column.heading for column in columns]
    np.testing.assert_allclose(rows, np.column_stack([column.values for column in columns]), rtol=1e-12)
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_scores_of_ca_atoms_are_written(run, tmp_path: Path) -> None:
    expected = TMScore(MDAnalysis.Universe(PSF, DCD), select="name CA and resid 10:60").run(step=20).results
    for name, select in (("a.csv", INPUT[-1]), ("b.csv", "name CA and resid 10:60")):
        done = run(*INPUT[:-1], select, "--score", "tm-score", "-o", name, "--plot", f"{name}.png")
        assert done.returncode == 0, done.stderr
        head, rows = table(tmp_path / name)
        assert head[2:] == ["tm_score", "gdt_ts", "gdt_ha"]
        np.testing.assert_allclose(rows[:, 2], expected.tm_score, rtol=1e-12)


def test_means_of_residues_are_written_and_summarised(run, tmp_path: Path) -> None:
    options = ("--score", "residue-rmsd", "--residues")
    assert run(*INPUT, *options, "-o", "a.csv", "--plot", "a.png").returncode == 0
    head, rows = table(tmp_path / "a.csv")
    assert head[-2:] == ["rmsd_angstrom", "rmsd_std_angstrom"]
    assert len(rows) == 51
    mean = rows[:, -2]
    text = run(*INPUT, *options).stdout
    assert f"highest mean   {mean.max():.3f} Å" in text
    assert f"lowest mean   {mean.min():.3f} Å" in text


def test_reference_file_is_compared(run, tmp_path: Path) -> None:
    done = run(*INPUT, "--reference", PDB_small, "-o", "a.csv")
    assert done.returncode == 0, done.stderr
    atoms, other = (MDAnalysis.Universe(*one).select_atoms(INPUT[-1]) for one in ((PSF, DCD), (PDB_small,)))
    expected = LDDT(atoms, other, select="all").run(step=20).results.lddt
    np.testing.assert_allclose(table(tmp_path / "a.csv")[1][:, 2], expected, rtol=1e-12)


def test_options_of_another_score_are_refused(run) -> None:
    refused(run(*INPUT, "--score", "tm-score", "--residues"), 2, "--residues is for --score lddt and residue-rmsd")
    refused(run(*INPUT, "--score", "tm-score", "--radius", "3"), 2, "--radius is for --score lddt and native-contacts")
    refused(run(*INPUT, "--superposition"), 2, "--superposition is for --score residue-rmsd and symmetric-rmsd")
    refused(run(*INPUT, "--score", "gdt"), 2, "--score")
    refused(run(*INPUT, "--radius", "0.5"), 3, "no distances of up to 0.5")
