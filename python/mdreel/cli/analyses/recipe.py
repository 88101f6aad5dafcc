"""Recipes, whose settings correspond to the options of the analysis commands."""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

from mdreel.analysis.recipe import AnalysisFormat, RecipeAnalysis, RecipeFormat, Setting, Settings, parse_recipe
from mdreel.cli.analyses.request import AnalysisCommand, AnalysisRequest, Request
from mdreel.cli.commands import ANALYSES, load
from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.options.declare import long_name

_INPUTS = ("topology", "trajectories", "index")
_OF_EACH = ("selection", "output", "plot")
_OF_COMMAND = ("force", "quiet", "verbose")
_OF_CHANNEL = (
    "channel",
    "channel_begin",
    "channel_wait",
    "channel_timeout",
    "channel_new_run",
    "channel_restart",
    "channel_on_late",
)
_OPTIONS_OF_INPUTS = (("topology", "topology", "-s"), ("trajectory", "trajectories", "-f or --channel"))
_MAY_BE_MISSING = "selection"  # each analysis has its own default


def analysis_commands() -> dict[str, AnalysisCommand]:
    """Return the commands of all analyses by name."""
    return {one.name: cast("AnalysisCommand", load(one)) for one in ANALYSES}


def recipe_format(commands: Mapping[str, AnalysisCommand]) -> RecipeFormat:
    """Return the settings of recipes, which are the options of the analysis commands with their long names."""
    parameters = inspect.signature(Request).parameters
    apart = (*_INPUTS, *_OF_EACH, *_OF_COMMAND, *_OF_CHANNEL)
    analyses = {}
    for name, command in commands.items():
        settings = _settings([*(parameters[one] for one in _OF_EACH), *command.own], command.selection)
        analyses[name] = AnalysisFormat((command.help or "").split("\n")[0], settings)
    run = _settings(one for name, one in parameters.items() if name not in apart)
    return RecipeFormat(_settings(parameters[one] for one in _INPUTS), run, analyses)


def requests_in(path: Path, content: Mapping[str, Any], **of_command: Any) -> tuple[Request, list[AnalysisRequest]]:
    """Return the requests that a recipe contains.

    Parameters
    ----------
    path : Path
        The recipe. Paths in the recipe are relative to its folder.
    content : mapping
        The content of the recipe.
    **of_command
        Fields of the request that are set on the command line. If a value is None or an empty list, the setting from
        the recipe is used.

    Raises
    ------
    CommandError
        If a setting is unknown or missing, or has the wrong type.
    """
    given = {name: value for name, value in of_command.items() if value not in (None, [], ())}
    if "channel" in given:
        given.setdefault("trajectories", ())
    commands = analysis_commands()
    try:
        with failing_with(ExitCode.INPUT):
            recipe = parse_recipe(path, content, recipe_format(commands), given)
    except CommandError as error:
        for name, field, option in _OPTIONS_OF_INPUTS:
            if str(error) == f"{path}: {name} is missing" and field in of_command:
                raise CommandError(f"{error}: add it to this file, or use {option}", error.code) from error
        raise
    request = Request(selection="", **{**recipe.inputs, **recipe.run, **given})
    return request, [_request_of(commands[one.type], one, request) for one in recipe.analyses]


def required_path(path: Path | None, message: str) -> Path:
    """Return the file that a command requires.

    Raises
    ------
    CommandError
        If no file was specified.
    """
    if path is None:
        raise CommandError(message, ExitCode.USAGE)
    return path


def _request_of(command: AnalysisCommand, analysis: RecipeAnalysis, request: Request) -> AnalysisRequest:
    values = {one.name: one.default for one in command.own} | analysis.settings
    shared = {"selection": command.selection, "output": None, "plot": None}
    own = replace(request, **{name: values.pop(name, default) for name, default in shared.items()})
    return command.request_of(own, **values)


def _settings(parameters: Iterable[inspect.Parameter], selection: str | None = None) -> Settings:
    found = {}
    for one in parameters:
        hint, declared = get_args(one.annotation)[:2]
        is_required = one.default is inspect.Parameter.empty and one.name != _MAY_BE_MISSING
        default = selection if one.name == _MAY_BE_MISSING else None
        found[long_name(one)] = Setting(one.name, hint, declared.help, is_required, declared.minimum, default)
    return found
