"""Detection of molecules that the periodic boundary breaks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.periodic.periodic_cell import PeriodicCell

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

    Unwrapped = Callable[[AtomGroup], NDArray[np.float32]]

_NEAR = 10.0
"""Å. Consecutive atoms of a residue, or of two residues of a chain, are nearer than this to one another."""

_SHIFT = 0.1
"""Share of the height of the cell by which two atoms of a molecule are moved differently where it is broken."""


@dataclass(frozen=True)
class BrokenMolecule:
    """Two atoms of a molecule that lie in different periodic images.

    Attributes
    ----------
    atoms : tuple of int
        Indices of the two.
    distance : float
        How far they are apart in the frame, Å.
    height : float
        The least height of the cell, Å.
    has_bonds : bool
        Whether the topology has the bonds by which the molecule can be made whole.
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
    """Find a molecule that the boundary cuts.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The topology.
    atoms : ndarray, shape (n_atoms,), uint32
        Indices of the atoms, ascending.
    positions : ndarray, shape (n_atoms, 3), float32
        Their positions in a frame, Å.
    cell : PeriodicCell
        The cell of the frame.
    unwrapped : callable
        Returns the positions of the same atoms in the same frame after the fragments of a group were made whole.

    Returns
    -------
    BrokenMolecule or None
        The first; None where every molecule is whole.

    Notes
    -----
    Where a molecule is cut, two of its consecutive atoms are at opposite sides of the cell. So only consecutive atoms
    that are farther apart than half of the cell are looked at, which are none in most systems. Those of one fragment
    are broken if making the fragment whole moves them differently. Atoms without bonds belong together within a
    residue, and where two residues of a protein or nucleic acid follow one another in a chain.
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
    is_guessed = np.zeros(len(pairs), bool)
    if cell.height > 2 * _NEAR:  # in a smaller cell everything is near
        is_guessed = ~is_bonded & near & _belong_together(universe, pairs)
    broken = np.flatnonzero(is_linked | is_guessed)
    if not broken.size:
        return None
    first = broken[0]
    one, other = pairs[first].tolist()
    return BrokenMolecule((one, other), float(lengths[far[first]]), cell.height, bool(is_linked[first]))


def _bonded(universe: "Universe", pairs: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return of each pair whether an atom has bonds, and whether the two are of one fragment."""
    try:
        fragments = np.asarray(universe.atoms.fragindices)
    except AttributeError:  # MDAnalysis: the topology has no bonds
        return np.zeros(len(pairs), bool), np.zeros(len(pairs), bool)
    sizes = np.bincount(fragments)
    of_pairs = fragments[pairs]
    return (sizes[of_pairs] > 1).any(axis=1), of_pairs[:, 0] == of_pairs[:, 1]


def _belong_together(universe: "Universe", pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which pairs belong together by their residues, where nobody knows bonds."""
    atoms = universe.atoms
    # Residues without names are those that MDAnalysis makes up for files that have none.
    if not hasattr(atoms, "resnames"):
        return np.zeros(len(pairs), bool)
    residues = atoms.resindices[pairs]
    same = residues[:, 0] == residues[:, 1]
    one, other = atoms[pairs[:, 0]], atoms[pairs[:, 1]]
    follows = (other.resids - one.resids == 1) & (one.segindices == other.segindices)
    if hasattr(atoms, "chainIDs"):
        follows &= one.chainIDs == other.chainIDs
    if follows.any():
        linked = atoms[np.unique(pairs[follows])].select_atoms("protein or nucleic").ix
        follows &= np.isin(pairs, linked).all(axis=1)
    found: NDArray[np.bool_] = same | follows
    return found
