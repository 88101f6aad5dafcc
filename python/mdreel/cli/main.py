"""The command ``mdreel``.

It must answer ``--help`` at once: nothing heavier than typer is imported before a command runs.
"""

import os
import signal
import sys
import warnings
from importlib.metadata import entry_points
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn, TextIO

import typer

from mdreel.cli.advise import EXAMPLES as ADVISE_EXAMPLES
from mdreel.cli.advise import AdviseCommand, advise
from mdreel.cli.align import EXAMPLES as ALIGN_EXAMPLES
from mdreel.cli.align import align
from mdreel.cli.analyses import ANALYSES
from mdreel.cli.archive import EXAMPLES as ARCHIVE_EXAMPLES
from mdreel.cli.archive import archive
from mdreel.cli.channels import EXAMPLES as CHANNELS_EXAMPLES
from mdreel.cli.channels import channels
from mdreel.cli.check import EXAMPLES as CHECK_EXAMPLES
from mdreel.cli.check import check
from mdreel.cli.cluster import cluster
from mdreel.cli.concat import EXAMPLES as CONCAT_EXAMPLES
from mdreel.cli.concat import concat
from mdreel.cli.convert import EXAMPLES as CONVERT_EXAMPLES
from mdreel.cli.convert import convert
from mdreel.cli.ensemble import ensemble
from mdreel.cli.execution import dismiss_other_ranks, serve_other_ranks
from mdreel.cli.exits import CommandError, ExitCode, one_line
from mdreel.cli.hub import EXAMPLES as HUB_EXAMPLES
from mdreel.cli.hub import hub
from mdreel.cli.info import EXAMPLES as INFO_EXAMPLES
from mdreel.cli.info import info
from mdreel.cli.managed import managed
from mdreel.cli.produce import EXAMPLES as PRODUCE_EXAMPLES
from mdreel.cli.produce import produce
from mdreel.cli.recipe import EXAMPLES as RECIPE_EXAMPLES
from mdreel.cli.recipe import recipe
from mdreel.cli.relay import EXAMPLES as RELAY_EXAMPLES
from mdreel.cli.relay import relay
from mdreel.cli.repack import EXAMPLES as REPACK_EXAMPLES
from mdreel.cli.repack import repack
from mdreel.cli.report import EXAMPLES as REPORT_EXAMPLES
from mdreel.cli.report import report
from mdreel.cli.say import say
from mdreel.cli.sections import SectionedCommand
from mdreel.cli.serve import EXAMPLES as SERVE_EXAMPLES
from mdreel.cli.serve import serve
from mdreel.cli.split import EXAMPLES as SPLIT_EXAMPLES
from mdreel.cli.split import split
from mdreel.cli.steer import EXAMPLES as STEER_EXAMPLES
from mdreel.cli.steer import SteerCommand, steer_command
from mdreel.cli.watch import EXAMPLES as WATCH_EXAMPLES
from mdreel.cli.watch import watch
from mdreel.errors import MdreelError
from mdreel.foundation.printable import printable

app = typer.Typer(
    name="mdreel",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # imports the whole of email

        say(f"mdreel {version('mdreel')}")
        raise typer.Exit


@app.callback(epilog="Example:  mdreel rmsd -s adk.psf -f adk.xtc -o rmsd.csv --plot rmsd.png")
def _mdreel(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Analyse molecular dynamics trajectories as fast as the hardware allows."""
    if context.invoked_subcommand is None:
        say(context.get_help())


for _name, _command in ANALYSES.items():
    app.command(_name, cls=SectionedCommand, short_help=_command.short_help, epilog=_command.examples)(_command)
app.command("run", cls=SectionedCommand, short_help="Run a recipe.", epilog=RECIPE_EXAMPLES)(recipe)
app.command(cls=SectionedCommand, epilog=INFO_EXAMPLES)(info)
app.command(cls=SectionedCommand, short_help="Report all that is wrong.", epilog=CHECK_EXAMPLES)(check)
app.command(cls=SectionedCommand, short_help="Write a trajectory in another format.", epilog=CONVERT_EXAMPLES)(convert)
app.command(cls=SectionedCommand, short_help="Superpose and write all frames.", epilog=ALIGN_EXAMPLES)(align)
app.command(cls=SectionedCommand, short_help="Cut a trajectory into several files.", epilog=SPLIT_EXAMPLES)(split)
app.command(cls=SectionedCommand, short_help="Join several trajectories into one file.", epilog=CONCAT_EXAMPLES)(concat)
app.command(cls=SectionedCommand, short_help="Store a trajectory for how it is read.", epilog=REPACK_EXAMPLES)(repack)
app.command(cls=SectionedCommand, short_help="Publish a trajectory as a simulation would.", epilog=PRODUCE_EXAMPLES)(
    produce
)
app.command(cls=SectionedCommand, short_help="Keep a channel in a file.", epilog=ARCHIVE_EXAMPLES)(archive)
app.command(cls=SectionedCommand, short_help="What simulations publish here.", epilog=CHANNELS_EXAMPLES)(channels)
app.command("steer", cls=SteerCommand, short_help="Stop, fork, ... a simulation by rule.", epilog=STEER_EXAMPLES)(
    steer_command
)
app.command(cls=SectionedCommand, short_help="See simulations and analyses run.", epilog=WATCH_EXAMPLES)(watch)
app.command(cls=SectionedCommand, short_help="Serve channels to other nodes.", epilog=SERVE_EXAMPLES)(serve)
app.command(cls=SectionedCommand, short_help="Take a channel of another node.", epilog=RELAY_EXAMPLES)(relay)
app.command(cls=SectionedCommand, short_help="Serve many clients of IMD.", epilog=HUB_EXAMPLES)(hub)
app.command(cls=SectionedCommand, short_help="A page that shows where the time of a run went.", epilog=REPORT_EXAMPLES)(
    report
)
app.add_typer(managed, name="managed", short_help="Programs that write or read file by file.")
app.add_typer(ensemble, name="ensemble", short_help="Many simulations as one.")
app.add_typer(cluster, name="cluster", short_help="Batch scripts for Slurm and PBS.")
app.command(
    cls=AdviseCommand,
    short_help="How an analysis is best run.",
    epilog=ADVISE_EXAMPLES,
    context_settings={"ignore_unknown_options": True},
)(advise)
# Commands of other packages, such as mdreel-lab.
for _entry in entry_points(group="mdreel.commands"):
    _entry.load()(app)


def main() -> NoReturn:
    """Run the command line and leave with its exit code; errors are one line unless MDREEL_TRACEBACK is set."""
    _settle_into_the_shell()
    try:
        serve_other_ranks()
    except MdreelError as error:
        sys.exit(_report(error))
    code: int = ExitCode.INPUT
    try:
        code = _run()
    finally:
        dismiss_other_ranks(code)
    sys.exit(code)


def _run() -> int:
    """Run the command line; return its exit code."""
    try:
        code = app(prog_name="mdreel", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = ExitCode.INTERRUPTED
    except SystemExit as error:
        if error.code != 1:
            raise
        code = _end_of_output()  # nothing else ends with this: it is how typer tells of a closed pipe
    except BrokenPipeError:
        code = _end_of_output()
    except Exception as error:
        if os.environ.get("MDREEL_TRACEBACK"):
            raise
        code = _report(error)
    if code == ExitCode.INTERRUPTED:
        say("mdreel: interrupted", err=True)
    return int(code or 0)


def _end_of_output() -> int:
    """End without a word where nobody reads any more, as behind ``| head``.

    The signal that ends other programs stays ignored: it would end us as well when a worker is lost.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.BROKEN_PIPE


def _report(error: Exception) -> int:
    """Print an error in one line; return the exit code."""
    if isinstance(error, CommandError):
        message, code = str(error), int(error.code)
    elif hasattr(error, "format_message"):  # what typer raises for wrong options; its class has moved between versions
        message, code = error.format_message(), int(ExitCode.USAGE)
        context = getattr(error, "ctx", None)
        message = " ".join(message.split()).rstrip(".")
        message += f" (see {context.command_path if context else 'mdreel'} --help)"
    elif isinstance(error, MdreelError | OSError):
        message, code = one_line(error), int(ExitCode.INPUT)
    else:
        message = f"{type(error).__name__}: {one_line(error)} (a fault of mdreel: set MDREEL_TRACEBACK=1 to see where)"
        code = 1
    say(f"mdreel: error: {printable(message)}", err=True)
    return code


def _settle_into_the_shell() -> None:
    """Behave as a program does in a shell, not as Python does."""
    signal.signal(signal.SIGTERM, _terminate)  # a scheduler's: no temporary file may stay
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # Å on a terminal that has none
    if not sys.warnoptions:
        warnings.showwarning = _show_warning


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(ExitCode.TERMINATED)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show our own warnings without their place; those of MDAnalysis and NumPy are for programmers."""
    if category.__module__ == MdreelError.__module__ or Path(__file__).parents[1] in Path(filename).parents:
        # A warning of several frames has one on a line.
        for text in str(message).splitlines():
            say(f"mdreel: warning: {printable(text)}", err=True)
