"""Selections of all commands can name groups of an index file."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from command_results import refused, table

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
INPUT = ("-s", PSF, "-f", DCD, "-n", "a.ndx")


@pytest.fixture(autouse=True)
def universe(tmp_path: Path) -> MDAnalysis.Universe:
    """Write an index file of two domains, and of all atoms of one residue."""
    universe = MDAnalysis.Universe(PSF, DCD)
    groups = {"Core": "name CA and resid 1:29", "The lid": "name CA and resid 122:159", "Lys": "resid 13"}
    with (tmp_path / "a.ndx").open("w") as file:
        for name, selection in groups.items():
            numbers = " ".join(str(index + 1) for index in universe.select_atoms(selection).ix)
            file.write(f"[ {name} ]\n{numbers}\n")
        file.write("[ None ]\n[ Turned ]\n9 7 5\n")
    return universe


def test_rmsd_takes_groups_in_each_selection(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    done = run("rmsd", *INPUT, "--select", "group Core", "--group", 'group "The lid"', "-q", "-o", "a.csv")
    assert (done.returncode, done.stderr) == (0, "")
    expected = mdreel.RMSD(
        universe, select="name CA and resid 1:29", groupselections=["name CA and resid 122:159"]
    ).run()
    np.testing.assert_allclose(table(tmp_path / "a.csv")[1], expected.results.rmsd, rtol=1e-12)


@pytest.mark.parametrize(
    "words",
    [
        ["rmsf", "--select", "group Core", "--fit", 'group "The lid"'],
        ["distances", "--select", "group Core", "--other", 'name CA and not group "The lid"', "--over-time"],
        ["sasa", "--select", "group Lys", "--surface", "group Lys or resid 12", "--points", "50"],
        ["contacts", "--select", "group Core", "--other", "group Lys"],
        ["hbonds", "--select", "group Lys or resid 1:40", "--acceptors", "group Lys or name O"],
        ["average", "--select", "group Core or group Lys"],
    ],
)
def test_commands_give_the_same_with_groups_and_with_their_selections(run, tmp_path: Path, words: list[str]) -> None:
    spelled = [
        word.replace("group Core", "(name CA and resid 1:29)")
        .replace('group "The lid"', "(name CA and resid 122:159)")
        .replace("group Lys", "resid 13")
        for word in words
    ]
    common = ("-s", PSF, "-f", DCD, "--step", "20", "-q")
    for options, output in (([*words, "-n", "a.ndx"], "a.csv"), (spelled, "b.csv")):
        done = run(*options, *common, "-o", output)
        assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_convert_and_align_take_groups(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    done = run("convert", *INPUT, "--select", "group Core", "-o", "a.dcd", "--stop", "3", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert mdreel.read(tmp_path / "a.dcd").positions.shape == (3, 29, 3)
    done = run("align", *INPUT, "--select", "group Core", "-o", "b.dcd", "-q")
    assert (done.returncode, done.stderr) == (0, "")


def test_recipes_name_an_index_file(run, tmp_path: Path) -> None:
    analysis = '[[analysis]]\ntype = "rg"\nselect = "group Core"\noutput = "rg.csv"\n'
    (tmp_path / "r.toml").write_text(f'topology = "{PSF}"\ntrajectory = "{DCD}"\nindex = "a.ndx"\n{analysis}')
    assert run("run", "r.toml", "-q").returncode == 0
    assert run("rg", *INPUT, "--select", "group Core", "-q", "-o", "b.csv").returncode == 0
    assert (tmp_path / "rg.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_group_in_another_order_is_a_warning(run) -> None:
    done = run("rg", *INPUT, "--select", "group Turned", "-q")
    assert done.returncode == 0
    assert "mdreel: warning: the group 'Turned' of a.ndx has atoms that repeat or do not ascend" in done.stderr


@pytest.mark.parametrize(
    ("content", "select", "words"),
    [
        (None, "group Lid", ["no group 'Lid' in a.ndx; its groups: Core, The lid, Lys, None, Turned"]),
        (None, "group None", ["'None' in line 7 of a.ndx has no atoms"]),
        ("[ A ]\n1 3342\n", "group A", ["a.ndx: the group 'A' has atom 3342", "3341 atoms"]),
        ("[ A ]\n0\n", "group A", ["a.ndx: line 2: atoms count from 1"]),
        ("[ A ]\n1\n[ A ]\n2\n", "group A", ["two different groups 'A'"]),
        ("not an index file\n", "group A", ["a.ndx: not an index file"]),
    ],
)
def test_wrong_groups_are_refused(run, tmp_path: Path, content: str | None, select: str, words: list[str]) -> None:
    if content is not None:
        (tmp_path / "a.ndx").write_text(content)
    refused(run("rg", *INPUT, "--select", select, "-q"), 3, *words)
    refused(run("convert", *INPUT, "--select", select, "-o", "a.dcd", "-q"), 3, *words)


def test_missing_index_files_are_refused(run) -> None:
    refused(run("rg", "-s", PSF, "-f", DCD, "-n", "no.ndx"), 3, "no.ndx")
    refused(run("rg", "-s", PSF, "-f", DCD, "--select", "group Core"), 3, "index file", "-n")
    refused(run("convert", "-f", DCD, "-n", "a.ndx", "-o", "a.xtc"), 2, "-n needs a topology")


def test_groups_are_known_in_selections_within_a_selection(run, universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    dynamic = 'name N and around 4 group "Lys"'
    done = run("select", *INPUT, "--dynamic", dynamic, "--stop", "3", "-q", "-o", "n.csv")
    assert (done.returncode, done.stderr) == (0, "")
    expected = mdreel.Selection(universe, "name N and around 4 resid 13").run(stop=3).results.counts
    np.testing.assert_array_equal(table(tmp_path / "n.csv")[1][:, 2], expected)
    options = ("--select", "resname ARG LYS", "--remove", "group Lys", "--stop", "2", "-q", "-o", "j.csv")
    done = run("janin", *INPUT, *options)
    assert done.returncode == 0, done.stderr
    assert not [name for name in table(tmp_path / "j.csv")[0] if name.endswith("_13_degree")]


def test_reference_may_be_smaller_than_the_system_of_the_index_file(
    run, universe: MDAnalysis.Universe, tmp_path: Path
) -> None:
    universe.select_atoms("resid 1:30").write(str(tmp_path / "small.pdb"))
    done = run("rmsd", *INPUT, "--select", "group Core", "--reference", "small.pdb", "--stop", "2", "-q", "-o", "r.csv")
    assert done.returncode == 0, done.stderr
    refused(run("rmsd", *INPUT, "--select", 'group "The lid"', "--reference", "small.pdb"), 3, "there are")
