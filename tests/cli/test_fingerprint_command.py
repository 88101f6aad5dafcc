"""Tests of ``mdreel fingerprint``."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC

from command_results import table
from mdreel.analysis import InteractionFingerprint

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
INPUT = ("-s", PSF, "-f", DCD, "--step", "20")
GROUPS = ("resid 122:159", "resid 1:121 160:214")


def expected() -> InteractionFingerprint:
    universe = MDAnalysis.Universe(PSF)
    groups = [universe.select_atoms(each) for each in GROUPS]
    return InteractionFingerprint(*groups, ["HBDonor", "Cationic"], trajectory=DCD).run(step=20)


def test_fingerprint_writes_a_row_for_each_pair_or_entry(run, tmp_path: Path) -> None:
    options = ("--select", GROUPS[0], "--other", GROUPS[1], "--interactions", "HBDonor", "Cationic")
    files = ("-o", tmp_path / "p.csv", "--plot", tmp_path / "p.png")
    pairs = run("fingerprint", *INPUT, *options, *files)
    entries = run("fingerprint", *INPUT, *options, "--list", "-o", tmp_path / "e.csv")
    network = run("fingerprint", *INPUT, *options, "--network", "0.5", "--plot", tmp_path / "n.png")
    for done in (pairs, entries, network):
        assert done.returncode == 0, done.stderr
    found = expected()
    for name, columns in (("p.csv", found.columns()), ("e.csv", found.entry_columns())):
        head, rows = table(tmp_path / name)
        assert head == [column.heading for column in columns]
        numbers = [column.values for column in columns if not column.is_text]
        np.testing.assert_allclose(rows, np.column_stack(numbers), rtol=1e-12)
    assert all((tmp_path / name).stat().st_size > 10_000 for name in ("p.png", "n.png"))
    assert (tmp_path / "p.png").read_bytes() != (tmp_path / "n.png").read_bytes()


def test_summary_counts_interactions_of_each_kind(run) -> None:
    done = run(
        "fingerprint", *INPUT, "--select", GROUPS[0], "--other", GROUPS[1], "--interactions", "HBDonor", "Cationic"
    )
    found = expected().results
    for name in ("HBDonor", "Cationic"):
        line = next(line for line in done.stdout.splitlines() if line.startswith(name))
        assert line.split() == [name, str((found.interactions == name).sum())]


def test_water_bridges_are_found(run, tmp_path: Path) -> None:
    groups = ("--select", "protein and resid 122:159", "--other", "protein and resid 1:121")
    waters = ("--water", "resname SOL", "--order", "3", "--min-order", "2")
    files = ("-s", TPR, "-f", XTC, "--stop", "2")
    done = run("fingerprint", *files, *groups, "--interactions", "WaterBridge", *waters, "-o", tmp_path / "b.csv")
    assert done.returncode == 0, done.stderr
    universe = MDAnalysis.Universe(TPR, XTC)
    first, second, water = (universe.select_atoms(each) for each in (groups[1], groups[3], waters[1]))
    parameters = {"WaterBridge": {"water": water, "order": 3, "min_order": 2}}
    expected = InteractionFingerprint(first, second, "WaterBridge", parameters).run(stop=2)
    _, rows = table(tmp_path / "b.csv")
    columns = [column for column in expected.columns() if not column.is_text]
    assert len(rows) > 3
    np.testing.assert_allclose(rows, np.column_stack([column.values for column in columns]), rtol=1e-12)


def test_wrong_options_are_refused(run) -> None:
    assert run("fingerprint", *INPUT, "--order", "2").returncode == 2
    bridges = ("--interactions", "WaterBridge")
    assert run("fingerprint", *INPUT, *bridges, "--min-order", "2").returncode == 2
    assert run("fingerprint", *INPUT, *bridges, "--order", "11").returncode == 2
    dry = run("fingerprint", *INPUT, *bridges)
    assert dry.returncode == 3
    assert "--water" in dry.stderr
    assert run("fingerprint", *INPUT, "--interactions", "HBond").returncode == 2
    assert run("fingerprint", *INPUT, "--network", "0.5").returncode == 2
    assert run("fingerprint", *INPUT, "--network", "2", "--plot", "n.png").returncode == 2
    none = run("fingerprint", *INPUT, "--select", "not name H*", "--other", "resname XYZ")
    assert none.returncode == 3
    assert "--other" in none.stderr
