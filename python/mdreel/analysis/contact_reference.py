"""Reference structures for contacts, and pairs of atoms that occur in them more than once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.topology.reference import is_group
from mdreel.errors import ArgumentError, MdreelWarning, SelectionError, UnsupportedError
from mdreel.foundation.arguments import shown
from mdreel.foundation.stack_level import caller_level

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    Groups: TypeAlias = tuple[AtomGroup, AtomGroup]

REFGROUP = "refgroup must be a pair of AtomGroups, a list of such pairs, a frame number or None"


class GroupTypeError(SelectionError, TypeError):
    """Error raised for a group of `Contacts` that is neither a selection string nor an AtomGroup."""


class UpdatingGroupError(UnsupportedError, TypeError):
    """Error raised for a group of `Contacts` whose atoms change from frame to frame."""


@dataclass(frozen=True)
class Reference:
    """A reference structure that defines contacts.

    Attributes
    ----------
    first, second : ndarray, shape (n_first, 3) and (n_second, 3), float64
        Positions of the groups in Å.
    cell : ndarray, shape (6,), float32, or None
        Cell whose periodic images are taken into account.
    places : ndarray, shape (n_contacts, 2), uint32
        Positions of the two atoms of each contact in their groups.
    distances : ndarray, shape (n_contacts,), float64
        Distance of each contact in Å.
    """

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    cell: NDArray[np.float32] | None
    places: NDArray[np.uint32]
    distances: NDArray[np.float64]


def each_reference(refgroup: Groups | Sequence[Groups] | None) -> Sequence[Groups]:
    """Return the references as a sequence, even if there is only one."""
    if refgroup is None:
        return ()
    if not isinstance(refgroup, Sequence) or isinstance(refgroup, str) or len(refgroup) == 0:
        raise ArgumentError(f"{REFGROUP}, not {shown(refgroup)}")
    first, *others = refgroup
    return [(first, *others)] if is_group(first) else refgroup


def can_repeat(first: NDArray[np.uint32], second: NDArray[np.uint32]) -> bool:
    """Return whether the groups may contain a pair twice, or a pair of an atom with itself."""
    n_atoms = sum(len(np.unique(group)) for group in (first, second))
    return n_atoms < len(first) + len(second) or len(np.union1d(first, second)) < n_atoms


def unique_pairs(pairs: NDArray[np.uint32], of_reference: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the ascending indices of all distinct pairs of different atoms, ignoring the order within a pair.

    Two pairs are considered equal only if they also have the same atoms in the reference, because the groups of the
    reference may share different atoms.
    """
    is_turned = (pairs[:, 0] > pairs[:, 1])[:, None]
    sides = [np.where(is_turned, each[:, ::-1], each) for each in (pairs, of_reference)]
    _, kept = np.unique(np.concatenate(sides, axis=1), axis=0, return_index=True)
    kept = np.sort(kept)
    different: NDArray[np.intp] = kept[pairs[kept, 0] != pairs[kept, 1]]
    return different


def warn_of_repetitions() -> None:
    """Warn that pairs of atoms are counted twice."""
    text = (
        "the groups share atoms, or have an atom more than once: as in MDAnalysis, pairs of these atoms count twice, "
        "and an atom that is in both groups is in contact with itself. Use pairs='unique' to count each pair of "
        "different atoms once, or pairs='all' to confirm"
    )
    warnings.warn(text, MdreelWarning, stacklevel=caller_level())


def warn_of_no_atoms(which: str) -> None:
    """Warn that the first or the second group has no atoms."""
    message = f"the {which} group has no atoms, so the reference has no contacts, and there is no fraction to compute"
    warnings.warn(message, MdreelWarning, stacklevel=caller_level())
