"""Command of a batch script, which is checked before the job is queued."""

from dataclasses import dataclass
from pathlib import Path

import click

from mdreel.cli.analyses.request import AnalysisRequest, Request
from mdreel.cli.analyses.runner import check
from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.run.nested_command import NestedCommand, parse_nested
from mdreel.cluster.stage_in import StageIn


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
    stage_in : StageIn or None
        Copies of the trajectory on the nodes.
    """

    program: str
    arguments: tuple[str, ...]
    inputs: tuple[Path, ...]
    folders: tuple[Path, ...]
    checkpoint: Path
    stage_in: StageIn | None

    @property
    def name(self) -> str:
        """Default name of the job."""
        return f"mdreel-{self.arguments[0]}"


def parse_batch_command(
    context: click.Context, words: list[str], n_ranks: int, n_nodes: int = 1, folder: str | None = None
) -> BatchCommand:
    """Parse and check the command that a batch script is to run, without running it.

    Parameters
    ----------
    context : click.Context
        The context of the command that writes the script.
    words : list of str
        The command, which consists of ``mdreel``, an analysis or ``run``, and the options.
    n_ranks : int
        Number of ranks that will run the command.
    n_nodes : int
        Number of their nodes.
    folder : str, optional
        Folder of each node for copies of the trajectory.

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
    stage_in = None
    if folder is not None:
        arguments, stage_in = _staged(nested, arguments, n_nodes, folder)
    files = [] if nested.recipe is None else [nested.recipe]
    inputs = [*files, request.topology, *request.trajectories, *(path for one in analyses for path in one.read)]
    folders = [path.parent for path in (*outputs, checkpoint)]
    return BatchCommand(nested.program, arguments, _distinct(inputs), _distinct(folders), checkpoint, stage_in)


def _staged(
    nested: NestedCommand, arguments: tuple[str, ...], n_nodes: int, folder: str
) -> tuple[tuple[str, ...], StageIn]:
    """Return the arguments with a static schedule, and the copies of the trajectory.

    With several files, a node has only the files of its share, so its ranks must read this share.
    """
    if nested.recipe is not None:
        message = "--stage-in: a recipe names the trajectory itself; use the command of one analysis with -f"
        raise CommandError(message, ExitCode.USAGE)
    trajectories = nested.request.trajectories
    if n_nodes > 1 and len(trajectories) > 1:
        if "--schedule" not in arguments:
            arguments = (*arguments, "--schedule", "static")
        elif nested.request.schedule != "static":
            message = "--stage-in copies the share of each node to it, which needs --schedule static"
            raise CommandError(message, ExitCode.USAGE)
    places = _places_of_trajectories(arguments)
    if [arguments[place] for place in places] != list(map(str, trajectories)):
        raise CommandError("--stage-in: write the trajectory as -f FILE", ExitCode.USAGE)
    with failing_with(ExitCode.USAGE):
        return arguments, StageIn(folder, tuple(trajectories), places)


def _places_of_trajectories(arguments: tuple[str, ...]) -> tuple[int, ...]:
    """Return the positions of the values of ``-f``, which takes all words up to the next option."""
    places, is_value = [], False
    for place, word in enumerate(arguments):
        if word.startswith("-"):
            is_value = word in ("-f", "--trajectory")
        elif is_value:
            places.append(place)
    return tuple(places)


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
