"""Atoms of water molecules."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.topology.radii import elements_of
from mdreel.analysis.topology.residue_labels import residue_name
from mdreel.errors import SelectionError

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup


def water_molecules(atoms: "AtomGroup") -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the oxygen atoms of a group, and the two hydrogen atoms of each.

    Parameters
    ----------
    atoms : MDAnalysis.AtomGroup
        Atoms of water molecules. Atoms other than oxygen are ignored. Each molecule is a residue, which can have
        virtual sites.

    Returns
    -------
    tuple of ndarray, shape (n_molecules,), int64, and ndarray, shape (n_molecules, 2), int64
        Universe indices of oxygen atoms in ascending order, and of the hydrogen atoms of their residues.

    Raises
    ------
    SelectionError
        If the group has no oxygen, or if the residue of an oxygen does not have one oxygen and two hydrogens.
    """
    universe = atoms.universe
    oxygens = np.unique(atoms.ix[elements_of(atoms) == "O"])
    if len(oxygens) == 0:
        raise SelectionError("the selection has no oxygen atoms of water: select them, such as by 'name OW'")
    residues = universe.residues[np.unique(universe.atoms.resindices[oxygens])]
    members = residues.atoms
    elements = elements_of(members)
    places = np.searchsorted(residues.resindices, members.resindices)
    counts = [np.bincount(places[elements == one], minlength=len(residues)) for one in ("O", "H")]
    is_other = (counts[0] != 1) | (counts[1] != 2)
    if is_other.any():
        first = int(is_other.argmax())
        found = f"{counts[0][first]} oxygen and {counts[1][first]} hydrogen atoms"
        message = f"{residue_name(residues[first])} has {found}, but a water molecule has 1 and 2"
        raise SelectionError(f"{message}: select only water")
    is_hydrogen = elements == "H"
    order = np.lexsort((members.ix[is_hydrogen], places[is_hydrogen]))
    hydrogens = members.ix[is_hydrogen][order].reshape(-1, 2)
    of_oxygens = np.searchsorted(residues.resindices, universe.atoms.resindices[oxygens])
    return oxygens.astype(np.int64), hydrogens[of_oxygens].astype(np.int64)
