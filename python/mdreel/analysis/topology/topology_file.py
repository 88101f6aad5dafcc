"""Topology files and atom selections, read by MDAnalysis."""

import warnings
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from mdreel.analysis.topology.index_file import read_index
from mdreel.errors import FormatError, MdreelWarning, SelectionError
from mdreel.trajectory.selection_remedies import remedy_for_no_atoms, remedy_for_syntax

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe


def open_topology(
    path: str | PathLike[str], index: str | PathLike[str] | None = None, *, is_reference: bool = False
) -> "Universe":
    """Open a topology or structure file, without a trajectory.

    Parameters
    ----------
    path : path
        The file.
    index : path, optional
        A GROMACS index file. In selections, ``group Protein`` then refers to the group ``Protein`` in this file.
    is_reference : bool
        Whether the index file may describe a larger system. In this case, only groups that occur in a selection must
        match the topology.

    Raises
    ------
    FormatError
        If MDAnalysis cannot read the file. Its parsers raise many different exceptions, which are all converted to this
        one. If the index file is not valid.
    MismatchError
        If the index file contains an atom that the topology does not have.
    OSError
        If a path does not exist or is not a file.
    """
    groups = None if index is None else read_index(index)
    import MDAnalysis

    path = Path(path)
    if not path.is_file():
        if path.exists():
            raise IsADirectoryError(f"{path}: not a file")
        hint = f"; for a frame of the trajectory, give ref_frame={path}" if str(path).isdigit() else ""
        raise FileNotFoundError(f"{path}: No such file or directory{hint}")
    try:
        settings = {"topology_format": _format_of(str(path))}
        if groups is None:
            return MDAnalysis.Universe(str(path), **settings)
        from mdreel.analysis.topology.indexed_universe import IndexedUniverse

        universe = IndexedUniverse(str(path), **settings)
    except Exception as error:
        raise FormatError(f"cannot be read as a topology: {_first_words(error)}", path=path) from error
    return universe.use_groups(groups, is_reference=is_reference)


def select_atoms(universe: "Universe", selection: str, path: str | PathLike[str]) -> "AtomGroup":
    """Select atoms in MDAnalysis's selection language.

    Parameters
    ----------
    universe : Universe
        All atoms.
    selection : str
        The selection.
    path : path
        The topology file, for use in error messages.

    Raises
    ------
    SelectionError
        If MDAnalysis cannot parse the selection, if one of its groups is not in the index file, or if no atoms match.
    """
    try:
        atoms = universe.select_atoms(selection)
    except Exception as error:
        message = f"selection '{selection}': {_first_words(error)}"
        if "Failed to find group" in message:
            message += ": give the index file that has the group (-n)"
        else:
            message += f": {remedy_for_syntax(message)}"
        raise SelectionError(message) from error
    if len(atoms) == 0:
        message = f"matches none of the {len(universe.atoms):,} atoms of {path}"
        message += f": {remedy_for_no_atoms(universe, [selection])}"
        raise SelectionError(f"selection '{selection}' {message}")
    return atoms


def warn_of_positions(selection: str, path: str | PathLike[str]) -> None:
    """Warn that a selection that depends on positions is evaluated only once, in the structure.

    Warns
    -----
    MdreelWarning
        If the selection depends on positions.
    """
    from mdreel.analysis.topology.hydrogen_bond_atoms import may_change

    if may_change(selection):
        message = f"the selection '{selection}' depends on positions: it is evaluated once, in {path}, for all frames"
        remedy = "mdreel select --dynamic evaluates a selection in each frame"
        warnings.warn(f"{message}; {remedy}", MdreelWarning, stacklevel=2)


def _format_of(path: str) -> str | None:
    """Return the format that MDAnalysis derives from the name of a file, or None if it has no parser for this format.

    Without a format, MDAnalysis first tests whether the argument is an object of another package. For one of these
    tests, it imports OpenMM, which takes longer than many runs.
    """
    import MDAnalysis

    try:
        found: str = MDAnalysis.lib.util.guess_format(path)
    except (TypeError, ValueError):
        return None
    return found if found in MDAnalysis._PARSERS else None  # noqa: SLF001 - the only list of its parsers


def _first_words(error: Exception) -> str:
    """Return the message of an MDAnalysis exception, or the name of the exception if it has no message."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__
