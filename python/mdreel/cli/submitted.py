"""The command that a batch script runs, checked by our own parser, so that a mistake shows before the job waits."""

from dataclasses import dataclass
from pathlib import Path

import typer

from mdreel.cli.analysing import Asked, Request, check_request
from mdreel.cli.exits import CommandError, ExitCode
from mdreel.cli.understood import understand


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
    meant = understand(context, words)
    request, asked, arguments = meant.request, meant.asked, meant.arguments
    _check(request, asked, n_ranks)
    checkpoint = request.checkpoint
    outputs = [*(path for one in asked for path in one.outputs), *request.recording.paths]
    if checkpoint is None:
        table = next((one.output for one in asked if one.output is not None), f"mdreel-{arguments[0]}")
        checkpoint = Path(f"{table}.checkpoint")
        arguments = (*arguments, "--checkpoint", str(checkpoint))
    files = [] if meant.recipe is None else [meant.recipe]
    inputs = [*files, request.topology, *request.trajectories, *(path for one in asked for path in one.read)]
    folders = [path.parent for path in (*outputs, checkpoint)]
    return Submitted(meant.program, arguments, _distinct(inputs), _distinct(folders), checkpoint)


def _check(request: Request, asked: list[Asked], n_ranks: int) -> None:
    """Refuse what would end the job at its start."""
    check_request(request, asked)
    if request.backend not in (None, "mpi") or request.scheduler is not None:
        message = "the script starts ranks of MPI: leave out --backend and --scheduler"
        raise CommandError(message, ExitCode.USAGE)
    if request.n_workers not in (0, n_ranks):
        message = f"-nt {request.n_workers} does not fit the {n_ranks} ranks that the script starts: leave it out"
        raise CommandError(message, ExitCode.USAGE)
    if request.follow or request.channel is not None:
        name = "--follow" if request.follow else "--channel"
        message = f"{name}: a trajectory that grows is read by one process, not by ranks of MPI"
        raise CommandError(message, ExitCode.USAGE)


def _distinct(paths: list[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(paths))
