"""Input files, which the user can specify as arguments or with ``-f``."""

from pathlib import Path
from typing import Annotated

from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option

Files = Annotated[list[Path] | None, Argument(metavar="[FILE]...", help="Trajectories in the given order, as with -f.")]
TopologyOfFiles = Annotated[
    Path | None,
    Option(
        *("-s", "--topology"),
        metavar="FILE",
        group=shared.INPUT,
        help="Topology or structure. It must have the same number of atoms as the trajectory.",
    ),
]


def input_files(files: list[Path] | None, trajectories: list[Path] | None) -> list[Path]:
    """Return the trajectories that the user specified.

    Parameters
    ----------
    files : list of Path, optional
        Trajectories that were specified as arguments.
    trajectories : list of Path, optional
        Trajectories that were specified with ``-f``.

    Raises
    ------
    CommandError
        If no trajectory was specified, or if both ways were used, because the order would then be unclear.
    """
    if files and trajectories:
        message = "name all trajectories as arguments, or all with -f: the order of a mixture is unclear"
        raise CommandError(message, ExitCode.USAGE)
    found = files or trajectories
    if not found:
        raise CommandError("name a trajectory, as an argument or with -f (see --help)", ExitCode.USAGE)
    return found
