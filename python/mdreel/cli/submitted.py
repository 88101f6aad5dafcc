"""The command that a batch script runs, checked by our own parser, so that a mistake shows before the job waits."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from mdreel.cli.analysing import check_outputs
from mdreel.cli.exits import CommandError, ExitCode
from mdreel.cli.frames import check_window


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
        The command: ``mdreel``, an analysis, its options.
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
    _check(values, n_ranks)
    arguments, checkpoint = words[1:], values["checkpoint"]
    if checkpoint is None:
        output = values["output"]
        checkpoint = Path(f"mdreel-{words[1]}.checkpoint") if output is None else Path(f"{output}.checkpoint")
        arguments = [*arguments, "--checkpoint", str(checkpoint)]
    inputs = [values["topology"], *values["trajectories"], values.get("reference")]
    outputs = [values["output"], values["plot"], checkpoint]
    return Submitted(
        words[0],
        tuple(arguments),
        _distinct(inputs),
        _distinct([path and path.parent for path in outputs]),
        checkpoint,
    )


def _check(values: dict[str, Any], n_ranks: int) -> None:
    """Refuse what would end the job at its start."""
    check_window(tuple(values[name] for name in ("begin", "end", "interval")), _limits(values))
    check_outputs(values["output"], values["plot"], values["force"])
    backend, n_workers = values["backend"], values["n_workers"]
    if backend not in (None, "mpi") or values["scheduler"] is not None:
        message = "the script starts ranks of MPI: leave out --backend and --scheduler"
        raise CommandError(message, ExitCode.USAGE)
    if n_workers not in (0, n_ranks):
        message = f"-nt {n_workers} does not fit the {n_ranks} ranks that the script starts: leave it out"
        raise CommandError(message, ExitCode.USAGE)
    if values["follow"]:
        message = "--follow: a trajectory that grows is read by one process, not by ranks of MPI"
        raise CommandError(message, ExitCode.USAGE)


def _limits(values: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(values[name] for name in ("start", "stop", "step"))


def _names(command: Any) -> set[str]:
    return {parameter.name for parameter in command.params}


def _distinct(paths: list[Path | None]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(path for path in paths if path is not None))
