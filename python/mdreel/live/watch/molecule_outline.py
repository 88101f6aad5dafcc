"""Program that describes the atoms of the 3-D view, which needs MDAnalysis and therefore runs in its own process."""

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mdreel.analysis.topology.radii import elements_of
from mdreel.analysis.topology.topology_file import open_topology, select_atoms
from mdreel.errors import MdreelError

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

MOST_ATOMS = 20_000
"""Maximum number of atoms that are drawn."""

_ALL = 5_000
"""Number of atoms up to which all atoms are drawn by default."""

_SOLVENT = "water or resname SOL WAT HOH TIP3 TP3M SPC SPCE NA CL K NA+ CL- K+ SOD CLA POT"
_CHOICES = (f"not ({_SOLVENT})", f"(protein or nucleic) and not ({_SOLVENT})", "name CA P", "all")
"""Selections that are tried in this order, until one of them is not empty and has few enough atoms."""


def outline(topology: Path, index: Path | None = None, selection: str | None = None) -> dict[str, Any]:
    """Return the atoms of the 3-D view, their names and their bonds.

    Parameters
    ----------
    topology, index : Path
        Topology and index file.
    selection : str or None
        Atoms to draw. By default, all atoms of small systems, and all but water and ions otherwise.

    Returns
    -------
    dict
        ``selection`` is the selection. ``n_system`` is the number of atoms of the topology. ``n_left`` is the number of
        selected atoms that are not drawn. ``indices``, ``names``, ``elements`` and ``residues`` (number of the residue)
        describe the drawn atoms. ``resnames``, ``resids`` and ``chains`` describe their residues. ``bonds`` are pairs
        of drawn atoms. In the order ``order``, each atom follows the atom in ``parents`` that is bonded to it, if there
        is one (else -1).

    Raises
    ------
    MdreelError
        If the topology cannot be read, or if the selection is invalid or empty.
    """
    universe = open_topology(topology, index)
    atoms, text = _choose(universe, selection, topology)
    n_left = max(0, len(atoms) - MOST_ATOMS)
    atoms = atoms[:MOST_ATOMS]
    residues = atoms.residues
    number = {int(ix): i for i, ix in enumerate(residues.ix)}
    bonds = _bonds(atoms)
    order, parents = _tree(len(atoms), bonds)
    return {
        "selection": text,
        "n_system": len(universe.atoms),
        "n_left": n_left,
        "indices": atoms.ix.tolist(),
        "names": _texts(atoms, "names", "X"),
        "elements": elements_of(atoms).tolist(),
        "residues": [number[int(ix)] for ix in atoms.resindices],
        "resnames": _texts(residues, "resnames", "MOL"),
        "resids": [int(one) for one in getattr(residues, "resids", np.ones(len(residues)))],
        "chains": _texts(residues, "segids", ""),
        "bonds": bonds,
        "order": order,
        "parents": parents,
    }


def _choose(universe: Any, selection: str | None, topology: Path) -> "tuple[AtomGroup, str]":
    if selection is not None:
        return select_atoms(universe, selection, topology), selection
    if len(universe.atoms) <= _ALL:
        return universe.atoms, "all"
    for text in _CHOICES:
        try:
            atoms = universe.select_atoms(text)
        except Exception:  # noqa: BLE001, S112 (the topology lacks an attribute)
            continue
        if 0 < len(atoms) <= MOST_ATOMS:
            return atoms, text
    return universe.atoms, "all"


def _texts(group: Any, attribute: str, default: str) -> list[str]:
    return [str(one) for one in getattr(group, attribute, [default] * len(group))]


def _bonds(atoms: "AtomGroup") -> list[list[int]]:
    """Return the bonds between the drawn atoms, as numbers in their order."""
    try:
        pairs = np.asarray(atoms.universe.bonds.indices, np.int64).reshape(-1, 2)
    except Exception:  # noqa: BLE001 (MDAnalysis raises NoDataError)
        return []
    number = np.full(len(atoms.universe.atoms), -1, np.int64)
    number[atoms.ix] = np.arange(len(atoms))
    found = number[pairs]
    kept: list[list[int]] = found[(found >= 0).all(axis=1)].tolist()
    return kept


def _tree(n_atoms: int, bonds: list[list[int]]) -> tuple[list[int], list[int]]:
    """Return an order of the atoms in which each atom follows an atom bonded to it, and these atoms (-1 for none)."""
    neighbours: list[list[int]] = [[] for _ in range(n_atoms)]
    for a, b in bonds:
        neighbours[a].append(b)
        neighbours[b].append(a)
    order: list[int] = []
    parents = [-1] * n_atoms
    is_placed = [False] * n_atoms
    for first in range(n_atoms):
        if is_placed[first]:
            continue
        is_placed[first] = True
        waiting = [first]
        while waiting:
            atom = waiting.pop()
            order.append(atom)
            for other in neighbours[atom]:
                if not is_placed[other]:
                    is_placed[other] = True
                    parents[other] = atom
                    waiting.append(other)
    return order, parents


def main() -> None:
    """Print the outline as JSON. The arguments are the topology, the index file and the selection, or empty texts."""
    warnings.simplefilter("ignore")
    topology, index, selection = sys.argv[1:]
    try:
        found = outline(Path(topology), Path(index) if index else None, selection or None)
    except (MdreelError, OSError, MemoryError) as error:
        found = {"error": " ".join(str(error).split())}
    json.dump(found, sys.stdout, separators=(",", ":"))


if __name__ == "__main__":
    main()
