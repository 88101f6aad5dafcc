"""Recipes: several analyses in one pass, checked before anything is read."""

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

RECIPE = f"""
topology = "{PSF}"
trajectory = "{DCD}"

[run]
step = 7
n-workers = 2
backend = "threads"

[[analysis]]
type = "rmsd"
weights = "mass"
ref-frame = 3
output = "rmsd.csv"
plot = "rmsd.png"

[[analysis]]
type = "rg"
select = "name CA"
output = "rg.csv"

[[analysis]]
type = "dihedrals"
select = "resid 3:9"
kind = ["phi", "chi1"]

[[analysis]]
type = "contacts"
pbc = false
output = "contacts.csv"

[[analysis]]
type = "helices"
segment = ["13:24", "31:40"]
pairs = true
output = "helices.csv"
"""


def test_recipe_gives_what_its_analyses_give_alone(run, tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(RECIPE)
    done = run("run", "recipe.toml")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("frames")  # of the analysis without an output
    assert len(re.findall(r" frames (?:in|on) ", done.stderr)) == 1  # one pass
    inputs = ("-s", PSF, "-f", DCD, "--step", "7", "-q")
    for name, arguments in (
        ("rmsd", ("--weights", "mass", "--ref-frame", "3")),
        ("rg", ("--select", "name CA")),
        ("contacts", ("--no-pbc",)),
        ("helices", ("--segment", "13:24", "--segment", "31:40", "--pairs")),
    ):
        assert run(name, *inputs, *arguments, "-o", f"alone-{name}.csv").returncode == 0
        assert (tmp_path / f"{name}.csv").read_bytes() == (tmp_path / f"alone-{name}.csv").read_bytes()
    assert (tmp_path / "rmsd.png").read_bytes().startswith(b"\x89PNG")


def test_files_are_named_from_the_folder_of_the_recipe(run, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "adk.psf").write_bytes(Path(PSF).read_bytes())
    (folder / "adk.dcd").write_bytes(Path(DCD).read_bytes())
    (folder / "a.toml").write_text(
        'topology = "adk.psf"\ntrajectory = ["adk.dcd"]\n[[analysis]]\ntype = "rmsf"\noutput = "rmsf.csv"\n'
    )
    done = run("run", "elsewhere/a.toml", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "rmsf.csv").exists()
    again = run("run", "elsewhere/a.toml", "-q")
    assert again.returncode == 2
    assert "exists already" in again.stderr
    assert run("run", "elsewhere/a.toml", "-q", "--force").returncode == 0


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("step = 7", "steps = 7"), r"[run]: unknown name 'steps'; known: begin, end"),
        (("step = 7", "step = 0"), "[run]: step must be 1 or more, not 0"),
        (("step = 7", 'step = "7"'), "[run]: step: expected a whole number, got '7'"),
        (('backend = "threads"', 'backend = "gpu"'), "backend: expected one of serial, threads, processes, dask, mpi"),
        (("step = 7", "stride = 7"), "; did you mean 'step'?"),
        (('type = "rg"', 'type = "radius"'), "analysis 2: type must be one of rmsd, rmsf"),
        (('type = "helices"', 'type = "helix"'), "not 'helix'; did you mean 'helices'?"),
        (("ref-frame = 3", "frame = 3"), "analysis 1 (rmsd): unknown name 'frame'"),
        (("ref-frame = 3", "reference-frame = 3"), "; did you mean 'ref-frame'?"),
        (("ref-frame = 3", "align = true"), "; did you mean 'superposition'?"),
        (("pairs = true", 'pairs = "yes"'), "analysis 5 (helices): pairs: expected true or false"),
        (('["phi", "chi1"]', '["phi", "chi7"]'), "analysis 3 (dihedrals): kind: expected one of phi"),
        ((f'topology = "{PSF}"', ""), "topology is missing"),
        (("[run]", "[run"), "no TOML"),
        (('select = "name CA"', 'select = "name XX"'), "matches none of the 3,341 atoms"),
        (("ref-frame = 3", 'ref-frame = 3\nreference = "a.pdb"'), "either --reference or --ref-frame"),
    ],
)
def test_what_is_wrong_with_a_recipe_is_said_in_one_line(
    run, tmp_path: Path, change: tuple[str, str], expected: str
) -> None:
    wrong = RECIPE.replace(*change)
    assert wrong != RECIPE
    (tmp_path / "recipe.toml").write_text(wrong)
    done = run("run", "recipe.toml")
    assert done.returncode in (2, 3)
    assert done.stderr.startswith("mdreel: error: ")
    assert done.stderr.count("\n") == 1
    assert expected in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recipe.toml"]


def test_recipe_that_is_not_there_is_named(run) -> None:
    assert run("run", "none.toml").stderr == "mdreel: error: none.toml: No such file or directory\n"
    assert run("run").returncode == 2


def test_schema_describes_recipes(run) -> None:
    schema = json.loads(run("run", "--schema").stdout)
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    recipe = tomllib.loads(RECIPE)
    assert not list(validator.iter_errors(recipe))
    assert not list(validator.iter_errors({**recipe, "analysis": [{"type": "contacts", "pbc": False}]}))
    for wrong in (
        {**recipe, "more": 1},
        {**recipe, "analysis": []},
        {**recipe, "analysis": [{"type": "rmsd", "weight": "mass"}]},
        {**recipe, "run": {"step": 0}},
    ):
        assert list(validator.iter_errors(wrong))
    page = Path(__file__).parents[2] / "docs" / "reference" / "schemas" / "recipe.schema.json"
    assert json.loads(page.read_text()) == schema
