"""Files of scenarios: those that ship, and those of users."""

import tomllib
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Any

from mdreel.errors import MismatchError
from mdreel.foundation.toml_schema import checked, schema_of
from mdreel_lab.bench.exchange.scenario import Exchange, problems_of
from mdreel_lab.bench.scenario import Scenario, check


def read_scenario(path: Path) -> Scenario | Exchange:
    """Read a scenario from a TOML file.

    Raise an `OSError` if it cannot be read. Raise a `MismatchError` if it is not TOML, or an entry is unknown, missing,
    of a wrong type, or contradicts another one.
    """
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MismatchError(f"{path}: no TOML: {error}") from error
    if "kind" in content:
        exchange = checked(Exchange, str(path), content)
        for problem in problems_of(exchange):
            raise MismatchError(f"{path}: {problem}")
        return exchange
    scenario = checked(Scenario, str(path), content)
    check(str(path), scenario)
    return _with_paths(scenario, path.absolute().parent)


def _with_paths(scenario: Scenario, folder: Path) -> Scenario:
    """Return a scenario whose files are given by absolute paths, if they were relative to a folder."""
    data = scenario.data
    topology = str(folder / data.topology) if data.topology else ""
    trajectory = str(folder / data.trajectory) if data.trajectory else ""
    storage = tuple(str(folder / place) for place in data.storage)
    return replace(scenario, data=replace(data, topology=topology, trajectory=trajectory, storage=storage))


def shipped() -> dict[str, Path]:
    """Return the scenarios that come with mdreel, by name."""
    folder = Path(str(files("mdreel_lab.bench").joinpath("scenarios")))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def find_scenarios(name: str) -> list[Path]:
    """Return the files of scenarios, given by a file, or by a name or pattern of those that ship, as ``"2024-*"``.

    Raise a `MismatchError` if no scenario file is found.
    """
    known = shipped()
    if found := [path for other, path in known.items() if fnmatchcase(other, name)]:
        return found
    if name.endswith(".toml"):
        return [Path(name)]
    raise MismatchError(f"there is no scenario {name!r}; known: {', '.join(known)}, or a file that ends in .toml")


def schema_of_scenarios() -> dict[str, Any]:
    """Return the JSON Schema of scenarios."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Scenario of mdreel bench"}
    return {**head, "anyOf": [schema_of(Scenario), schema_of(Exchange)]}
