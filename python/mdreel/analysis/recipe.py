"""Recipes: TOML files that describe several analyses of one trajectory."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from mdreel.errors import MismatchError
from mdreel.foundation.nearest_name import did_you_mean, unknown_name
from mdreel.foundation.toml_file import read_toml

_SPOKEN = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


@dataclass(frozen=True)
class Setting:
    """A value that a recipe can set.

    Attributes
    ----------
    key : str
        The name of the argument that receives the value.
    kind : type
        The type of the value: bool, int, float, str, Path, a ``Literal`` of strings, a list of one of these types, or
        one of these types or None. Paths are relative to the folder of the recipe.
    description : str
        The meaning of the value, for use in the schema.
    is_required : bool
        Whether a recipe must set the value.
    minimum : float or None
        The smallest allowed value.
    default : object
        The default to show in the schema.
    """

    key: str
    kind: Any
    description: str = ""
    is_required: bool = False
    minimum: float | None = None
    default: object = None

    def value(self, where: str, given: object, folder: Path) -> Any:
        """Convert a value from a recipe to the type of the setting.

        Raises
        ------
        MismatchError
            If the value has the wrong type, is too small, or is unknown.
        """
        value = _converted(where, given, self.kind, folder)
        if self.minimum is not None and value is not None and value < self.minimum:
            raise MismatchError(f"{where} must be {self.minimum} or more, not {value}")
        return value

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema for the value."""
        found = {**_schema_of(_without_none(self.kind)), "description": self.description}
        if self.minimum is not None:
            found["minimum"] = self.minimum
        if self.default is not None:
            found["default"] = self.default
        return found


Settings = Mapping[str, Setting]
"""Settings, with their names in a recipe as keys."""

INPUTS: Settings = {
    "topology": Setting("topology", Path, "Topology or structure file.", is_required=True),
    "trajectory": Setting("trajectories", list[Path], "Trajectory file, or several.", is_required=True),
}


@dataclass(frozen=True)
class AnalysisFormat:
    """The settings for one type of analysis.

    Attributes
    ----------
    description : str
        Description of the analysis, for use in the schema.
    settings : mapping
        Settings of the analysis, by name.
    """

    description: str
    settings: Settings


@dataclass(frozen=True)
class RecipeFormat:
    """The settings that recipes can contain.

    Attributes
    ----------
    inputs : mapping
        The settings for the input files.
    run : mapping or None
        The settings in the ``[run]`` table. If None, the table is returned unchanged.
    analyses : mapping or None
        The types of analyses. If None, the tables of analyses are returned unchanged.
    """

    inputs: Settings = field(default_factory=lambda: INPUTS)
    run: Settings | None = None
    analyses: Mapping[str, AnalysisFormat] | None = None

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema for recipes."""
        each = []
        for name, one in (self.analyses or {}).items():
            entry = _object(one.settings)
            kind = {"const": name, "description": one.description}
            each.append({**entry, "required": ["type"], "properties": {"type": kind, **entry["properties"]}})
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Recipe of mdreel",
            "type": "object",
            "properties": {
                **_object(self.inputs)["properties"],
                "run": _object(self.run or {}),
                "analysis": {"type": "array", "minItems": 1, "items": {"oneOf": each}},
            },
            "required": [*(name for name, one in self.inputs.items() if one.is_required), "analysis"],
            "additionalProperties": False,
        }


@dataclass(frozen=True)
class RecipeAnalysis:
    """An analysis in a recipe.

    Attributes
    ----------
    type : str
        Type of the analysis, such as ``"rmsd"``.
    settings : dict
        The values that the recipe sets, as a dict whose keys are those of the settings. Without a format, they are
        as in the recipe.
    """

    type: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class Recipe:
    """A recipe that has been read and checked.

    Attributes
    ----------
    path : Path
        The file.
    inputs : dict
        The input files: ``topology`` and ``trajectories``.
    run : dict
        The settings of the run, such as ``step``.
    analyses : tuple of RecipeAnalysis
        The analyses, in the order of the recipe.
    """

    path: Path
    inputs: dict[str, Any]
    run: dict[str, Any]
    analyses: tuple[RecipeAnalysis, ...]


def read_recipe(path: str | PathLike[str], form: RecipeFormat | None = None) -> Recipe:
    """Read and check a recipe.

    Parameters
    ----------
    path : path
        The recipe. The paths in it are relative to its folder.
    form : RecipeFormat, optional
        The settings that the recipe can contain. By default, only the structure and the input files are checked.

    Raises
    ------
    FormatError
        If the file is not valid TOML.
    OSError
        If the file cannot be opened.
    MismatchError
        If a setting is unknown or missing, or if its value has the wrong type or is not allowed.

    Examples
    --------
    >>> import mdreel
    >>> from mdreel.analysis.recipe import read_recipe
    >>> recipe = read_recipe("recipe.toml")  # doctest: +SKIP
    >>> universe = MDAnalysis.Universe(recipe.inputs["topology"])  # doctest: +SKIP
    >>> [analysis.type for analysis in recipe.analyses]  # doctest: +SKIP
    ['rmsd', 'dihedrals']
    """
    return parse_recipe(Path(path), read_toml(path), form or RecipeFormat())


def parse_recipe(path: Path, content: Mapping[str, Any], form: RecipeFormat, given: Collection[str] = ()) -> Recipe:
    """Check the content of a recipe. See `read_recipe` for the errors.

    Parameters
    ----------
    path : Path
        The file from which the content was read.
    content : mapping
        The content.
    form : RecipeFormat
        The settings that the recipe can contain.
    given : collection of str
        Keys of inputs that the caller already has. They are optional in the recipe.
    """
    _check_names(str(path), content, (*form.inputs, "run", "analysis"))
    run, entries = content.get("run", {}), content.get("analysis", [])
    if not isinstance(run, dict) or not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise MismatchError("expected a table [run] and tables [[analysis]]", path=path)
    if not entries:
        raise MismatchError("there is no [[analysis]]", path=path)
    inputs = {name: content[name] for name in form.inputs if name in content}
    needed = {name: one for name, one in form.inputs.items() if one.key not in given or name in inputs}
    return Recipe(
        path,
        _values(str(path), inputs, needed, path.parent),
        dict(run) if form.run is None else _values(f"{path}: [run]", run, form.run, path.parent),
        tuple(_analysis(f"{path}: analysis {i}", one, form, path.parent) for i, one in enumerate(entries, 1)),
    )


def split_names(
    path: Path, content: Mapping[str, Any], check: Callable[[str, dict[str, Any]], object] = lambda where, one: None
) -> tuple[list[str], dict[str, Any]]:
    """Split the content of a file into the names of its analyses and a recipe without these names.

    The name of an analysis is its ``name`` if it has one, and otherwise its type.

    Parameters
    ----------
    path : Path
        The file.
    content : mapping
        The content of the file.
    check : callable
        Function that receives the location of each analysis, for error messages, and the table of the analysis. It
        raises an error if the table is invalid.

    Raises
    ------
    MismatchError
        If a name is not a string, or if two analyses have the same name.
    """
    entries = content.get("analysis", [])
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        return [], dict(content)  # `parse_recipe` refuses it
    names: list[str] = []
    for i, one in enumerate(entries, 1):
        name = one.get("name", one.get("type"))
        where = f"{path}: analysis {i}"
        if "name" in one and (not isinstance(name, str) or not name):
            raise MismatchError(f"{where}: name: expected a text, got {name!r}")
        check(where, one)
        if name in names:
            raise MismatchError(f"{where}: there are several {name!r}: give each a name")
        names.append(str(name))
    unnamed = [{key: value for key, value in one.items() if key != "name"} for one in entries]
    return names, {**content, "analysis": unnamed} if entries else dict(content)


def _analysis(where: str, entry: dict[str, Any], form: RecipeFormat, folder: Path) -> RecipeAnalysis:
    name = entry.get("type")
    if form.analyses is not None and (not isinstance(name, str) or name not in form.analyses):
        hint = did_you_mean(name, form.analyses) if isinstance(name, str) else ""
        raise MismatchError(f"{where}: type must be one of {', '.join(form.analyses)}, not {name!r}{hint}")
    if not isinstance(name, str):
        raise MismatchError(f"{where}: type must be a text, not {name!r}")
    given = {key: value for key, value in entry.items() if key != "type"}
    if form.analyses is None:
        return RecipeAnalysis(name, given)
    return RecipeAnalysis(name, _values(f"{where} ({name})", given, form.analyses[name].settings, folder))


def _check_names(where: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    for name in given:
        if name not in known:
            raise MismatchError(f"{where}: {unknown_name(name, known)}")


def _values(where: str, given: Mapping[str, Any], settings: Settings, folder: Path) -> dict[str, Any]:
    """Return the given values, with the keys of their settings as keys."""
    _check_names(where, given, settings)
    for name, setting in settings.items():
        if setting.is_required and name not in given:
            raise MismatchError(f"{where}: {name} is missing")
    return {settings[name].key: settings[name].value(f"{where}: {name}", given[name], folder) for name in given}


def _converted(where: str, value: Any, hint: Any, folder: Path) -> Any:
    kind = _without_none(hint)
    if get_origin(kind) is list:
        of = get_args(kind)[0]
        return [_converted(where, one, of, folder) for one in (value if isinstance(value, list) else [value])]
    if get_origin(kind) is Literal:
        if value in get_args(kind):
            return value
        raise MismatchError(f"{where}: expected one of {', '.join(get_args(kind))}, got {value!r}")
    if kind is Path and isinstance(value, str):
        return folder / value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is kind:
        return value
    raise MismatchError(f"{where}: expected {_SPOKEN.get(kind, 'a text')}, got {value!r}")


def _without_none(hint: Any) -> Any:
    if get_origin(hint) in (UnionType, Union):
        return next(one for one in get_args(hint) if one is not type(None))
    return hint


def _object(settings: Settings) -> dict[str, Any]:
    properties = {name: setting.schema() for name, setting in settings.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _schema_of(kind: Any) -> dict[str, Any]:
    if get_origin(kind) is list:
        one = _schema_of(get_args(kind)[0])
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}
    if get_origin(kind) is Literal:
        return {"enum": list(get_args(kind))}
    return {"type": _TYPES.get(kind, "string")}
