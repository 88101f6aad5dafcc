"""Input files of commands that take them as arguments or with ``-f``."""

from pathlib import Path
from typing import Annotated

from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options.declare import Argument

Files = Annotated[
    list[Path] | None, Argument(metavar="[FILE]...", help="Trajectories, in their order; the same as with -f.")
]


def input_files(files: list[Path] | None, trajectories: list[Path] | None) -> list[Path]:
    """Return the trajectories that the user named.

    Parameters
    ----------
    files : list of Path, optional
        Those named as arguments.
    trajectories : list of Path, optional
        Those named with ``-f``.

    Raises
    ------
    CommandError
        If there are none, or both: their order would be unclear.
    """
    if files and trajectories:
        message = "name all trajectories as arguments, or all with -f: the order of a mixture is unclear"
        raise CommandError(message, ExitCode.USAGE)
    found = files or trajectories
    if not found:
        raise CommandError("name a trajectory, as an argument or with -f (see --help)", ExitCode.USAGE)
    return found
