"""Analysis commands that are arguments of other commands, such as ``mdreel advise`` and ``mdreel cluster``."""

import shlex
from dataclasses import dataclass
from pathlib import Path

import click

from mdreel.cli.analyses.request import AnalysisCommand, AnalysisRequest, Request
from mdreel.cli.commands import ANALYSES, find, load
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.run.run import requests_of

_COMMANDS = (*(entry.name for entry in ANALYSES), "run")
"""Commands that can be run by several processes and can continue from a checkpoint."""


@dataclass(frozen=True)
class NestedCommand:
    """A parsed analysis command.

    Attributes
    ----------
    program : str
        The ``mdreel`` command, as the user typed it.
    arguments : tuple of str
        The other words of the command, which are an analysis or ``run``, and its options.
    request : Request
        The options that all analyses share.
    analyses : list of AnalysisRequest
        The analyses.
    recipe : Path or None
        The recipe, if there is one.
    """

    program: str
    arguments: tuple[str, ...]
    request: Request
    analyses: list[AnalysisRequest]
    recipe: Path | None


def parse_nested(context: click.Context, words: list[str]) -> NestedCommand:
    """Parse an analysis command without running it.

    Parameters
    ----------
    context : click.Context
        The context of the command that received the words.
    words : list of str
        The command, which consists of ``mdreel``, an analysis or ``run``, and the options.

    Raises
    ------
    CommandError
        If the command is not an analysis. Click raises its own errors for invalid options.
    """
    if len(words) < 2 or Path(words[0]).name != "mdreel" or words[1] not in _COMMANDS:
        if words and words[0] in _COMMANDS:
            raise CommandError(f"the command must begin with mdreel: mdreel {shlex.join(words)}", ExitCode.USAGE)
        known = ", ".join(f"mdreel {name}" for name in _COMMANDS)
        raise CommandError(f"expected an analysis ({known}), not '{shlex.join(words)}'", ExitCode.USAGE)
    program, name, *rest = words
    entry = find(name)
    assert entry is not None
    command = load(entry)
    values = command.make_context(name, [*rest], parent=context.find_root()).params  # make_context empties the list
    if isinstance(command, AnalysisCommand):
        return NestedCommand(program, (name, *rest), *command.parse(**values), None)
    path = values.pop("path")
    values.pop("schema")
    return NestedCommand(program, (name, *rest), *requests_of(path, **values), path)
