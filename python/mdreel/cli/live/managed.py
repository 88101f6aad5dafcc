"""``mdreel managed``: directories of whole files, for programs that know nothing of mdreel."""

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

managed = CommandGroup("managed", "Publish files of a directory when they are whole, and wait for them.")


Directory = Annotated[Path, Argument(metavar="DIRECTORY", help="The directory.")]


@managed.add(
    summary="Run a program that only writes or reads files.",
    usage="[OPTIONS] DIRECTORY -- COMMAND...",
    examples=RUN_EXAMPLES,
)
def run(
    directory: Directory,
    command: Annotated[list[str], Argument(is_hidden=True)],
    read: Annotated[
        bool,
        Option(
            "--read",
            group=MANAGED,
            help="The program reads what others write. Without, it writes: the directory ends with it.",
        ),
    ] = False,
    timeout: Annotated[
        float | None,
        Option(
            "--timeout",
            metavar="SECONDS",
            minimum=0,
            group=MANAGED,
            help="Wait no longer for a file.  [default: --read: while a producer may come or lives; else not at all]",
        ),
    ] = None,
    shared: Annotated[
        bool,
        Option("--shared", group=MANAGED, help="There may be other programs that write, and are run so."),
    ] = False,
) -> None:
    """Run a program whose files are published when it closes them, or whose open waits for files of others.

    Its exit status is that of the program.
    """
    if read and shared:
        raise CommandError("--shared is for programs that write, not with --read", ExitCode.USAGE)

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
    """The files that are published, by name, and how it stands with who writes them."""
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
