"""The command that a batch script runs, checked by our own parser, so that a mistake shows before the job waits."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from mdreel.cli.analyses import ANALYSES
from mdreel.cli.analysing import Asked, Request, check_request
from mdreel.cli.exits import CommandError, ExitCode
from mdreel.cli.recipe import read_recipe


@dataclass(frozen=True)
class Submitted:
    """An analysis that is to be run by a batch script.

    Attributes
    ----------
    program : str
        ``mdreel``, as it was given.
    arguments : tuple of str
        What follows, with a checkpoint.
    inputs : tuple of Path
        The files that it reads.
    folders : tuple of Path
        The folders that it writes to.
    checkpoint : Path
        Its checkpoint.
    """

    program: str
    arguments: tuple[str, ...]
    inputs: tuple[Path, ...]
    folders: tuple[Path, ...]
    checkpoint: Path

    @property
    def name(self) -> str:
        """What a job of it is called where nobody says."""
        return f"mdreel-{self.arguments[0]}"


def parse_submitted(context: typer.Context, words: list[str], n_ranks: int) -> Submitted:
    """Parse and check the command that a batch script is to run, without running it.

    Parameters
    ----------
    context : typer.Context
        The context of the command that writes the script.
    words : list of str
        The command: ``mdreel``, an analysis or ``run``, its options.
    n_ranks : int
        Number of ranks that will run it.

    Raises
    ------
    CommandError
        If it is no analysis, or cannot be run by ranks of MPI; what is wrong with an option is raised as by itself.
    """
    root = context.find_root()
    commands: dict[str, Any] = getattr(root.command, "commands", {})
    # What can be interrupted and done by many has a checkpoint: that is what the scripts are for.
    analyses = {name: command for name, command in commands.items() if "checkpoint" in _names(command)}
    known = ", ".join(f"mdreel {name}" for name in analyses)
    if len(words) < 2 or Path(words[0]).name != "mdreel" or words[1] not in analyses:
        message = f"what follows -- must be an analysis ({known}), not '{shlex.join(words)}'"
        raise CommandError(message, ExitCode.USAGE)
    values = analyses[words[1]].make_context(words[1], words[2:], parent=root).params
    request, asked, files = _meant(words[1], values)
    _check(request, asked, n_ranks)
    arguments, checkpoint = words[1:], request.checkpoint
    outputs = [*(path for one in asked for path in one.outputs), *request.recording.paths]
    if checkpoint is None:
        table = next((one.output for one in asked if one.output is not None), f"mdreel-{words[1]}")
        checkpoint = Path(f"{table}.checkpoint")
        arguments = [*arguments, "--checkpoint", str(checkpoint)]
    inputs = [*files, request.topology, *request.trajectories, *(path for one in asked for path in one.read)]
    folders = [path.parent for path in (*outputs, checkpoint)]
    return Submitted(words[0], tuple(arguments), _distinct(inputs), _distinct(folders), checkpoint)


def _meant(name: str, values: dict[str, Any]) -> tuple[Request, list[Asked], list[Path]]:
    """What a command asks for, and the files that say so."""
    if name in ANALYSES:
        return *ANALYSES[name].meant(**values), []
    path = values["path"]
    of_command = {name: values[name] for name in ("checkpoint", "timing", "report", "force")}
    return *read_recipe(path, **of_command), [path]


def _check(request: Request, asked: list[Asked], n_ranks: int) -> None:
    """Refuse what would end the job at its start."""
    check_request(request, asked)
    if request.backend not in (None, "mpi") or request.scheduler is not None:
        message = "the script starts ranks of MPI: leave out --backend and --scheduler"
        raise CommandError(message, ExitCode.USAGE)
    if request.n_workers not in (0, n_ranks):
        message = f"-nt {request.n_workers} does not fit the {n_ranks} ranks that the script starts: leave it out"
        raise CommandError(message, ExitCode.USAGE)
    if request.follow:
        message = "--follow: a trajectory that grows is read by one process, not by ranks of MPI"
        raise CommandError(message, ExitCode.USAGE)


def _names(command: Any) -> set[str]:
    return {parameter.name for parameter in command.params}


def _distinct(paths: list[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(paths))
