"""Atoms of water molecules."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel.analysis.topology.radii import elements_of
from mdreel.analysis.topology.residue_labels import residue_name
from mdreel.errors import MismatchError, SelectionError

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
        is_bare = counts[0][first] == 1 and counts[1][first] == 0
        raise SelectionError(f"{message}: {'add hydrogens to the structure' if is_bare else 'select only water'}")
    is_hydrogen = elements == "H"
    order = np.lexsort((members.ix[is_hydrogen], places[is_hydrogen]))
    hydrogens = members.ix[is_hydrogen][order].reshape(-1, 2)
    of_oxygens = np.searchsorted(residues.resindices, universe.atoms.resindices[oxygens])
    return oxygens.astype(np.int64), hydrogens[of_oxygens].astype(np.int64)


def given_molecules(atoms: "AtomGroup", molecules: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return those of the given molecules whose first atom belongs to a group.

    Parameters
    ----------
    atoms : MDAnalysis.AtomGroup
        The group.
    molecules : array_like, shape (n_given, 3), int
        Universe indices of the oxygen and of both hydrogens of each molecule.

    Returns
    -------
    tuple of ndarray, shape (n_molecules,), int64, and ndarray, shape (n_molecules, 2), int64
        Universe indices of oxygen atoms in ascending order, and of the hydrogen atoms.

    Raises
    ------
    MismatchError
        If the array has another shape or type, or contains an index that does not exist, an oxygen twice, or a
        molecule with fewer than three different atoms.
    SelectionError
        If the group contains no oxygen of a molecule.
    """
    given = np.asarray(molecules)
    if given.ndim != 2 or given.shape[1] != 3 or given.dtype.kind not in "iu":
        found = f"{given.shape} of {given.dtype}"
        raise MismatchError(f"molecules must be indices of the shape (n_molecules, 3), not {found}")
    n_atoms = len(atoms.universe.atoms)
    if given.size and not 0 <= given.min() <= given.max() < n_atoms:
        raise MismatchError(f"molecules must be indices below {n_atoms:,}, the number of atoms")
    is_short = (given == np.roll(given, 1, axis=1)).any(axis=1)
    if is_short.any():
        row = int(is_short.argmax())
        raise MismatchError(f"molecules must have three different atoms, but row {row} is {given[row].tolist()}")
    chosen = given[np.isin(given[:, 0], atoms.ix)].astype(np.int64)
    if len(chosen) == 0:
        raise SelectionError("the selection contains no oxygen of molecules, which is the first index of each row")
    chosen = chosen[np.argsort(chosen[:, 0])]
    if (np.diff(chosen[:, 0]) == 0).any():
        raise MismatchError("molecules must have different oxygen atoms")
    return chosen[:, 0], chosen[:, 1:]
