"""Bonds of residues, from the topology or guessed from distances."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.topology.missing_data import MissingDataError
from mdreel.analysis.topology.radii import elements_of
from mdreel.analysis.topology.residue_labels import residue_names

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

_REMEDY = "use a topology with bonds, such as TPR, PSF or PRMTOP"
_FACTOR = 0.55  # of the sum of two van der Waals radii: the longest bond, as in VMD and MDAnalysis
_SHORTEST = 0.1  # Å
_BONDED = ("H", "D", "C", "N", "O", "P", "S")  # elements that have bonds in a residue of several atoms


def bonds_of(atoms: "AtomGroup", name: str) -> tuple[NDArray[np.int64], bool]:
    """Return the bonds of the atoms of complete residues, and whether some of them are guessed.

    Parameters
    ----------
    atoms : MDAnalysis.AtomGroup
        All atoms of some residues, in ascending order.
    name : str
        Name of the group in error messages.

    Returns
    -------
    tuple of ndarray, shape (n_bonds, 2), int64, and bool
        Universe indices of the atoms of each bond with at least one of the atoms, in ascending order, and whether
        bonds are guessed.

    Raises
    ------
    MissingDataError
        If residues lack bonds and there are no positions or no radii from which to guess them.

    Notes
    -----
    If an atom has no bond within its residue in the topology, the bonds of this residue are guessed. This is the case
    for topologies without bonds, and for PDB files whose CONECT records describe only a ligand or disulfide bridges.
    Ions and metals may have no bonds.
    """
    universe = atoms.universe
    bonds = getattr(universe, "bonds", None)
    known = np.empty((0, 2), np.int64)
    if bonds is not None and len(bonds):
        indices: NDArray[np.int64] = np.asarray(bonds.to_indices(), np.int64).reshape(-1, 2)
        known = np.sort(indices[np.isin(indices, atoms.ix).any(axis=1)], axis=1)
    every = np.asarray(universe.atoms.resindices)
    inside = known[every[known[:, 0]] == every[known[:, 1]]]
    _, places, sizes = np.unique(atoms.resindices, return_inverse=True, return_counts=True)
    is_lacking = ~np.isin(atoms.ix, inside) & (sizes[places] > 1) & np.isin(elements_of(atoms).astype(str), _BONDED)
    if not is_lacking.any():
        return np.unique(known, axis=0), False
    lacking = np.unique(atoms.resindices[is_lacking])
    if not hasattr(universe, "trajectory"):
        named = residue_names(universe.residues[lacking])
        message = f"the topology has no bonds within residues of {name} ({named}), and there are no positions"
        raise MissingDataError(f"{message} from which to guess them: {_REMEDY}, or load a structure")
    guessed = guessed_bonds(atoms)
    guessed = guessed[np.isin(every[guessed], lacking).any(axis=1)]
    return np.unique(np.concatenate([known, guessed]), axis=0), True


def guessed_bonds(atoms: "AtomGroup") -> NDArray[np.int64]:
    """Return the pairs of atoms that are close enough in the current frame to be bonded, as Universe indices.

    Parameters
    ----------
    atoms : MDAnalysis.AtomGroup
        The atoms, in ascending order.

    Returns
    -------
    ndarray, shape (n_bonds, 2), int64
        Universe indices of the atoms of each bond, in ascending order.

    Raises
    ------
    MissingDataError
        If an element of a residue with several atoms has no van der Waals radius.

    Notes
    -----
    Two atoms are bonded if their distance is less than 0.55 times the sum of their van der Waals radii, which are
    those of MDAnalysis for their elements. Atoms that are no element, such as the virtual sites of water models, and
    ions without a radius have no bonds. Types of atoms are not used: in many topologies, they are types of a force
    field.
    """
    from MDAnalysis.guesser.tables import SYMB2Z, vdwradii
    from MDAnalysis.lib.distances import self_capped_distance

    from mdreel.trajectory.placeholder_cell import cell_of

    elements = ["H" if element == "D" else element.upper() for element in elements_of(atoms)]
    sizes = np.bincount(atoms.resindices)[atoms.resindices].tolist()
    is_unknown = [
        one not in vdwradii and one.capitalize() in SYMB2Z and n > 1 for one, n in zip(elements, sizes, strict=True)
    ]
    if any(is_unknown):
        unknown = is_unknown.index(True)
        message = (
            f"the element {elements[unknown].capitalize()!r} of atom {atoms[unknown].ix} has no van der Waals radius"
        )
        raise MissingDataError(f"bonds cannot be guessed, because {message}: {_REMEDY}")
    radii = np.array([vdwradii.get(element, 0.0) for element in elements])
    pairs, distances = self_capped_distance(
        atoms.positions, 2 * _FACTOR * radii.max(), _SHORTEST, box=cell_of(atoms.universe)
    )
    is_bond = (distances < _FACTOR * radii[pairs].sum(axis=1)) & (radii[pairs] > 0).all(axis=1)
    indices: NDArray[np.int64] = np.sort(np.asarray(atoms.ix, np.int64)[pairs[is_bond]], axis=1)
    return np.unique(indices.reshape(-1, 2), axis=0)
