"""A command of an analysis that is given to another command, understood by our own parser without being run."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from mdreel.cli.analyses import ANALYSES
from mdreel.cli.analysing import Asked, Request
from mdreel.cli.exits import CommandError, ExitCode
from mdreel.cli.recipe import read_recipe


@dataclass(frozen=True)
class Understood:
    """What a command means.

    Attributes
    ----------
    program : str
        ``mdreel``, as it was given.
    arguments : tuple of str
        What follows: an analysis or ``run``, and its options.
    request : Request
        What it says of the run.
    asked : list of Asked
        The questions.
    recipe : Path or None
        The recipe that asks them, if one does.
    """

    program: str
    arguments: tuple[str, ...]
    request: Request
    asked: list[Asked]
    recipe: Path | None


def understand(context: typer.Context, words: list[str]) -> Understood:
    """Parse a command, without running it.

    Parameters
    ----------
    context : typer.Context
        The context of the command that it is given to.
    words : list of str
        The command: ``mdreel``, an analysis or ``run``, its options.

    Raises
    ------
    CommandError
        If it is no analysis; what is wrong with an option is raised as by itself.
    """
    root = context.find_root()
    commands: dict[str, Any] = getattr(root.command, "commands", {})
    # What can be interrupted and done by many has a checkpoint.
    analyses = {name: command for name, command in commands.items() if "checkpoint" in _names(command)}
    known = ", ".join(f"mdreel {name}" for name in analyses)
    if len(words) < 2 or Path(words[0]).name != "mdreel" or words[1] not in analyses:
        raise CommandError(f"expected an analysis ({known}), not '{shlex.join(words)}'", ExitCode.USAGE)
    program, name, *rest = words
    values = analyses[name].make_context(name, [*rest], parent=root).params  # it empties the list
    if name in ANALYSES:
        request, asked = ANALYSES[name].meant(**values)
        return Understood(program, (name, *rest), request, asked, None)
    path = values.pop("path")
    values.pop("schema")
    return Understood(program, (name, *rest), *read_recipe(path, **values), path)


def _names(command: Any) -> set[str]:
    return {parameter.name for parameter in command.params}
