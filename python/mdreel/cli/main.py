"""Main function of the command ``mdreel``, which handles signals, exit codes and errors."""

import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, TextIO

from mdreel.cli.errors import CommandError, ExitCode, one_line
from mdreel.cli.output import echo
from mdreel.errors import MdreelError, MdreelWarning
from mdreel.execution.executors.mpi.launcher import launched
from mdreel.foundation.printable import printable

if TYPE_CHECKING:
    from mdreel.cli.analyses.request import AnalysisRequest, Request

_ASKS_FOR_HELP: tuple[list[str], ...] = ([], ["-h"], ["--help"])


def main() -> NoReturn:
    """Run the command line and exit with its exit code. Errors take one line unless MDREEL_TRACEBACK is set."""
    _set_up_process()
    try:
        _serve_other_ranks()
    except MdreelError as error:
        sys.exit(_report(error))
    code: int = ExitCode.INPUT
    try:
        with _served_by_other_ranks():
            code = _run()
    finally:
        _dismiss_other_ranks(code)
    sys.exit(code)


def _run() -> int:
    """Run the command line and return its exit code."""
    code: int | None = ExitCode.DONE
    try:
        if sys.argv[1:] in _ASKS_FOR_HELP and "_MDREEL_COMPLETE" not in os.environ:
            from mdreel.cli.help_page import help_page

            echo(help_page())
        else:
            from mdreel.cli.lazy_group import LazyGroup

            code = LazyGroup().main(prog_name="mdreel", standalone_mode=False, obj=run_analyses)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except SystemExit as error:
        if error.code != 1:
            raise
        code = _end_of_output()  # Click exits in this way after a closed pipe
    except BrokenPipeError:
        code = _end_of_output()
    except Exception as error:
        if type(error).__name__ == "Abort":  # of Click, for Ctrl-C
            code = ExitCode.INTERRUPTED
        elif os.environ.get("MDREEL_TRACEBACK"):
            raise
        else:
            code = _report(error)
    if code == ExitCode.INTERRUPTED:
        echo("mdreel: interrupted", err=True)
    return int(code or 0)


def run_analyses(request: "Request", analyses: "Sequence[AnalysisRequest]") -> None:
    """Run analyses of files or of a running simulation.

    Only this function supports both. It is passed to analyses and recipes as the object of Click's context, so that
    they do not need to import the commands for running simulations.
    """
    if request.is_live:
        from mdreel.cli.live.running_input import run_on_simulation

        run_on_simulation(request, analyses)
    else:
        from mdreel.cli.analyses.runner import run_on_files

        run_on_files(request, analyses)


def _serve_other_ranks() -> None:
    """On all MPI ranks except the first, run blocks for the first rank, and exit when it exits. Otherwise, return."""
    ranks = launched()
    if ranks is not None and ranks.size > 1 and ranks.rank > 0:
        from mdreel.execution.executors.mpi.executor import Mpi

        Mpi().serve()


def _served_by_other_ranks() -> AbstractContextManager[None]:
    """On the first of several MPI ranks, return a context in which the others serve it."""
    ranks = launched()
    if ranks is not None and ranks.size > 1:
        from mdreel.execution.executors.mpi.executor import Mpi

        with suppress(MdreelError):  # a command that needs MPI reports that it is missing
            return Mpi().served()
    return nullcontext()


def _dismiss_other_ranks(code: int) -> None:
    """On the first of several MPI ranks, end the other ranks."""
    ranks = launched()
    if ranks is not None and ranks.size > 1:
        from mdreel.execution.executors.mpi.executor import Mpi

        with suppress(MdreelError):  # an earlier message has reported that MPI is missing
            Mpi().leave(code)


def _end_of_output() -> int:
    """Exit without a message if the reader of the output has closed its pipe, for example with ``| head``.

    Other programs are terminated by SIGPIPE in this case. mdreel ignores this signal, because it would also terminate
    the process when a worker is lost.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.BROKEN_PIPE


def _report(error: Exception) -> int:
    """Print an error as a single line, and return the exit code."""
    if isinstance(error, CommandError):
        message, code = str(error), int(error.code)
    elif hasattr(error, "format_message"):  # of Click, for wrong options
        message, code = error.format_message(), int(ExitCode.USAGE)
        context = getattr(error, "ctx", None)
        message = " ".join(message.split()).rstrip(".")
        message += f" (see {context.command_path if context else 'mdreel'} --help)"
    elif isinstance(error, MdreelError | OSError):
        message, code = one_line(error), int(ExitCode.INPUT)
    else:
        message = f"{type(error).__name__}: {one_line(error)} (a bug in mdreel: MDREEL_TRACEBACK=1 shows the traceback)"
        code = 1
    echo(f"mdreel: error: {printable(message)}", err=True)
    return code


def _set_up_process() -> None:
    """Set up signals, streams and warnings in the usual way for command-line programs."""
    signal.signal(signal.SIGTERM, _terminate)  # of schedulers: temporary files are removed
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
    """Show mdreel warnings without file and line number. Warnings from MDAnalysis and NumPy are ignored."""
    if issubclass(category, MdreelWarning):
        from click import get_current_context

        from mdreel.cli.option_names import in_options

        context = get_current_context(silent=True)
        text = str(message) if context is None else in_options(str(message), context.command, context.params)
        # A warning about several frames has one line for each.
        for line_of_text in text.splitlines():
            echo(f"mdreel: warning: {printable(line_of_text)}", err=True)
