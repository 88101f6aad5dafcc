"""Recipes as Python reads them: structure, settings, names, schema."""

from pathlib import Path
from typing import Any, Literal

import pytest

from mdreel.analysis.recipe import AnalysisFormat, RecipeFormat, Setting, read_recipe, split_names
from mdreel.errors import FormatError, MismatchError

RECIPE = """
topology = "adk.psf"
trajectory = "adk.xtc"
[run]
step = 10
[[analysis]]
type = "rmsd"
weights = "mass"
tol-mass = 1
[[analysis]]
type = "dihedrals"
kind = "phi"
"""
FORM = RecipeFormat(
    run={"step": Setting("step", int | None, "Read only every N-th frame.", minimum=1)},
    analyses={
        "rmsd": AnalysisFormat(
            "Minimum RMSD.",
            {
                "weights": Setting("weights", Literal["none", "mass"], "Weights."),
                "tol-mass": Setting("tol_mass", float, "Tolerance."),
                "reference": Setting("reference", Path | None, "Reference."),
                "superposition": Setting("superposition", bool, "Superpose first."),
            },
        ),
        "dihedrals": AnalysisFormat("Torsions.", {"kind": Setting("kinds", list[Literal["phi", "psi"]] | None)}),
    },
)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE)
    return path


def test_recipe_without_a_format_is_returned_as_it_is(recipe: Path) -> None:
    read = read_recipe(recipe)
    folder = recipe.parent
    assert read.inputs == {"topology": folder / "adk.psf", "trajectories": [folder / "adk.xtc"]}
    assert read.run == {"step": 10}
    assert [(one.type, one.settings) for one in read.analyses] == [
        ("rmsd", {"weights": "mass", "tol-mass": 1}),
        ("dihedrals", {"kind": "phi"}),
    ]


def test_settings_come_by_their_keys_and_in_their_types(recipe: Path) -> None:
    first, second = read_recipe(str(recipe), FORM).analyses
    assert first.settings == {"weights": "mass", "tol_mass": 1.0}
    assert isinstance(first.settings["tol_mass"], float)
    assert second.settings == {"kinds": ["phi"]}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("step = 10", "step = 0"), "[run]: step must be 1 or more, not 0"),
        (("step = 10", "step = 1.5"), "[run]: step: expected a whole number, got 1.5"),
        (("step = 10", "steps = 1"), "[run]: unknown name 'steps'; known: step"),
        (('"mass"', '"charge"'), "analysis 1 (rmsd): weights: expected one of none, mass, got 'charge'"),
        (("tol-mass = 1", "superposition = 1"), "analysis 1 (rmsd): superposition: expected true or false, got 1"),
        (("tol-mass = 1", "reference = 1"), "analysis 1 (rmsd): reference: expected a text, got 1"),
        (('kind = "phi"', 'kind = ["psi", "chi"]'), "analysis 2 (dihedrals): kind: expected one of phi, psi"),
        (('"dihedrals"', '"rg"'), "analysis 2: type must be one of rmsd, dihedrals, not 'rg'"),
        (('topology = "adk.psf"', ""), "topology is missing"),
        (("[run]", "[[run]]"), "expected a table [run] and tables [[analysis]]"),
        (("[[analysis]]", "[[analyses]]"), "unknown name 'analyses'"),
    ],
)
def test_wrong_recipes_are_refused(recipe: Path, change: tuple[str, str], expected: str) -> None:
    wrong = RECIPE.replace(*change)
    assert wrong != RECIPE
    recipe.write_text(wrong)
    with pytest.raises(MismatchError) as raised:
        read_recipe(recipe, FORM)
    assert str(raised.value).startswith(f"{recipe}: ")
    assert expected in str(raised.value)


def test_files_that_are_no_recipes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_recipe(tmp_path / "none.toml")
    (tmp_path / "a.toml").write_text("[run")
    with pytest.raises(FormatError, match="no TOML"):
        read_recipe(tmp_path / "a.toml")
    (tmp_path / "a.toml").write_text('topology = "a"\ntrajectory = "b"\n')
    with pytest.raises(MismatchError, match="there is no"):
        read_recipe(tmp_path / "a.toml")


def test_names_are_split_from_analyses() -> None:
    content: dict[str, Any] = {"topology": "a", "analysis": [{"type": "rmsd", "name": "ca"}, {"type": "rmsd"}]}
    names, rest = split_names(Path("a.toml"), content)
    assert names == ["ca", "rmsd"]
    assert rest == {"topology": "a", "analysis": [{"type": "rmsd"}, {"type": "rmsd"}]}
    content["analysis"][0]["name"] = "rmsd"
    with pytest.raises(MismatchError, match=r"a.toml: analysis 2: there are several 'rmsd'"):
        split_names(Path("a.toml"), content)
    content["analysis"][0]["name"] = 7
    with pytest.raises(MismatchError, match="name: expected a text, got 7"):
        split_names(Path("a.toml"), content)


def test_schema_has_all_settings() -> None:
    schema = FORM.schema()
    assert schema["required"] == ["topology", "trajectory", "analysis"]
    rmsd, dihedrals = schema["properties"]["analysis"]["items"]["oneOf"]
    assert rmsd["properties"]["type"] == {"const": "rmsd", "description": "Minimum RMSD."}
    assert rmsd["properties"]["weights"] == {"enum": ["none", "mass"], "description": "Weights."}
    assert dihedrals["properties"]["kind"]["anyOf"][1]["type"] == "array"
    assert schema["properties"]["run"]["properties"]["step"]["minimum"] == 1
