"""Structures along principal components."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.topology.reference import is_group
from mdreel.errors import MismatchError
from mdreel.trajectory.selection import selected

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

Components: TypeAlias = int | slice | Sequence[int] | NDArray[np.integer] | NDArray[np.bool_] | None
"""Choice of components: one or more numbers, a slice, or a mask. None selects all components."""


class ComponentIndexError(MismatchError, IndexError):
    """Error raised for a component that does not exist."""


@dataclass(frozen=True)
class Followers:
    """Atoms that follow the motion of another atom in the same residue.

    Attributes
    ----------
    atoms : ndarray, shape (n_followers,), int64
        Indices of the atoms that follow.
    places : ndarray, shape (n_followers,), int64
        For each follower, the position of the atom that it follows among the atoms of the components.
    """

    atoms: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, atoms: "AtomGroup", group: "AtomGroup", anchor: str) -> Self:
        """Return the followers in the residues of a group.

        Parameters
        ----------
        atoms : MDAnalysis.AtomGroup
            The atoms of the components.
        group : MDAnalysis.AtomGroup
            The group.
        anchor : str
            Selection of the atom in each residue that the other atoms follow.

        Raises
        ------
        SelectionError
            If `anchor` is not a valid selection or selects no atom.
        MismatchError
            If the group belongs to another Universe, if a residue does not have exactly one anchor, or if an anchor is
            not among the atoms of the components.
        """
        if not is_group(group) or group.universe is not atoms.universe:
            raise MismatchError("group must be an AtomGroup of the Universe that the components are of")
        anchors = selected(group, anchor, "anchor")
        residues, counts = np.unique(anchors.resindices, return_counts=True)
        if (counts > 1).any():
            first = group.universe.residues[residues[counts.argmax()]]
            raise MismatchError(f"More than one 'anchor' found in residues of 'group': {first} has {counts.max()}")
        missing = np.setdiff1d(group.residues.resindices, residues)
        if missing.size:
            first = group.universe.residues[missing[0]]
            raise MismatchError(
                f"Some residues in 'group' do not have an 'anchor': {missing.size}, the first is {first}"
            )
        if not np.isin(anchors.ix, atoms.ix).all():
            first = anchors[~np.isin(anchors.ix, atoms.ix)][0]
            raise MismatchError(f"Some 'anchors' are not part of PCA class: the first, {first}, has no components")
        others = group.residues.atoms
        others = others[~np.isin(others.ix, atoms.ix)]
        order = np.argsort(atoms.ix, kind="stable")
        of_anchors = order[np.searchsorted(atoms.ix[order], anchors.ix)]
        place_of = dict(zip(anchors.resindices.tolist(), of_anchors.tolist(), strict=True))
        places = np.array([place_of[residue] for residue in others.resindices.tolist()], np.int64)
        return cls(others.ix.astype(np.int64), places)


@dataclass(frozen=True)
class ComponentStructures:
    """Function that replaces the positions in a frame with their projection onto components.

    Attributes
    ----------
    n_atoms : int
        Number of atoms in the Universe.
    atoms : ndarray, shape (n_own,), int64
        Indices of the atoms of the components.
    mean : ndarray, shape (n_own, 3), float64
        Mean positions in Å.
    directions : ndarray, shape (n_components, 3 * n_own), float64
        The components.
    followers : Followers or None
        Additional atoms to move.
    """

    n_atoms: int
    atoms: NDArray[np.int64]
    mean: NDArray[np.float64]
    directions: NDArray[np.float64]
    followers: Followers | None

    def __call__(self, ts: Any) -> Any:
        """Move the atoms of a frame.

        Parameters
        ----------
        ts : MDAnalysis Timestep or AtomGroup
            The frame whose positions are changed. For a group, this is the current frame of its Universe.

        Returns
        -------
        MDAnalysis Timestep or AtomGroup
            The frame or the group that was passed.

        Raises
        ------
        MismatchError
            If the number of atoms in the frame differs from that in the Universe of the components.
        """
        positions = (ts.universe.trajectory.ts if is_group(ts) else ts).positions
        if len(positions) != self.n_atoms:
            message = f"the frame has {len(positions)} atoms, the Universe of the components has {self.n_atoms}"
            raise MismatchError(message)
        old = positions[self.atoms].astype(np.float64)
        scores = self.directions @ (old - self.mean).ravel()
        new = self.mean + (scores @ self.directions).reshape(-1, 3)
        if self.followers is not None:
            moved = positions[self.followers.atoms] + (new - old)[self.followers.places]
            positions[self.followers.atoms] = moved
        positions[self.atoms] = new
        return ts


def chosen_components(components: NDArray[np.float64], choice: Components) -> NDArray[np.float64]:
    """Return the chosen components as rows.

    Parameters
    ----------
    components : ndarray, shape (n_coordinates, n_components), float64
        The components as columns.
    choice : int, sequence of int, slice, ndarray or None
        The components to return.

    Raises
    ------
    ComponentIndexError
        If there is no such component.
    """
    n_components = components.shape[1]
    try:
        numbers = np.atleast_1d(np.arange(n_components)[slice(None) if choice is None else choice])
    except IndexError as error:
        raise ComponentIndexError(f"components {choice!r} do not exist: there are {n_components}") from error
    return np.ascontiguousarray(components[:, numbers].T)
