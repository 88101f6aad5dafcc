"""Tests of ``mdreel residue-contacts``."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from command_results import table

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
INPUT = ("-s", PSF, "-f", DCD)


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


def test_residue_contacts_writes_a_row_for_each_pair_or_contact(
    run, universe: MDAnalysis.Universe, tmp_path: Path
) -> None:
    options = ("--select", "resid 1:100", "--other", "resid 160:214", "--cutoff", "6", "--step", "20")
    pairs = run("residue-contacts", *INPUT, *options, "-o", tmp_path / "p.csv", "--plot", tmp_path / "p.png")
    contacts = run("residue-contacts", *INPUT, *options, "--list", "-o", tmp_path / "c.csv")
    assert (pairs.returncode, contacts.returncode) == (0, 0), pairs.stderr + contacts.stderr
    groups = [universe.select_atoms(options[side]) for side in (1, 3)]
    expected = mdreel.ResidueContacts(*groups, cutoff=6.0, trajectory=DCD).run(step=20)
    for name, columns in (("p.csv", expected.columns()), ("c.csv", expected.contact_columns())):
        head, rows = table(tmp_path / name)
        assert head == [column.heading for column in columns]
        numbers = [column.values for column in columns if not column.is_text]
        np.testing.assert_allclose(rows, np.column_stack(numbers), rtol=1e-12)
    soft = run("residue-contacts", *INPUT, *options, "--soft-min", "--soft-min-beta", "150", "-o", tmp_path / "s.csv")
    assert soft.returncode == 0, soft.stderr
    smooth = mdreel.ResidueContacts(*groups, cutoff=6.0, soft_min=True, soft_min_beta=150.0, trajectory=DCD)
    head, rows = table(tmp_path / "s.csv")
    means = [column.heading for column in expected.columns() if not column.is_text].index("mean_distance_angstrom")
    np.testing.assert_allclose(rows[:, means], smooth.run(step=20).results.mean, rtol=1e-12)
    assert run("residue-contacts", *INPUT, "--soft-min-beta", "200").returncode == 3
    assert run("residue-contacts", *INPUT, "--select", "resid 1:2").returncode == 3
    assert run("residue-contacts", *INPUT, "--min-separation", "0").returncode == 2
