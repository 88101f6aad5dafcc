"""``mdreel run``: the analyses of a recipe, in one pass."""

import inspect
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, get_args, get_origin

import typer

from mdreel.cli import execution, options
from mdreel.cli.analyses import ANALYSES
from mdreel.cli.analysing import Asked, Request, answer
from mdreel.cli.exits import CommandError, ExitCode
from mdreel.cli.recording import ReportFile, TimingFile
from mdreel.cli.say import say_json
from mdreel.errors import UnsupportedError
from mdreel.foundation.trusted_files import open_trusted

EXAMPLES = """\b
Examples:
  mdreel run recipe.toml
  mdreel run recipe.toml -nt 4
  mpirun -n 8 mdreel run recipe.toml -q
  mdreel run --schema > recipe.schema.json

\b
A recipe:
  topology = "adk.psf"
  trajectory = "adk.xtc"
  [run]
  step = 10
  [[analysis]]
  type = "rmsd"
  output = "rmsd.csv"
  [[analysis]]
  type = "dihedrals"
  kind = ["phi", "psi", "chi1"]
  output = "torsions.parquet"
"""

_OF_EACH = ("selection", "output", "plot")
_OF_COMMAND = ("force", "quiet", "verbose")
_OF_CHANNEL = ("channel", "channel_begin", "channel_wait", "channel_timeout", "channel_restart")

# What the command may say in place of the recipe: options of analyses, None where they are not given.
Trajectories = Annotated[list[Path] | None, get_args(options.Trajectories)[1]]
Workers = Annotated[int | None, get_args(execution.Workers)[1]]
Schedule = Annotated[execution.Schedule | None, get_args(execution.ScheduleOption)[1]]


def recipe(
    path: Annotated[Path | None, typer.Argument(metavar="RECIPE", help="The recipe, a TOML file.")] = None,
    schema: Annotated[
        bool, typer.Option("--schema", rich_help_panel=options.INPUT, help="Print the schema of recipes (JSON Schema).")
    ] = False,
    trajectories: Trajectories = None,
    backend: execution.BackendOption = None,
    n_workers: Workers = None,
    access: execution.AccessOption = None,
    schedule: Schedule = None,
    communication: execution.CommunicationOption = None,
    checkpoint: execution.CheckpointOption = None,
    timing: TimingFile = None,
    report: ReportFile = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Run the analyses of a recipe, each frame being read once; what is said here replaces what the recipe says."""
    if schema:
        say_json(schema_of_recipes(), indent=2)
        return
    of_command = {
        "trajectories": trajectories,
        "backend": backend,
        "n_workers": n_workers,
        "access": access,
        "schedule": schedule,
        "communication": communication,
        "checkpoint": checkpoint,
        "timing": timing,
        "report": report,
        "force": force,
        "quiet": quiet,
        "verbose": verbose,
    }
    answer(*read_recipe(path, **of_command))


def read_recipe(path: Path | None, **of_command: Any) -> tuple[Request, list[Asked]]:
    """Read a recipe; files in it are named from its folder.

    Parameters
    ----------
    path : Path or None
        The recipe.
    **of_command
        Fields of the request that the command says; what is None or empty there is left to the recipe.

    Raises
    ------
    CommandError
        If there is none, it cannot be read, or something in it is unknown, missing or of a wrong type.
    """
    if path is None:
        raise CommandError("which recipe? (mdreel run recipe.toml)", ExitCode.USAGE)
    return asked_in(path, read_toml(path), **of_command)


def read_toml(path: Path, *, has_commands: bool = False) -> dict[str, Any]:
    """Read a file of TOML; refuse one with commands that mdreel runs if other users can change it."""
    try:
        with open_trusted(path, root_may_own=True) if has_commands else path.open("rb") as file:
            return tomllib.load(file)
    except UnsupportedError as error:
        raise CommandError(str(error), ExitCode.INPUT) from error
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}", ExitCode.INPUT) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: no TOML: {error}", ExitCode.INPUT) from error


def asked_in(path: Path, content: Mapping[str, Any], **of_command: Any) -> tuple[Request, list[Asked]]:
    """Say what a recipe asks that was read; as `read_recipe`, but for what the command says, the recipe need not."""
    known = ("topology", "trajectory", "run", "analysis")
    _check_names(f"{path}", content, known)
    run, entries = content.get("run", {}), content.get("analysis", [])
    if not isinstance(run, dict) or not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise CommandError(f"{path}: expected a table [run] and tables [[analysis]]", ExitCode.INPUT)
    if not entries:
        raise CommandError(f"{path}: there is no [[analysis]]", ExitCode.INPUT)
    said = {name: value for name, value in of_command.items() if value not in (None, [], ())}
    if "channel" in said:
        said.setdefault("trajectories", ())  # it stands for them
    inputs = {name: content[name] for name in known[:2] if name in content}
    parameters = _parameters(Request, ("topology", "trajectories"))
    needed = {name: one for name, one in parameters.items() if one.name not in said or name in inputs}
    values = _values(str(path), inputs, needed, path.parent)
    values |= _values(f"{path}: [run]", run, _shared(), path.parent)
    request = Request(selection="", **(values | said))
    return request, [_asked(f"{path}: analysis {i}", one, request, path.parent) for i, one in enumerate(entries, 1)]


def schema_of_recipes() -> dict[str, Any]:
    """Return the JSON Schema of recipes."""
    each = []
    for name, command in ANALYSES.items():
        of_each = _parameters(Request, _OF_EACH) | {_long(parameter): parameter for parameter in command.own}
        entry = _object(of_each)
        entry["required"] = ["type"]
        entry["properties"] = {
            "type": {"const": name, "description": (inspect.getdoc(command.ask) or "").split("\n")[0]},
            **entry["properties"],
        }
        entry["properties"]["select"]["default"] = command.selection
        each.append(entry)
    inputs = _object(_parameters(Request, ("topology", "trajectories")))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Recipe of mdreel",
        "type": "object",
        "properties": {
            **inputs["properties"],
            "run": _object(_shared()),
            "analysis": {"type": "array", "minItems": 1, "items": {"oneOf": each}},
        },
        "required": ["topology", "trajectory", "analysis"],
        "additionalProperties": False,
    }


def _asked(where: str, entry: dict[str, Any], request: Request, folder: Path) -> Asked:
    name = entry.get("type")
    if not isinstance(name, str) or name not in ANALYSES:
        raise CommandError(f"{where}: type must be one of {', '.join(ANALYSES)}, not {name!r}", ExitCode.INPUT)
    command = ANALYSES[name]
    own = {_long(parameter): parameter for parameter in command.own}
    given = {name: value for name, value in entry.items() if name != "type"}
    values = _values(f"{where} ({name})", given, _parameters(Request, _OF_EACH) | own, folder)
    selection = values.pop("selection", command.selection)
    output, plot = values.pop("output", None), values.pop("plot", None)
    alone = replace(request, selection=selection, output=output, plot=plot)
    return command.asked(alone, **values)


def _shared() -> dict[str, inspect.Parameter]:
    """What a recipe says of the run."""
    apart = ("topology", "trajectories", *_OF_EACH, *_OF_COMMAND, *_OF_CHANNEL)
    return _parameters(Request, [name for name in inspect.signature(Request).parameters if name not in apart])


def _parameters(function: Any, names: Any) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(function).parameters
    return {_long(parameters[name]): parameters[name] for name in names}


def _long(parameter: inspect.Parameter) -> str:
    """The long name of an option, without its dashes."""
    option = _option(parameter)
    # Of an annotation, typer keeps the first of the names as the default until it has read it.
    names = [option.default, *(option.param_decls or ())]
    spelled = [name for name in names if isinstance(name, str) and name.startswith("--")]
    # Of a switch with two names, such as --pbc/--no-pbc, the first says what is true.
    return spelled[0].removeprefix("--").split("/")[0] if spelled else parameter.name.replace("_", "-")


def _option(parameter: inspect.Parameter) -> Any:
    return get_args(parameter.annotation)[1]


def _check_names(where: str, given: Mapping[str, Any], known: Any) -> None:
    for name in given:
        if name not in known:
            raise CommandError(f"{where}: unknown name {name!r}; known: {', '.join(known)}", ExitCode.INPUT)


def _values(
    where: str, given: Mapping[str, Any], parameters: Mapping[str, inspect.Parameter], folder: Path
) -> dict[str, Any]:
    """Return what is given, by the names of the parameters and in their types."""
    _check_names(where, given, parameters)
    values = {}
    for name, parameter in parameters.items():
        if name in given:
            hint = get_args(parameter.annotation)[0]
            value = _converted(f"{where}: {name}", given[name], hint, folder)
            least = getattr(_option(parameter), "min", None)
            if least is not None and value is not None and value < least:
                raise CommandError(f"{where}: {name} must be {least} or more, not {value}", ExitCode.INPUT)
            values[parameter.name] = value
        elif parameter.default is inspect.Parameter.empty and parameter.name != "selection":
            raise CommandError(f"{where}: {name} is missing", ExitCode.INPUT)
    return values


def _converted(where: str, value: Any, hint: Any, folder: Path) -> Any:
    kind = _without_none(hint)
    if get_origin(kind) is list:
        of = get_args(kind)[0]
        return [_converted(where, one, of, folder) for one in (value if isinstance(value, list) else [value])]
    if issubclass(kind, Path) and isinstance(value, str):
        return folder / value
    if issubclass(kind, Enum):
        known = [one.value for one in kind]
        if value in known:
            return kind(value)
        raise CommandError(f"{where}: expected one of {', '.join(known)}, got {value!r}", ExitCode.INPUT)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is kind:
        return value
    raise CommandError(f"{where}: expected {_SPOKEN.get(kind, 'a text')}, got {value!r}", ExitCode.INPUT)


def _without_none(hint: Any) -> Any:
    if get_origin(hint) is UnionType:
        return next(one for one in get_args(hint) if one is not type(None))
    return hint


_SPOKEN = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def _object(parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    properties = {name: _property(parameter) for name, parameter in parameters.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _property(parameter: inspect.Parameter) -> dict[str, Any]:
    option = _option(parameter)
    found = {**_type(_without_none(get_args(parameter.annotation)[0])), "description": option.help}
    least = getattr(option, "min", None)
    return found if least is None else {**found, "minimum": least}


def _type(kind: Any) -> dict[str, Any]:
    if get_origin(kind) is list:
        one = _type(get_args(kind)[0])
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}
    if issubclass(kind, Enum):
        return {"enum": [one.value for one in kind]}
    return {"type": _TYPES.get(kind, "string")}
