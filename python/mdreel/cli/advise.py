"""``mdreel advise``: how an analysis is best run, from a short sample of it."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdreel.cli import options
from mdreel.cli.exits import CommandError, ExitCode, failing_with
from mdreel.cli.say import say, say_json
from mdreel.cli.sections import SectionedCommand
from mdreel.cli.understood import Understood, understand

if TYPE_CHECKING:
    from mdreel.cluster.advice.advice import Advice

EXAMPLES = """\b
Examples:
  mdreel advise rmsd -s adk.psf -f adk.xtc -o rmsd.csv
  mdreel advise run recipe.toml --json
  mdreel advise rmsd -s adk.psf -f adk.xtc -o rmsd.csv --nodes 6 --cores 24 --file-system lustre
  mdreel advise rmsd -s adk.psf -f adk.xtc -o rmsd.csv --apply > job.sh
"""

MACHINE = "Machine"

# What a command says besides has its place in the advice.
_ADVISED = {
    "backend": "--backend",
    "scheduler": "--scheduler",
    "access": "--access",
    "communication": "--communication",
    "n_parts": "--n-parts",
}


class AdviseCommand(SectionedCommand):
    """A command in front of another one, whose options it leaves alone."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Say how the other command is given."""
        return ["ANALYSIS [ITS OPTIONS] [OPTIONS]"]


class FileSystem(StrEnum):
    """Where a trajectory lies."""

    LOCAL = "local"
    NFS = "nfs"
    LUSTRE = "lustre"
    GPFS = "gpfs"


def advise(
    context: typer.Context,
    command: Annotated[list[str], typer.Argument(hidden=True)],
    nodes: Annotated[
        int | None,
        typer.Option("--nodes", metavar="N", min=1, rich_help_panel=MACHINE, help="Number of nodes.  [default: 1]"),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(
            "--cores", metavar="N", min=1, rich_help_panel=MACHINE, help="Cores of a node.  [default: those here]"
        ),
    ] = None,
    file_system: Annotated[
        FileSystem | None,
        typer.Option(
            "--file-system", rich_help_panel=MACHINE, help="Where the trajectory will lie.  [default: where it is now]"
        ),
    ] = None,
    apply: Annotated[
        bool,
        typer.Option("--apply", rich_help_panel=options.OUTPUT, help="Print the commands alone, as a shell script."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", rich_help_panel=options.OUTPUT, help="All numbers, as JSON for programs.")
    ] = False,
) -> None:
    """Say how an analysis is best run: format, file access, executor, workers, and the time that it should take.

    Runs short stretches of the analysis, for about two seconds at most, and writes nothing. What follows is the command
    as it would be without `advise`, or `run` and a recipe; -nt fixes the number of workers.
    """
    if apply and as_json:
        raise CommandError("give either --apply or --json, not both", ExitCode.USAGE)
    words = command if command[0].rsplit("/", 1)[-1] == "mdreel" else ["mdreel", *command]
    meant = understand(context, words)
    _check(meant)
    advice = _advice(meant, nodes, cores, None if file_system is None else file_system.value)

    from mdreel.cli.advised import commands_of

    commands = commands_of(advice, meant)
    if as_json:
        say_json({**advice.to_json(), "commands": commands}, indent=2)
    elif apply:
        say("\n".join(("#!/bin/sh", f"# {_expectation(advice)}", "set -e", *commands)))
    else:
        say("\n".join((str(advice), "", *commands)))


def _check(meant: Understood) -> None:
    """Refuse what leaves nothing to advise on."""
    request = meant.request
    request.check()
    given = [option for name, option in _ADVISED.items() if getattr(request, name) is not None]
    if request.schedule == "static":
        given.append("--schedule")
    if given:
        message = f"leave out {', '.join(given)}: advice is about that"
        raise CommandError(message, ExitCode.USAGE)
    if request.follow or request.channel is not None:
        name = "--follow" if request.follow else "--channel"
        raise CommandError(f"{name}: nobody knows how many frames will come", ExitCode.USAGE)


def _advice(meant: Understood, nodes: int | None, cores: int | None, file_system: str | None) -> "Advice":
    """Sample the analyses."""
    from mdreel.cli.frames import frames_in_window
    from mdreel.cli.prepared import prepare
    from mdreel.cluster.advice.advise import advise as advise_on
    from mdreel.cluster.advice.target import target_of

    request = meant.request
    with failing_with(ExitCode.USAGE):
        # What is wrong with the machine is said before anything is opened; several nodes share what they read.
        target_of(cores, nodes, file_system or "nfs")
    prepared = prepare(request, meant.asked)
    with failing_with(ExitCode.INPUT):
        source = prepared.source.with_on_error(request.on_error.value)
        return advise_on(
            prepared.analyses,
            request.start,
            request.stop,
            request.step,
            frames_in_window(source, request.begin, request.end, request.interval),
            n_cores=cores,
            n_nodes=nodes,
            file_system=file_system,
            n_workers=request.n_workers or None,
            on_error=request.on_error.value,
            opening=prepared.topology_seconds,
        )


def _expectation(advice: "Advice") -> str:
    seconds = f"{advice.chosen.seconds:.3g} s are expected, with {advice.plan.n_workers} workers"
    return f"{seconds} on {advice.target} (one alone: {advice.serial.seconds:.3g} s)"
