"""What the commands have in common that write trajectories."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mdreel.cli.exits import CommandError, ExitCode, checking_output, one_line
from mdreel.cli.say import say

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel.trajectory.write_report import Written


def check_usage(output: Path, precision: float | None, topology: Path | None, selection: str | None) -> None:
    """Refuse what cannot be meant, before anything is opened."""
    from mdreel.errors import MismatchError
    from mdreel.trajectory.output_file import check_settings

    if selection is not None and topology is None:
        raise CommandError("--select needs a topology: give one with -s", ExitCode.USAGE)
    try:
        with checking_output(output):
            check_settings(output, precision)
    except CommandError as error:
        if isinstance(error.__cause__, MismatchError):
            raise CommandError(str(error), ExitCode.USAGE) from error
        raise


def selected(topology: Path | None, selection: str | None) -> "AtomGroup | None":
    """The atoms to be written; None for all."""
    if topology is None or selection is None:
        return None
    from mdreel.cli.system import open_topology, select

    return select(open_topology(topology), selection, topology)


@contextmanager
def failing_by_file(inputs: list[Path]) -> Iterator[None]:
    """Tell failures to write from failures to read, which one call does side by side."""
    from mdreel.errors import MdreelError

    read = {str(path) for path in inputs}
    try:
        yield
    except FileExistsError as error:
        message = f"{error.filename}: the output exists already (--force replaces it)"
        raise CommandError(message, ExitCode.USAGE) from error
    except (MdreelError, OSError) as error:
        is_output = isinstance(error, OSError) and error.filename is not None and str(error.filename) not in read
        raise CommandError(one_line(error), ExitCode.OUTPUT if is_output else ExitCode.INPUT) from error


def report(written: "Written", quiet: bool, verbose: bool) -> None:
    """Say what was written, and where the time went."""
    if quiet:
        return
    say(written.timing.summary(), err=True)
    if verbose:
        say(written.timing.table(), err=True)
    files = str(written.paths[0]) if len(written.paths) == 1 else f"{written.paths[0]} to {written.paths[-1]}"
    say(
        f"{files}: {written.n_frames:,} frames of {written.n_atoms:,} atoms, {written.n_bytes * 1e-6:,.3g} MB", err=True
    )
