"""Options and messages for commands that write trajectories."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdreel.cli.errors import CommandError, ExitCode, checking_output, failing_with, one_line
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option
from mdreel.cli.output import echo

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

    from mdreel.trajectory.write_report import Written

# Extensions of the output formats, as in the core, which `--help` does not load; a test compares both.
EXTENSIONS = (".xtc", ".dcd", ".trr", ".nc", ".h5md", ".h5")
_STRUCTURES = (".pdb", ".gro")

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
        help="For XTC: coordinates are rounded to 1/N nm.  [default: as in the trajectory, or 1000]",
    ),
]
Topology = Annotated[
    Path | None,
    Option(
        *("-s", "--topology"),
        metavar="FILE",
        group=shared.INPUT,
        help="Topology or structure in a format that MDAnalysis can read, for --select and -c.",
    ),
]
Structure = Annotated[
    Path | None,
    Option(
        *("-c", "--structure"),
        metavar="FILE",
        group=shared.OUTPUT,
        help="Structure file with the written atoms in the first written frame, for opening the trajectory: "
        f"{' '.join(_STRUCTURES)}",
    ),
]
Selection = Annotated[
    str | None,
    Option(
        "--select",
        metavar="SELECTION",
        group=shared.INPUT,
        help="Atoms to write, in MDAnalysis's selection language. They keep their order.  [default: all]",
    ),
]


@dataclass(frozen=True)
class WrittenAtoms:
    """The atoms that a command writes, as specified by its options.

    Attributes
    ----------
    topology, index, structure : Path or None
        The topology, the index file, and the structure file to write.
    selection : str or None
        The selection, or None for all atoms.
    """

    topology: Path | None = None
    index: Path | None = None
    selection: str | None = None
    structure: Path | None = None

    def check(self, output: Path, force: bool) -> None:
        """Check the options before a file is opened."""
        for name, value in (("--select", self.selection), ("-n", self.index), ("-c", self.structure)):
            if value is not None and self.topology is None:
                raise CommandError(f"{name} needs a topology: give one with -s", ExitCode.USAGE)
        if self.structure is None:
            return
        from mdreel.analysis.topology.structure_file import check_structure

        if self.structure.suffix.lower() not in _STRUCTURES:
            message = f"{self.structure}: the name of a structure ends in {' or '.join(_STRUCTURES)}"
            raise CommandError(message, ExitCode.USAGE)
        with checking_output(self.structure):
            check_structure(self.structure, force, multiframe=False)
        if self.structure.resolve() == output.resolve():
            raise CommandError(f"{output}: two outputs have the same name", ExitCode.USAGE)

    def universe(self, trajectory: Path) -> "Universe | None":
        """Return the topology. Its selections can refer to the groups of the index file.

        Raises
        ------
        MismatchError
            If a structure was requested, but `trajectory` and the topology have different numbers of atoms.
        """
        if self.topology is None:
            return None
        from mdreel.analysis.topology.topology_file import open_topology
        from mdreel.errors import MismatchError
        from mdreel.trajectory.open import open as open_trajectory

        universe = open_topology(self.topology, self.index)
        if self.structure is not None and len(universe.atoms) != (n_atoms := open_trajectory(trajectory).n_atoms):
            message = f"{self.topology} has {len(universe.atoms)} atoms, but the trajectory has {n_atoms}"
            raise MismatchError(message, path=trajectory)
        return universe

    def selected(self, universe: "Universe | None") -> "AtomGroup | None":
        """Return the atoms to write, or None for all atoms."""
        from mdreel.analysis.topology.topology_file import select_atoms

        if universe is None or self.topology is None or self.selection is None:
            return None
        return select_atoms(universe, self.selection, self.topology)

    def write_structure(self, universe: "Universe | None", atoms: "AtomGroup | None", first: Path, force: bool) -> None:
        """Write the structure of the first frame of the written trajectory if a structure file was specified."""
        if self.structure is None or universe is None:
            return
        from mdreel.analysis.topology.structure_file import write_first_frame

        with failing_with(ExitCode.OUTPUT):
            write_first_frame(universe.atoms if atoms is None else atoms, first, self.structure, force)


def check_usage(output: Path, precision: float | None) -> None:
    """Check the output before a file is opened."""
    from mdreel.errors import MismatchError
    from mdreel.trajectory.output_file import check_settings

    try:
        with checking_output(output):
            check_settings(output, precision)
    except CommandError as error:
        if isinstance(error.__cause__, MismatchError):
            raise CommandError(str(error), ExitCode.USAGE) from error
        raise


@contextmanager
def failing_by_file(inputs: list[Path]) -> Iterator[None]:
    """Convert errors to a `CommandError`. Its exit code shows whether the input or the output failed."""
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
    """Print a report about the written files, and the timing."""
    if quiet:
        return
    echo(written.timing.summary(), err=True)
    if verbose:
        echo(written.timing.table(), err=True)
    files = str(written.paths[0]) if len(written.paths) == 1 else f"{written.paths[0]} to {written.paths[-1]}"
    echo(
        f"{files}: {written.n_frames:,} frames of {written.n_atoms:,} atoms, {written.n_bytes * 1e-6:,.3g} MB", err=True
    )
