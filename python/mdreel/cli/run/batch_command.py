"""Command of a batch script, which is checked before the job is queued."""

from dataclasses import dataclass
from pathlib import Path

import click

from mdreel.cli.analyses.request import AnalysisRequest, Request
from mdreel.cli.analyses.runner import check
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.run.nested_command import parse_nested


@dataclass(frozen=True)
class BatchCommand:
    """Analysis that is run by a batch script.

    Attributes
    ----------
    program : str
        The ``mdreel`` command, as the user typed it.
    arguments : tuple of str
        The other words of the command, including a checkpoint.
    inputs : tuple of Path
        Files that the command reads.
    folders : tuple of Path
        Folders that the command writes to.
    checkpoint : Path
        Checkpoint of the command.
    """

    program: str
    arguments: tuple[str, ...]
    inputs: tuple[Path, ...]
    folders: tuple[Path, ...]
    checkpoint: Path

    @property
    def name(self) -> str:
        """Default name of the job."""
        return f"mdreel-{self.arguments[0]}"


def parse_batch_command(context: click.Context, words: list[str], n_ranks: int) -> BatchCommand:
    """Parse and check the command that a batch script is to run, without running it.

    Parameters
    ----------
    context : click.Context
        The context of the command that writes the script.
    words : list of str
        The command, which consists of ``mdreel``, an analysis or ``run``, and the options.
    n_ranks : int
        Number of ranks that will run the command.

    Raises
    ------
    CommandError
        If the command is not an analysis, or if it cannot be run by MPI ranks. Click raises its own errors for invalid
        options.
    """
    nested = parse_nested(context, words)
    request, analyses, arguments = nested.request, nested.analyses, nested.arguments
    _check(request, analyses, n_ranks)
    checkpoint = request.checkpoint
    outputs = [
        *(path for one in analyses for path in one.outputs),
        *(path for path in (request.timing, request.report) if path),
    ]
    if checkpoint is None:
        table = next((path for one in analyses for path in one.tables), f"mdreel-{arguments[0]}")
        checkpoint = Path(f"{table}.checkpoint")
        arguments = (*arguments, "--checkpoint", str(checkpoint))
    files = [] if nested.recipe is None else [nested.recipe]
    inputs = [*files, request.topology, *request.trajectories, *(path for one in analyses for path in one.read)]
    folders = [path.parent for path in (*outputs, checkpoint)]
    return BatchCommand(nested.program, arguments, _distinct(inputs), _distinct(folders), checkpoint)


def _check(request: Request, analyses: list[AnalysisRequest], n_ranks: int) -> None:
    """Reject options that would cause the job to fail immediately."""
    check(request, analyses)
    if request.backend not in (None, "mpi") or request.scheduler is not None:
        message = "the script starts MPI ranks: leave out --backend and --scheduler"
        raise CommandError(message, ExitCode.USAGE)
    if request.n_workers not in (0, n_ranks):
        message = f"-nt {request.n_workers} contradicts the {n_ranks} ranks that the script starts: leave it out"
        raise CommandError(message, ExitCode.USAGE)
    if request.follow or request.channel is not None:
        name = "--follow" if request.follow else "--channel"
        message = f"{name}: MPI ranks cannot read a growing trajectory; run the analysis in one process"
        raise CommandError(message, ExitCode.USAGE)


def _distinct(paths: list[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(paths))
