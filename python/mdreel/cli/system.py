"""What a command works on: topologies and selections, through MDAnalysis."""

from pathlib import Path
from typing import TYPE_CHECKING

from mdreel.cli.exits import CommandError, ExitCode, one_line

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe


def open_topology(path: Path) -> "Universe":
    """Open a topology or structure file, without a trajectory.

    Raises
    ------
    CommandError
        If MDAnalysis cannot read it: its parsers raise whatever they meet, so that nothing narrower can be caught.
    """
    import MDAnalysis

    if not path.is_file():
        raise CommandError(f"{path}: {'not a file' if path.exists() else 'no such file'}", ExitCode.INPUT)
    try:
        return MDAnalysis.Universe(str(path))
    except Exception as error:
        raise CommandError(f"{path}: cannot be read as a topology: {one_line(error)}", ExitCode.INPUT) from error


def select(universe: "Universe", selection: str, path: Path) -> "AtomGroup":
    """Select atoms in MDAnalysis's language.

    Raises
    ------
    CommandError
        If the selection cannot be understood, or there is no such atom.
    """
    try:
        atoms = universe.select_atoms(selection)
    except Exception as error:
        raise CommandError(f"selection '{selection}': {one_line(error)}", ExitCode.INPUT) from error
    if len(atoms) == 0:
        message = f"selection '{selection}' matches none of the {len(universe.atoms):,} atoms of {path}"
        raise CommandError(message, ExitCode.INPUT)
    return atoms
