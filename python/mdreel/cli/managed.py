"""``mdreel managed``: directories of whole files, for programs that know nothing of mdreel."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mdreel.cli import options
from mdreel.cli.exits import CommandError, ExitCode, failing_with
from mdreel.cli.say import say, say_json
from mdreel.cli.sections import SectionedCommand

RUN_EXAMPLES = """\b
Examples:
  mdreel managed run frames -- ./simulate --output frames
  mdreel managed run frames --read --timeout 600 -- cat frames/100.pdb
"""
LIST_EXAMPLES = """\b
Examples:
  mdreel managed list frames
  mdreel managed list frames --json
"""

MANAGED = "Managed directory"

managed = typer.Typer(rich_markup_mode=None)


class RunCommand(SectionedCommand):
    """A command that is given another one, behind ``--``."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Say how the other command is given."""
        return ["[OPTIONS] DIRECTORY -- COMMAND..."]


Directory = Annotated[Path, typer.Argument(metavar="DIRECTORY", help="The directory.")]


@managed.callback()
def _managed() -> None:
    """Directories whose files are seen when they are whole, and waited for."""


@managed.command(cls=RunCommand, short_help="Run a program that only writes or reads files.", epilog=RUN_EXAMPLES)
def run(
    directory: Directory,
    command: Annotated[list[str], typer.Argument(hidden=True)],
    read: Annotated[
        bool,
        typer.Option(
            "--read",
            rich_help_panel=MANAGED,
            help="The program reads what others write. Without, it writes: the directory ends with it.",
        ),
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0,
            rich_help_panel=MANAGED,
            help="Wait no longer for a file.  [default: --read: while a producer may come or lives; else not at all]",
        ),
    ] = None,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared", rich_help_panel=MANAGED, help="There may be other programs that write, and are run so."
        ),
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
        raise typer.Exit(status if status > 0 else 128 - status)


@managed.command("list", cls=SectionedCommand, short_help="What is in a managed directory.", epilog=LIST_EXAMPLES)
def list_files(
    directory: Directory,
    as_json: Annotated[
        bool, typer.Option("--json", rich_help_panel=options.OUTPUT, help="All that is known, as JSON for programs.")
    ] = False,
) -> None:
    """The files that are published, by name, and how it stands with who writes them."""
    from mdreel.live.managed.reader import ManagedDirectory

    with failing_with(ExitCode.INPUT):
        seen = ManagedDirectory(directory)
        state, reason, names = seen.state, seen.reason, seen.names("name")
    if as_json:
        say_json(
            {"path": str(seen.path), "state": state, "reason": reason, "files": names}, indent=2, ensure_ascii=True
        )
        return
    for name in names:
        say(name)
    say(f"{seen.path}: {len(names):,} files, {state}" + (f": {reason}" if reason else ""), err=True)
