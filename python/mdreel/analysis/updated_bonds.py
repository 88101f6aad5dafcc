"""Hydrogen bonds between atoms that are selected or paired again in each frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mdreel._core import FrameSelection, SelectedAtoms, contacts_of
from mdreel.analysis.topology.hydrogen_bond_atoms import pairs_within
from mdreel.analysis.user.user_functions import Batch, Fold, FrameError, describe_error
from mdreel.errors import MdreelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class BondRules:
    """Atoms and criteria of hydrogen bonds in each frame.

    Attributes
    ----------
    members : tuple of FrameSelection or ndarray, shape (n_members,), int64
        Donors, hydrogens and acceptors, either selected in each frame or given by the same indices in all frames.
    masks : tuple of ndarray, shape (n_atoms,), uint64, or None
        Bit masks of all atoms of the Universe as donors and as acceptors. A bond counts if the masks of its donor and
        its acceptor share a bit.
    lengths : tuple of float
        Largest distance between donor and hydrogen, and limits for the distance between donor and acceptor, in Å.
    angle : float
        Lower limit for the angle in degrees.
    """

    members: tuple[FrameSelection | NDArray[np.int64], ...]
    masks: tuple[NDArray[np.uint64], NDArray[np.uint64]] | None
    lengths: tuple[float, float, float]
    angle: float

    @property
    def atoms(self) -> NDArray[np.int64]:
        """Indices of all atoms that the rules need, in any order."""
        each: list[NDArray[Any]] = []
        for one in self.members:
            each += [one.needed, one.possible] if isinstance(one, FrameSelection) else [one]
        return np.concatenate(each).astype(np.int64)

    def find(
        self,
        positions: NDArray[np.float32],
        dimensions: NDArray[np.float32] | None,
        members: Sequence[NDArray[np.int64]],
    ) -> NDArray[np.float64]:
        """Return the hydrogen bonds in a frame.

        Parameters
        ----------
        positions : ndarray, shape (n_atoms, 3), float32
            Positions of all atoms of the Universe in Å. Atoms that the rules do not need may have any values.
        dimensions : ndarray, shape (6,), float32, or None
            Cell lengths in Å and angles in degrees.
        members : sequence of ndarray, shape (n_members,), int64
            Indices of the donors, hydrogens and acceptors in this frame.

        Returns
        -------
        ndarray, shape (n_hbonds, 5), float64
            Indices of donor, hydrogen and acceptor, distance (Å) and angle (degrees), sorted by atom indices.
        """
        donors, hydrogens, acceptors = members
        pairs = pairs_within(donors, hydrogens, positions, dimensions, self.lengths[0])
        if not len(pairs) or not len(acceptors):
            return np.empty((0, 5))
        of_donors = np.asarray(positions[pairs[:, 0]], np.float64)
        of_acceptors = np.asarray(positions[acceptors], np.float64)
        places, distances = contacts_of(of_donors, of_acceptors, dimensions, self.lengths[2])
        atoms = np.concatenate([pairs[places[:, 0]], acceptors[places[:, 1], None]], axis=1)
        counts = distances > self.lengths[1]
        if self.masks is not None:
            counts &= (self.masks[0][atoms[:, 0]] & self.masks[1][atoms[:, 2]]) != 0
        atoms, distances = atoms[counts], distances[counts]
        angles = _angles(positions[atoms].astype(np.float64), dimensions)
        found = np.column_stack([atoms, distances, angles])[angles > self.angle]
        return found[np.lexsort(found[:, 2::-1].T)]


def _angles(positions: NDArray[np.float64], dimensions: NDArray[np.float32] | None) -> NDArray[np.float64]:
    """Return the angles at the second point of each triple, shape (n, 3, 3), with minimum images, in degrees."""
    one, other = positions[:, 0] - positions[:, 1], positions[:, 2] - positions[:, 1]
    if dimensions is not None and len(positions):
        from MDAnalysis.lib.distances import minimize_vectors

        one, other = minimize_vectors(one, dimensions), minimize_vectors(other, dimensions)
    angles: NDArray[np.float64] = np.degrees(
        np.arctan2(np.linalg.norm(np.cross(one, other), axis=1), (one * other).sum(axis=1))
    )
    return angles


class UpdatedBonds(Fold):
    """A fold that finds hydrogen bonds with rules that are applied to each frame.

    Parameters
    ----------
    rules : BondRules
        The rules.
    atoms : ndarray, shape (n_read,), uint32
        Indices of the atoms that are read in each frame, in ascending order.
    n_atoms : int
        Number of atoms in the Universe.
    """

    def __init__(self, rules: BondRules, atoms: NDArray[np.uint32], n_atoms: int) -> None:
        self._given = (rules, atoms, n_atoms)
        self._members = [one.among(atoms) if isinstance(one, FrameSelection) else one for one in rules.members]

    def digested(self) -> object:
        """Return the inputs that determine the results for checkpoint digests, because class pickles are not stable."""
        return self._given

    def added(self, value: list[NDArray[np.float64]] | None, batch: Batch) -> list[NDArray[np.float64]]:
        """Append an array with the hydrogen bonds in each frame of a batch."""
        rules, atoms, n_atoms = self._given
        found = [*(value or ())]
        for i, cell in enumerate(batch.cells):
            dimensions = None if np.isnan(cell).any() else cell
            positions = np.full((n_atoms, 3), np.nan, np.float32)
            positions[atoms] = batch.positions[i]
            try:
                members = [
                    one.find(batch.positions[i], dimensions).astype(np.int64) if isinstance(one, SelectedAtoms) else one
                    for one in self._members
                ]
                found.append(rules.find(positions, dimensions, members))
            except Exception as error:
                message = str(error) if isinstance(error, MdreelError) else describe_error(error)
                raise FrameError(i, message) from error
        return found

    def merged(
        self, value: list[NDArray[np.float64]], following: list[NDArray[np.float64]]
    ) -> list[NDArray[np.float64]]:
        """Return the arrays of all frames in order."""
        return [*value, *following]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given
