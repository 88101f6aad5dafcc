"""Hydrogen bonds between atoms that are selected, or paired, again in each frame."""

from __future__ import annotations

import pickle
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mdreel._core import contacts_of
from mdreel.analysis.topology.hydrogen_bond_atoms import bonded_pairs, pairs_within
from mdreel.analysis.user.user_functions import Batch, Fold, FrameError, describe_error
from mdreel.errors import MdreelError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class BondRules:
    """Atoms and criteria of hydrogen bonds in each frame.

    Attributes
    ----------
    donors : str, ndarray or None
        Donors, which are paired with hydrogens by distance; None for the atoms that `bonds` give.
    hydrogens, acceptors : str or ndarray
        Hydrogens and acceptors.
    bonds : ndarray, shape (2 * n_bonds, 2), int64, or None
        Atoms of each bond, in both orders.
    masks : tuple of ndarray, shape (n_atoms,), uint64, or None
        Bits of each atom of the Universe as donor and as acceptor, which share a bit if a bond between them counts.
    lengths : tuple of float
        Largest distance between donor and hydrogen, and limits of that between donor and acceptor, Å.
    angle : float
        Lower limit of the angle, degrees.
    """

    donors: str | NDArray[np.int64] | None
    hydrogens: str | NDArray[np.int64]
    acceptors: str | NDArray[np.int64]
    bonds: NDArray[np.int64] | None
    masks: tuple[NDArray[np.uint64], NDArray[np.uint64]] | None
    lengths: tuple[float, float, float]
    angle: float

    @property
    def selections(self) -> list[str]:
        """The selection strings that are applied in each frame."""
        return [each for each in (self.donors, self.hydrogens, self.acceptors) if isinstance(each, str)]

    def find(
        self, positions: NDArray[np.float32], dimensions: NDArray[np.float32] | None, select: Any
    ) -> NDArray[np.float64]:
        """Return the hydrogen bonds of a frame.

        Parameters
        ----------
        positions : ndarray, shape (n_atoms, 3), float32
            Positions of all atoms of the Universe; those of other atoms may have any values, Å.
        dimensions : ndarray, shape (6,), float32, or None
            Cell lengths in Å and angles in degrees.
        select : callable
            Returns the indices of the atoms of a selection string in this frame.

        Returns
        -------
        ndarray, shape (n_hbonds, 5), float64
            Indices of donor, hydrogen and acceptor, distance (Å) and angle (degrees), ordered by the atoms.
        """

        def indices(members: str | NDArray[np.int64]) -> NDArray[np.int64]:
            return select(members) if isinstance(members, str) else members

        hydrogens, acceptors = indices(self.hydrogens), indices(self.acceptors)
        if self.donors is None:
            assert self.bonds is not None, "bonds pair hydrogens with donors"
            pairs = bonded_pairs(hydrogens, self.bonds)
        else:
            pairs = pairs_within(indices(self.donors), hydrogens, positions, dimensions, self.lengths[0])
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
    """Return the angles at the second of each three points, shape (n, 3, 3), of the shortest images, in degrees."""
    one, other = positions[:, 0] - positions[:, 1], positions[:, 2] - positions[:, 1]
    if dimensions is not None and len(positions):
        from MDAnalysis.lib.distances import minimize_vectors

        one, other = minimize_vectors(one, dimensions), minimize_vectors(other, dimensions)
    angles: NDArray[np.float64] = np.degrees(
        np.arctan2(np.linalg.norm(np.cross(one, other), axis=1), (one * other).sum(axis=1))
    )
    return angles


class UpdatedBonds(Fold):
    """A fold that finds hydrogen bonds by rules that apply to each frame.

    Parameters
    ----------
    rules : BondRules
        The rules.
    atoms : ndarray, shape (n_read,), uint32
        Indices of the atoms that are read in each frame, ascending.
    n_atoms : int
        Number of atoms of the Universe.
    topology : bytes
        Pickled topology of the Universe for selections; empty if there are none.
    """

    def __init__(self, rules: BondRules, atoms: NDArray[np.uint32], n_atoms: int, topology: bytes) -> None:
        self._given = (rules, atoms, n_atoms, topology)
        # By thread. A threading.local would be lost whenever a thread of the core leaves Python.
        self._universes: dict[int, Any] = {}

    def digested(self) -> object:
        """Return the inputs that determine the results, for checkpoint digests; pickles of classes are not stable."""
        return self._given[:3]

    def added(self, value: list[NDArray[np.float64]] | None, batch: Batch) -> list[NDArray[np.float64]]:
        """Append an array of the hydrogen bonds of each frame of a batch."""
        rules, atoms, n_atoms, _ = self._given
        found = [*(value or ())]
        for i, cell in enumerate(batch.cells):
            dimensions = None if np.isnan(cell).any() else cell
            positions = batch.positions[i]
            if len(atoms) < n_atoms:
                positions = np.full((n_atoms, 3), np.nan, np.float32)
                positions[atoms] = batch.positions[i]
            try:
                found.append(rules.find(positions, dimensions, self._selector(positions, dimensions)))
            except Exception as error:
                message = str(error) if isinstance(error, MdreelError) else describe_error(error)
                raise FrameError(i, message) from error
        return found

    def merged(
        self, value: list[NDArray[np.float64]], following: list[NDArray[np.float64]]
    ) -> list[NDArray[np.float64]]:
        """Return the arrays of all frames in order."""
        return [*value, *following]

    def _selector(self, positions: NDArray[np.float32], dimensions: NDArray[np.float32] | None) -> Any:
        """Return a function that selects atoms at these positions."""
        if not self._given[0].selections:
            return None
        thread = threading.get_ident()
        if thread not in self._universes:
            self._universes[thread] = _universe_of(self._given[3], self._given[2])
        universe = self._universes[thread]
        universe.trajectory.ts.positions = positions
        universe.trajectory.ts.dimensions = dimensions
        return lambda selection: np.asarray(universe.select_atoms(selection).ix, np.int64)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given


def _universe_of(topology: bytes, n_atoms: int) -> Any:
    import MDAnalysis

    # The topology comes from our own process.
    universe = MDAnalysis.Universe(pickle.loads(topology), to_guess=())  # noqa: S301
    return universe.load_new(np.zeros((1, n_atoms, 3), np.float32))
