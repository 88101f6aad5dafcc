"""The command ``mdreel managed``, which lets unmodified programs exchange complete files."""

from pathlib import Path
from typing import Annotated

import click

from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, CommandGroup, Option
from mdreel.cli.output import echo, echo_json

RUN_EXAMPLES = """\
Examples:
  mdreel managed run frames -- ./simulate --output frames
  mdreel managed run frames --read --timeout 600 -- cat frames/100.pdb
"""
LIST_EXAMPLES = """\
Examples:
  mdreel managed list frames
  mdreel managed list frames --json
"""

MANAGED = "Managed directory"

managed = CommandGroup("managed", "Publish the files of a directory when they are complete, and wait for them.")


Directory = Annotated[Path, Argument(metavar="DIRECTORY", help="The managed directory.")]


@managed.add(
    summary="Run an unmodified program that writes or reads files.",
    usage="[OPTIONS] DIRECTORY -- COMMAND...",
    examples=RUN_EXAMPLES,
)
def run(
    directory: Directory,
    command: Annotated[list[str], Argument(is_hidden=True)],
    read: Annotated[
        bool,
        Option(
            group=MANAGED,
            help="The program reads files. By default, it writes files, and the directory ends when the program exits.",
        ),
    ] = False,
    timeout: Annotated[
        float | None,
        Option(
            metavar="SECONDS",
            minimum=0,
            group=MANAGED,
            help="Maximum time to wait for a file.  [default: until the producers end with --read, otherwise 0]",
        ),
    ] = None,
    shared: Annotated[
        bool, Option(group=MANAGED, help="Allow other programs, also run with --shared, to write to the directory.")
    ] = False,
) -> None:
    """Publish each file of a program when the program closes it, or make the program wait for files that it opens.

    The command returns the exit status of the program.
    """
    if read and shared:
        raise CommandError("--shared cannot be used with --read", ExitCode.USAGE)

    from mdreel.live.managed.preload import run_managed

    with failing_with(ExitCode.INPUT):
        status = run_managed(command, directory, produces=not read, timeout=timeout, shared=shared)
    if status:
        raise click.exceptions.Exit(status if status > 0 else 128 - status)


@managed.add(name="list", summary="List the files of a managed directory.", examples=LIST_EXAMPLES)
def list_files(
    directory: Directory,
    as_json: shared.AsJson = False,
) -> None:
    """List the published files by name, and show the state of the producer."""
    from mdreel.live.managed.reader import ManagedDirectory

    with failing_with(ExitCode.INPUT):
        seen = ManagedDirectory(directory)
        state, reason, names = seen.state, seen.reason, seen.names("name")
    if as_json:
        echo_json(
            {"path": str(seen.path), "state": state, "reason": reason, "files": names}, indent=2, ensure_ascii=True
        )
        return
    for name in names:
        echo(name)
    echo(f"{seen.path}: {len(names):,} files, {state}" + (f": {reason}" if reason else ""), err=True)
