"""Options and messages of commands that write trajectories."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdreel.cli.errors import CommandError, ExitCode, checking_output, one_line
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option
from mdreel.cli.output import echo

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel.trajectory.write_report import Written

# Extensions of the output formats, as in the core, which `--help` does not load; a test compares both.
EXTENSIONS = (".xtc", ".dcd", ".trr", ".nc", ".h5md", ".h5")

Output = Annotated[
    Path,
    Option(
        *("-o", "--output"), metavar="FILE", group=shared.OUTPUT, help=f"Trajectory to write: {' '.join(EXTENSIONS)}"
    ),
]
Precision = Annotated[
    float | None,
    Option(
        "--precision",
        metavar="N",
        group=shared.OUTPUT,
        help="For XTC: round coordinates to 1/N nm.  [default: as in the trajectory, or 1000]",
    ),
]
Topology = Annotated[
    Path | None,
    Option(
        *("-s", "--topology"),
        metavar="FILE",
        group=shared.INPUT,
        help="Topology or structure that MDAnalysis reads, for --select.",
    ),
]
Selection = Annotated[
    str | None,
    Option(
        "--select",
        metavar="SELECTION",
        group=shared.INPUT,
        help="Atoms, in MDAnalysis's selection language, in the order of the trajectory.  [default: all]",
    ),
]


def check_usage(output: Path, precision: float | None, topology: Path | None, selection: str | None) -> None:
    """Check the options before a file is opened."""
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
    """Return the atoms to write; None for all."""
    if topology is None or selection is None:
        return None
    from mdreel.analysis.topology.topology_file import open_topology, select_atoms

    return select_atoms(open_topology(topology), selection, topology)


@contextmanager
def failing_by_file(inputs: list[Path]) -> Iterator[None]:
    """Turn errors into a `CommandError` whose exit code tells whether an input or the output failed."""
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
    """Print what was written, and the timing."""
    if quiet:
        return
    echo(written.timing.summary(), err=True)
    if verbose:
        echo(written.timing.table(), err=True)
    files = str(written.paths[0]) if len(written.paths) == 1 else f"{written.paths[0]} to {written.paths[-1]}"
    echo(
        f"{files}: {written.n_frames:,} frames of {written.n_atoms:,} atoms, {written.n_bytes * 1e-6:,.3g} MB", err=True
    )
