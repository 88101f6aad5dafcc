"""Structure files that are written by MDAnalysis."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mdreel.errors import UnsupportedError
from mdreel.foundation.atomic_files import check_target, replacing_by_ending

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup


def check_structure(path: Path, force: bool = False, multiframe: bool | None = None) -> Path:
    """Check that a structure can be written, without writing it.

    Parameters
    ----------
    path : Path
        The file. The file extension selects the format.
    force : bool
        Whether to replace an existing file.
    multiframe : bool, optional
        Whether the format must store several frames (True) or one structure (False). By default, both are allowed.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    UnsupportedError
        If MDAnalysis cannot write a format with this file extension.
    OSError
        If the file exists and `force` is false, or if the file cannot be created.
    """
    check_ending(path, multiframe)
    check_target(path, force)
    return path


def check_ending(path: Path, multiframe: bool | None = None) -> None:
    """Check that MDAnalysis can write structures with the extension of a file. See `check_structure`."""
    from MDAnalysis.coordinates.core import get_writer_for

    try:
        get_writer_for(str(path), multiframe=multiframe)
    except (TypeError, ValueError) as error:
        raise UnsupportedError("MDAnalysis writes no structures with this ending", path=path) from error


def write_structure(
    atoms: "AtomGroup", path: str | PathLike[str], force: bool = False, multiframe: bool | None = None
) -> Path:
    """Write the current positions of atoms to a structure file, which appears only once it is complete.

    Parameters
    ----------
    atoms : MDAnalysis.AtomGroup
        The atoms.
    path : path
        The file. The file extension selects the format.
    force : bool
        Whether to replace an existing file.
    multiframe : bool, optional
        See `check_structure`.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    UnsupportedError
        If MDAnalysis cannot write a format with this file extension.
    OSError
        If the file exists and `force` is false, or if it cannot be written.
    """
    import MDAnalysis

    path = check_structure(Path(path), force, multiframe)
    try:
        with (
            replacing_by_ending(path, force) as named,
            MDAnalysis.Writer(str(named), len(atoms), multiframe=multiframe) as writer,
        ):
            writer.write(atoms)
    except ValueError as error:  # such as coordinates with too many digits
        message = f"the format cannot hold these atoms: {' '.join(str(error).split())}: choose another ending"
        raise UnsupportedError(message, path=path) from error
    return path


def write_first_frame(
    atoms: "AtomGroup", trajectory: str | PathLike[str], path: str | PathLike[str], force: bool = False
) -> None:
    """Write a structure file that MDAnalysis can open together with a trajectory of the same atoms.

    Parameters
    ----------
    atoms : MDAnalysis.AtomGroup
        The atoms of the trajectory, in the same order. Only their topology is used.
    trajectory : path
        The trajectory. The positions and the cell are taken from its first frame.
    path : path
        The structure file. The file extension selects the format, such as ``.pdb`` or ``.gro``.
    force : bool
        Whether to replace an existing file.

    Raises
    ------
    MdreelError
        If the trajectory cannot be read, or if the format cannot be written.
    OSError
        If the file exists and `force` is false, or if it cannot be written.
    """
    import MDAnalysis

    from mdreel.trajectory.read import read

    frame = read(trajectory, stop=1)
    written = MDAnalysis.Merge(atoms)
    written.load_new(frame.positions)
    cell = frame.cells[0]
    written.dimensions = None if np.isnan(cell).any() else cell
    write_structure(written.atoms, path, force, multiframe=False)
