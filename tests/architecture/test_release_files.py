"""Files of a release agree on version, licence, oldest Python, dependencies and addresses."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from architecture.checkout import ROOT

LICENCE = "Apache-2.0 OR MIT"
RECIPE = ROOT / "packaging" / "conda-forge" / "recipe.yaml"
METADATA = ROOT / "packaging" / "mdakit" / "metadata.yaml"
GITHUB = ROOT / ".github"


def from_toml(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def from_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


PYPROJECT = from_toml("pyproject.toml")
PROJECT = PYPROJECT["project"]
WORKSPACE = from_toml("Cargo.toml")["workspace"]["package"]
CITATION = from_yaml(ROOT / "CITATION.cff")
ZENODO = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))


def test_versions_agree() -> None:
    versions = {
        "Cargo.toml": WORKSPACE["version"],
        "lab/pyproject.toml": from_toml("lab/pyproject.toml")["project"]["version"],
        "CITATION.cff": str(CITATION["version"]),
        ".zenodo.json": ZENODO["version"],
        "recipe.yaml": from_yaml(RECIPE)["context"]["version"],
    }
    assert "version" in PROJECT["dynamic"], "the version of the package is that of Cargo.toml"
    assert set(versions.values()) == {WORKSPACE["version"]}, versions


def test_licences_agree() -> None:
    licences = {
        "pyproject.toml": PROJECT["license"],
        "lab/pyproject.toml": from_toml("lab/pyproject.toml")["project"]["license"],
        "Cargo.toml": WORKSPACE["license"],
        "CITATION.cff": " OR ".join(CITATION["license"]),
        "recipe.yaml": from_yaml(RECIPE)["about"]["license"],
        "metadata.yaml": from_yaml(METADATA)["license"],
    }
    assert set(licences.values()) == {LICENCE}, licences
    assert ZENODO["license"] in LICENCE.split(" OR "), "Zenodo takes one licence"
    assert set(PROJECT["license-files"]) < set(from_yaml(RECIPE)["about"]["license_file"])
    assert all((ROOT / name).is_file() for name in PROJECT["license-files"])


def test_oldest_pythons_agree() -> None:
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert from_toml("lab/pyproject.toml")["project"]["requires-python"] == f">={oldest}"
    assert from_yaml(RECIPE)["context"]["python_min"] == oldest
    assert from_yaml(METADATA)["python_requires"] == f">={oldest}"
    features = from_toml("crates/mdreel-py/Cargo.toml")["dependencies"]["pyo3"]["features"]
    assert f"abi3-py{oldest.replace('.', '')}" in features, "the stable ABI is that of the oldest Python"
    assert PYPROJECT["tool"]["mypy"]["python_version"] == oldest


def test_workflows_test_each_python_that_the_classifiers_name() -> None:
    named = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)}
    for name in ("ci.yml", "release.yml"):
        text = (GITHUB / "workflows" / name).read_text(encoding="utf-8")
        smoke = re.findall(r"tasks\.smoke .*", text)
        assert smoke, f"{name} runs the smoke tests"
        assert all(set(re.findall(r"python(3\.\d+)(?= |$)", line.split(" ", 1)[1])) == named for line in smoke), name


def test_addresses_agree() -> None:
    urls = PROJECT["urls"]
    repository, documentation = urls["Repository"], urls["Documentation"]
    recipe, metadata = from_yaml(RECIPE)["about"], from_yaml(METADATA)
    repositories = [urls["Homepage"], WORKSPACE["repository"], CITATION["repository-code"], recipe["homepage"]]
    repositories += [recipe["repository"], metadata["project_home"], ZENODO["related_identifiers"][0]["identifier"]]
    assert set(repositories) == {repository}
    assert {CITATION["url"], recipe["documentation"], metadata["documentation_home"]} == {documentation}
    assert metadata["changelog"] == urls["Changelog"]
    owner = repository.removeprefix("https://").split("/")[1]
    texts = [ROOT / "SECURITY.md", ROOT / "CODE_OF_CONDUCT.md", *sorted(GITHUB.rglob("*.*"))]
    for path in texts:
        for address in re.findall(r"https://[\w./-]*mdreel[\w./-]*", path.read_text(encoding="utf-8")):
            known = (repository, documentation, "https://pypi.org/project/mdreel/")
            assert address.startswith(known), f"{path.relative_to(ROOT)}: {address} is not of {owner}"


def test_recipe_needs_what_the_package_needs() -> None:
    requirements = from_yaml(RECIPE)["requirements"]
    assert {re.sub(r"\s", "", line).lower() for line in requirements["run"]} - {"python>=${{python_min}}"} == {
        line.lower() for line in PROJECT["dependencies"]
    }
    assert {re.sub(r"\s", "", line) for line in requirements["host"]} >= set(PYPROJECT["build-system"]["requires"])
    mdanalysis = next(line for line in PROJECT["dependencies"] if line.startswith("MDAnalysis"))
    assert from_yaml(METADATA)["mdanalysis_requires"] == mdanalysis.removeprefix("MDAnalysis")


def test_development_status_is_that_of_the_classifiers() -> None:
    assert f"Development Status :: {from_yaml(METADATA)['development_status']}" in PROJECT["classifiers"]


@pytest.mark.parametrize("command", from_yaml(METADATA)["run_tests"])
def test_registry_runs_tests_that_exist(command: str) -> None:
    assert all((ROOT / word).is_file() for word in command.split() if word.startswith("tests/"))


def test_titles_and_keywords_agree() -> None:
    assert CITATION["title"] == ZENODO["title"]
    assert CITATION["keywords"] == ZENODO["keywords"]
    assert [author["name"] for author in CITATION["authors"]] == [author["name"] for author in ZENODO["creators"]]
    assert from_yaml(RECIPE)["about"]["summary"] == PROJECT["description"] == WORKSPACE["description"]


@pytest.mark.parametrize("path", sorted((GITHUB / "workflows").iterdir()), ids=lambda path: path.name)
def test_workflow_asks_for_few_rights(path: Path) -> None:
    workflow = from_yaml(path)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert "timeout-minutes" in job, f"{name} may run for hours"
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout"):
                assert step["with"]["persist-credentials"] is False
