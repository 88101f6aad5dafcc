"""Files of several structures of the same atoms."""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.topology.structure_file import check_structure
from mdreel.errors import UnsupportedError
from mdreel.foundation.atomic_files import replacing_by_ending

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

_JOINED = ".gro"
"""Ending of files that store several structures one after the other, of which MDAnalysis writes a single one."""


def check_structures(path: Path, n_structures: int, force: bool = False) -> Path:
    """Check that a file of so many structures can be written, without writing it; see `check_structure`."""
    return check_structure(path, force, None if n_structures == 1 or path.suffix.lower() == _JOINED else True)


def write_structures(
    atoms: "AtomGroup", structures: Iterable[NDArray[np.float32]], path: Path, force: bool = False
) -> Path:
    """Write structures to a file, which appears when it is complete.

    Parameters
    ----------
    atoms : MDAnalysis.AtomGroup
        The atoms, of which only the topology is used.
    structures : iterable of ndarray, shape (n_atoms, 3), float32
        Positions of the atoms in each structure, Å.
    path : Path
        The file. The file extension selects the format.
    force : bool
        Whether to replace an existing file.

    Raises
    ------
    UnsupportedError
        If the format cannot store the structures.
    OSError
        If the file exists and `force` is false, or if it cannot be written.
    """
    import MDAnalysis

    universe = MDAnalysis.Merge(atoms)
    universe.load_new(np.zeros((1, len(atoms), 3), np.float32))
    try:
        with replacing_by_ending(path, force) as named:
            if path.suffix.lower() == _JOINED:
                _join(universe.atoms, structures, Path(named))
            else:
                with MDAnalysis.Writer(str(named), len(atoms)) as writer:
                    for positions in structures:
                        universe.atoms.positions = positions
                        writer.write(universe.atoms)
    except ValueError as error:  # such as coordinates with too many digits
        message = f"the format cannot hold these atoms: {' '.join(str(error).split())}: choose another ending"
        raise UnsupportedError(message, path=path) from error
    return path


def _join(atoms: "AtomGroup", structures: Iterable[NDArray[np.float32]], path: Path) -> None:
    """Write files of one structure each and join them."""
    with tempfile.TemporaryDirectory() as folder, path.open("wb") as joined:
        part = Path(folder) / f"part{_JOINED}"
        for positions in structures:
            atoms.positions = positions
            atoms.write(str(part))
            joined.write(part.read_bytes())
