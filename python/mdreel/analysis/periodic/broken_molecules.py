"""Detection of molecules that are broken across the periodic boundary."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.periodic.periodic_cell import PeriodicCell
from mdreel.analysis.topology.residue_neighbours import numbers_follow

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

    Unwrapped = Callable[[AtomGroup], NDArray[np.float32]]

_NEAR = 10.0
"""Upper limit in Å for the distance between consecutive atoms of a residue or of two linked residues."""

_SHIFT = 0.1
"""Smallest difference between the shifts of two atoms of a broken molecule, as a fraction of the cell height."""


@dataclass(frozen=True)
class BrokenMolecule:
    """Two atoms of a molecule that lie in different periodic images.

    Attributes
    ----------
    atoms : tuple of int
        Indices of the two atoms.
    distance : float
        Distance between the atoms in the frame in Å.
    height : float
        Smallest height of the cell in Å.
    has_bonds : bool
        Whether the topology has the bonds that are needed to make the molecule whole.
    """

    atoms: tuple[int, int]
    distance: float
    height: float
    has_bonds: bool


def find_broken(
    universe: "Universe",
    atoms: NDArray[np.uint32],
    positions: NDArray[np.float32],
    cell: PeriodicCell,
    unwrapped: "Unwrapped",
) -> BrokenMolecule | None:
    """Find a molecule that is broken across the periodic boundary.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The topology.
    atoms : ndarray, shape (n_atoms,), uint32
        Indices of the atoms, in ascending order.
    positions : ndarray, shape (n_atoms, 3), float32
        Positions of the atoms in a frame in Å.
    cell : PeriodicCell
        The cell of the frame.
    unwrapped : callable
        Function that takes a group and returns the positions of `atoms` in the same frame, after the fragments of the
        group have been made whole.

    Returns
    -------
    BrokenMolecule or None
        The first broken molecule, or None if every molecule is whole.

    Notes
    -----
    If a molecule is broken, two of its consecutive atoms are on opposite sides of the cell. The search therefore
    considers only consecutive atoms that are farther apart than half the cell. Most systems have no such atoms. If two
    such atoms belong to the same fragment, the fragment is broken if making it whole moves the atoms differently.
    Without bonds, atoms belong together if they are in the same residue, or in consecutive residues of a protein or
    nucleic acid chain.
    """
    steps = positions[1:] - positions[:-1]
    lengths = np.sqrt((steps.astype(np.float64) ** 2).sum(axis=1))
    far = np.flatnonzero(lengths > 0.5 * cell.height)
    if not far.size:
        return None
    pairs = np.stack([atoms[far], atoms[far + 1]], axis=1).astype(np.int64)
    is_bonded, is_linked = _bonded(universe, pairs)
    if is_linked.any():
        moved = unwrapped(universe.atoms[pairs[is_linked].ravel()]) - positions
        apart = np.linalg.norm(moved[far + 1] - moved[far], axis=1) > _SHIFT * cell.height
        is_linked &= apart
    near = np.linalg.norm(cell.nearest(steps[far]), axis=1) < np.minimum(_NEAR, 0.5 * lengths[far])
    # In a smaller cell, all atoms are within this distance.
    is_guessed = ~is_bonded & near & (cell.height > 2 * _NEAR)
    if is_guessed.any():
        is_guessed[is_guessed] = _belong_together(universe, pairs[is_guessed])
    broken = np.flatnonzero(is_linked | is_guessed)
    if not broken.size:
        return None
    first = broken[0]
    one, other = pairs[first].tolist()
    return BrokenMolecule((one, other), float(lengths[far[first]]), cell.height, bool(is_linked[first]))


def _bonded(universe: "Universe", pairs: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether an atom of each pair has bonds, and whether both atoms are in the same fragment."""
    try:
        fragments: NDArray[np.intp] = universe.atoms.fragindices
    except AttributeError:  # the topology has no bonds
        return np.zeros(len(pairs), bool), np.zeros(len(pairs), bool)
    has_bonds: NDArray[np.bool_] = (np.bincount(fragments) > 1)[fragments[pairs]]
    return has_bonds[:, 0] | has_bonds[:, 1], fragments[pairs[:, 0]] == fragments[pairs[:, 1]]


def _belong_together(universe: "Universe", pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the pairs that belong together according to their residues, for topologies without bonds."""
    group = universe.atoms[pairs.ravel()]
    # Residues without names are placeholders that MDAnalysis creates for files without residues.
    if not hasattr(group, "resnames"):
        return np.zeros(len(pairs), bool)
    same = group.resindices[::2] == group.resindices[1::2]
    follows = numbers_follow(group[::2], group[1::2])
    follows &= group.segindices[::2] == group.segindices[1::2]
    if hasattr(group, "chainIDs"):
        follows &= group.chainIDs[::2] == group.chainIDs[1::2]
    if follows.any():
        linked = group[np.repeat(follows, 2)].select_atoms("protein or nucleic").ix
        follows &= np.isin(pairs, linked).all(axis=1)
    together: NDArray[np.bool_] = same | follows
    return together
