"""The command ``mdreel advise``, which uses a short sample to estimate the fastest way to run an analysis."""

import os
import shlex
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.output import echo, echo_json
from mdreel.cli.run.nested_command import NestedCommand, parse_nested
from mdreel.cluster.advice.target import FILE_SYSTEMS
from mdreel.foundation.formatting import counted

if TYPE_CHECKING:
    from mdreel.cluster.advice.advice import Advice

EXAMPLES = """\
Examples:
  mdreel advise rmsd -s adk.psf -f adk.xtc -o rmsd.csv
  mdreel advise run recipe.toml --json
  mdreel advise rmsd -s adk.psf -f adk.xtc -o rmsd.csv --nodes 6 --cores 24 --file-system lustre
  mdreel advise rmsd -s adk.psf -f adk.xtc -o rmsd.csv --apply > job.sh
"""

MACHINE = "Machine"

# Options that the advice chooses.
_ADVISED = {
    "backend": "--backend",
    "scheduler": "--scheduler",
    "access": "--access",
    "communication": "--communication",
    "n_parts": "--n-parts",
}


@command(examples=EXAMPLES, usage="ANALYSIS [ITS OPTIONS] [OPTIONS]", context_settings={"ignore_unknown_options": True})
def advise(
    context: click.Context,
    words: Annotated[list[str], Argument(is_hidden=True)],
    nodes: Annotated[
        int | None, Option(metavar="N", minimum=1, group=MACHINE, help="Number of nodes.  [default: 1]")
    ] = None,
    cores: Annotated[
        int | None, Option(metavar="N", minimum=1, group=MACHINE, help="Cores per node.  [default: as on this machine]")
    ] = None,
    file_system: Annotated[
        str | None,
        Option(
            choices=tuple(FILE_SYSTEMS),
            group=MACHINE,
            help="File system of the trajectory.  [default: its current file system]",
        ),
    ] = None,
    apply: Annotated[
        bool,
        Option(
            group=shared.OUTPUT,
            help="Print only the recommended commands, as a shell script. The commands are not run.",
        ),
    ] = False,
    as_json: shared.AsJson = False,
) -> None:
    """Recommend a file format, a file access mode, an executor and a number of workers, and predict the run time.

    The command runs short samples of the analysis for up to about two seconds, and does not write any files. After
    `advise`, write the analysis command as usual, or `run` with a recipe. Use -nt if you want to set the number of
    workers.
    """
    if apply and as_json:
        raise CommandError("give either --apply or --json, not both", ExitCode.USAGE)
    words = words if words[0].rsplit("/", 1)[-1] == "mdreel" else ["mdreel", *words]
    nested = parse_nested(context, words)
    _check(nested)
    advice = _advice(nested, nodes, cores, file_system)

    from mdreel.cli.run.advised_commands import changes_of, commands_of

    commands = commands_of(advice, nested)
    if as_json:
        echo_json({**advice.to_json(), "commands": commands}, indent=2)
    elif apply:
        changes = "; ".join(changes_of(advice, nested)) or "none"
        comments = f"# {_expectation(advice)}", f"# changes to your command: {changes}"
        echo("\n".join(("#!/bin/sh", *comments, "set -e", *commands)))
        if not nested.request.quiet:
            echo(_place_of_script(changes), err=True)
    else:
        echo("\n".join((str(advice), "", *commands)))


def _check(nested: NestedCommand) -> None:
    """Reject options that are chosen by the advice, and live inputs."""
    request = nested.request
    request.check()
    given = [option for name, option in _ADVISED.items() if getattr(request, name) is not None]
    if request.schedule == "static":
        given.append("--schedule")
    if given:
        message = f"leave out {', '.join(given)}: mdreel advise makes this choice"
        raise CommandError(message, ExitCode.USAGE)
    if any(one.spec.reads_twice for one in nested.analyses):
        message = (
            "the analysis reads the trajectory twice: ask about an analysis that reads it once, such as mdreel pca"
        )
        raise CommandError(message, ExitCode.USAGE)
    if request.follow or request.channel is not None:
        name = "--follow" if request.follow else "--channel"
        raise CommandError(f"{name}: mdreel advise needs to know the number of frames", ExitCode.USAGE)


def _advice(nested: NestedCommand, nodes: int | None, cores: int | None, file_system: str | None) -> "Advice":
    """Sample the analyses and return the advice."""
    from mdreel.cli.analyses.runner import open_files, prepare
    from mdreel.cluster.advice.advise import advise as advise_on
    from mdreel.cluster.advice.target import target_of
    from mdreel.trajectory.window import TimeWindow, frames_in_window

    request = nested.request
    with failing_with(ExitCode.USAGE):
        # Check the machine before any file is opened. Several nodes need a shared file system, hence the default "nfs".
        target_of(cores, nodes, file_system or "nfs")
    prepared = prepare(request, nested.analyses, open_files)
    with failing_with(ExitCode.INPUT):
        source = prepared.source.with_on_error(request.on_error)
        return advise_on(
            prepared.analyses,
            request.start,
            request.stop,
            request.step,
            frames_in_window(source, TimeWindow(request.begin, request.end, request.interval)),
            n_cores=cores,
            n_nodes=nodes,
            file_system=file_system,
            n_workers=request.n_workers or None,
            on_error=request.on_error,
            opening=prepared.topology_seconds,
        )


def _place_of_script(changes: str) -> str:
    """Return a message that names the file that received the script, and what the script changes."""
    file = Path("/proc/self/fd/1").readlink() if stat.S_ISREG(os.fstat(1).st_mode) else None
    if file is None:
        written, remedy = "no file was written", "to keep the script, write > job.sh at the end of the command"
    else:
        written, remedy = f"the script is in {file}", f"to run it, write: sh {shlex.quote(str(file))}"
    return f"mdreel: {written}, and no command was run; {remedy}\nmdreel: changes to your command: {changes}"


def _expectation(advice: "Advice") -> str:
    expected = f"expected: {advice.chosen.seconds:.3g} s with {counted(advice.plan.n_workers, 'worker')}"
    used = f"on {advice.plan.n_nodes:,} of {advice.target}" if advice.target.n_nodes > 1 else f"on {advice.target}"
    if advice.plan.n_workers == 1:
        return f"{expected} {used}"
    return f"{expected} {used} ({advice.serial.seconds:.3g} s with one worker)"
