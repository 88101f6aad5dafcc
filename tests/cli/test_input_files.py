"""Trajectories are named as arguments or with ``-f``, several outputs with several ``-o``."""

import json
from pathlib import Path

import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from command_results import refused, table

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def parts(run, tmp_path: Path) -> list[str]:
    """Write two files of different lengths."""
    assert run("convert", DCD, "--stop", "3", "-o", "a.dcd", "-q").returncode == 0
    assert run("convert", "-f", DCD, "--start", "3", "--stop", "8", "-o", "b.dcd", "-q").returncode == 0
    return ["a.dcd", "b.dcd"]


@pytest.mark.parametrize("words", [["a.dcd", "b.dcd"], ["-f", "a.dcd", "b.dcd"], ["-f", "a.dcd", "-f", "b.dcd"]])
def test_files_are_named_in_each_way(run, tmp_path: Path, words: list[str]) -> None:
    facts = json.loads(run("info", *words, "--json").stdout)
    assert (facts["n_frames"], [Path(one["path"]).name for one in facts["files"]]) == (8, ["a.dcd", "b.dcd"])
    assert run("check", *words, "-q").returncode == 0
    for command, options in (
        ("concat", ["-o", "c.xtc"]),
        ("convert", ["-o", "d.xtc"]),
        ("repack", ["-o", "e.h5md"]),
        ("split", ["--n-parts", "1", "-o", "f.xtc"]),
    ):
        done = run(command, *words, *options, "-q")
        assert (done.returncode, done.stderr) == (0, "")
    for name in ("c.xtc", "d.xtc", "e.h5md", "f-1.xtc"):
        assert mdreel.read(tmp_path / name).positions.shape[0] == 8


def test_order_of_the_files_is_kept(run, tmp_path: Path) -> None:
    assert run("concat", "-f", "b.dcd", "a.dcd", "-o", "c.dcd", "-q").returncode == 0
    assert run("concat", "-o", "d.dcd", "-q", "b.dcd", "a.dcd").returncode == 0
    assert mdreel.read(tmp_path / "c.dcd").positions.shape[0] == 8
    first = mdreel.read(tmp_path / "b.dcd").positions[0]
    for name in ("c.dcd", "d.dcd"):
        assert (mdreel.read(tmp_path / name).positions[0] == first).all()


def test_mixtures_and_missing_files_are_refused(run) -> None:
    for command in ("info", "check"):
        refused(run(command, "a.dcd", "-f", "b.dcd"), 2, "order of a mixture is unclear")
        refused(run(command), 2, "name a trajectory")
    refused(run("info", "no.dcd"), 3, "no.dcd")
    refused(run("produce", "a.dcd", "-f", "b.dcd", "--channel", "a"), 2, "order of a mixture is unclear")
    for command in ("concat", "convert", "repack"):
        refused(run(command, "-o", "x.h5md"), 2, "name a trajectory")
    refused(run("split", "--n-parts", "2", "-o", "x.xtc"), 2, "name a trajectory")


def test_swapped_options_are_named(run) -> None:
    for words in (["rmsd"], ["rdf", "--select", "name OW"]):
        done = run(*words, "-s", "a.dcd", "-f", PSF)
        refused(done, 3, "-s names the trajectory a.dcd: give the topology with -s and the trajectory with -f")
    assert "-s names" not in run("rmsd", "-s", PSF, "-f", PSF).stderr


def test_analyses_take_several_files_after_f(run, tmp_path: Path) -> None:
    words = ("rg", "-s", PSF, "-f", "a.dcd", "b.dcd", "-q", "-o", "rg.csv", "-o", "rg.png", "-o", "rg.json")
    done = run(*words, "--plot", "rg.pdf")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(table(tmp_path / "rg.csv")[1]) == 8
    assert len(json.loads((tmp_path / "rg.json").read_text())["columns"]["rg"]) == 8
    assert (tmp_path / "rg.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "rg.pdf").read_bytes().startswith(b"%PDF")


def test_run_takes_a_recipe_behind_f(run, tmp_path: Path) -> None:
    recipe = f'topology = "{PSF}"\n[[analysis]]\ntype = "rg"\noutput = ["rg.csv", "rg.svg"]\n'
    (tmp_path / "r.toml").write_text(recipe)
    assert run("run", "-f", "a.dcd", "r.toml", "-q").returncode == 0
    assert len(table(tmp_path / "rg.csv")[1]) == 3


def test_plot_alone_still_prints_a_summary(run) -> None:
    done = run("rg", "-s", PSF, "-f", "a.dcd", "-q", "-o", "rg.png")
    assert (done.returncode, "Rg lowest" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-o", "a.csv", "-o", "a.csv"], ["a.csv: two outputs have the same name"]),
        (["-o", "a.png", "--plot", "a.png"], ["a.png: two outputs have the same name"]),
        (["-o", "a.csv", "-o", "a.doc"], ["a.doc"]),
        (["-o", "a.csv", "-o", "no/a.png"], ["no"]),
    ],
)
def test_wrong_outputs_are_refused(run, tmp_path: Path, options: list[str], words: list[str]) -> None:
    code = 4 if "no/a.png" in options else 2
    refused(run("rg", "-s", PSF, "-f", "a.dcd", *options), code, *words)
    assert not (tmp_path / "a.csv").exists()


def test_advice_leaves_out_all_files(run) -> None:
    words = ("rmsd", "-s", PSF, "-f", "a.dcd", "b.dcd", "-q")
    done = run("advise", "--", "mdreel", *words)
    assert done.returncode == 0, done.stderr
    assert f"mdreel rmsd -s {PSF} -f a.dcd b.dcd -q" in done.stdout
