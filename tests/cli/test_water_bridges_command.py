"""Tests of ``mdreel water-bridges``."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import GRO, XTC

from command_results import table
from mdreel.analysis import WaterBridgeAnalysis

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
INPUT = ("-s", GRO, "-f", XTC, "--step", "4")
GROUPS = ("protein and resid 122:159", "protein and resid 1:121 160:214")
OPTIONS = ("--select", GROUPS[0], "--other", GROUPS[1], "--order", "2")


def expected(**options: object) -> WaterBridgeAnalysis:
    universe = MDAnalysis.Universe(GRO)
    made = WaterBridgeAnalysis(universe, *GROUPS, order=2, filter_first=False, pbc=True, trajectory=XTC, **options)
    return made.run(step=4)


def test_water_bridges_writes_a_row_for_each_pair_or_bond(run, tmp_path: Path) -> None:
    pairs = run("water-bridges", *INPUT, *OPTIONS, "-o", tmp_path / "p.csv", "--plot", tmp_path / "p.png")
    bonds = run("water-bridges", *INPUT, *OPTIONS, "--list", "-o", tmp_path / "b.csv")
    found = expected()
    for done in (pairs, bonds):
        assert done.returncode == 0, done.stderr
    for name, columns in (("p.csv", found.columns()), ("b.csv", found.bond_columns())):
        head, rows = table(tmp_path / name)
        assert head == [column.heading for column in columns]
        numbers = [column.values for column in columns if not column.is_text]
        np.testing.assert_allclose(rows, np.column_stack(numbers), rtol=1e-12)
    assert (tmp_path / "p.png").stat().st_size > 10_000


def test_summary_shows_the_number_of_bridges(run) -> None:
    counts = expected().results.counts
    lowest, mean, highest = run("water-bridges", *INPUT, *OPTIONS).stdout.splitlines()[1:]
    assert f"{counts.min():.3f}" in lowest
    assert f"{counts.mean():.3f}" in mean
    assert f"{counts.max():.3f}" in highest


def test_options_are_those_of_the_analysis(run, tmp_path: Path) -> None:
    given = ("--role", "donor", "--distance", "3.5", "--measured-from", "heavy", "--angle", "140", "--donors", "CA")
    water = ("--water", "resname SOL and around 8 resid 130", "--acceptors", "CB", "SD", "--list")
    done = run("water-bridges", *INPUT, *OPTIONS, *given, *water, "-o", tmp_path / "b.csv")
    assert done.returncode == 0, done.stderr
    found = expected(
        selection1_type="donor",
        distance=3.5,
        distance_type="heavy",
        angle=140.0,
        donors=["CA"],
        acceptors=["CB", "SD"],
        water_selection="resname SOL and around 8 resid 130",
    )
    assert len(table(tmp_path / "b.csv")[1]) == len(found.results.bonds) > 0


def test_wrong_options_are_refused(run) -> None:
    assert run("water-bridges", *INPUT, "--order", "11").returncode == 2
    assert run("water-bridges", *INPUT, "--role", "giver").returncode == 2
    for missing in (("--water", "resname XYZ"), ("--other", "resname XYZ")):
        done = run("water-bridges", *INPUT, *missing)
        assert done.returncode == 3
        assert "water bridges" in done.stderr or "no donors" in done.stderr
