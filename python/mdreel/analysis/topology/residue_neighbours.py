"""Neighbouring residues in a chain, determined from bonds, order and insertion codes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.topology.residue_labels import chains_of

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, ResidueGroup, Universe

_NONE = -1


class ResidueNeighbours:
    """The residues before and after each residue of a Universe.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The Universe.
    last_names : sequence of str
        Names of the atom that links a residue to the next one, such as C.
    first_names : sequence of str
        Names of the atom that links a residue to the previous one, such as N.

    Notes
    -----
    If the topology contains the bond between two residues, they are neighbours. If it contains other bonds of both
    linking atoms, but not this bond, they are not neighbours. In all other cases, the neighbour is the adjacent residue
    of the same segment and chain in the order of the topology. Its number must be the next number, or the same number
    with a different insertion code. Residues with the same number and insertion code are alternatives: the first of
    them follows the previous residue, and the last of them precedes the next residue.
    """

    def __init__(self, universe: "Universe", last_names: Sequence[str], first_names: Sequence[str]) -> None:
        following, preceding = _by_order(universe)
        (bonded_next, bonded_previous), (last_is_bonded, first_is_bonded) = _by_bonds(universe, last_names, first_names)
        resids = universe.residues.resids
        self._by_number = {
            1: np.where(resids[following] - resids == 1, following, _NONE),
            -1: np.where(resids[preceding] - resids == -1, preceding, _NONE),
        }
        self._neighbours = {
            1: _combined(following, bonded_next, last_is_bonded, first_is_bonded, bonded_previous),
            -1: _combined(preceding, bonded_previous, first_is_bonded, last_is_bonded, bonded_next),
        }

    def at(self, residue: int, shift: int, *, by_number: bool = False) -> int | None:
        """Return the index of the next (`shift=1`) or previous (`shift=-1`) residue, or None at the end of a chain.

        With `by_number`, only the adjacent residue with the next or the previous number is a neighbour.
        """
        found = int((self._by_number if by_number else self._neighbours)[shift][residue])
        return None if found == _NONE else found


def numbers_follow(groups: "ResidueGroup | AtomGroup", others: "ResidueGroup | AtomGroup") -> NDArray[np.bool_]:
    """Return whether each residue in `others` has the next number, or the same with a different insertion code.

    Parameters
    ----------
    groups, others : MDAnalysis.ResidueGroup or AtomGroup
        Equal numbers of residues, or of atoms in them. Segments and chains are not considered.

    Returns
    -------
    ndarray, shape (n_residues,), bool
        Whether the number follows the number of the residue in `groups`.
    """
    step = others.resids - groups.resids
    found: NDArray[np.bool_] = (step == 1) | ((step == 0) & _have_other_codes(groups, others))
    return found


def _have_other_codes(groups: "ResidueGroup | AtomGroup", others: "ResidueGroup | AtomGroup") -> NDArray[np.bool_]:
    if not hasattr(groups, "icodes"):
        return np.zeros(len(groups), bool)
    differ: NDArray[np.bool_] = groups.icodes != others.icodes
    return differ


def _by_order(universe: "Universe") -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the next and the previous residue of each residue based on order and numbers, with -1 for none."""
    residues = universe.residues
    groups, others = residues[:-1], residues[1:]
    in_same_chain = _in_same_chain(universe)
    has_same_number = (groups.resids == others.resids) & ~_have_other_codes(groups, others)
    starts = np.concatenate([[0], 1 + np.flatnonzero(~(in_same_chain & has_same_number))])
    ends = np.concatenate([starts[1:], [len(residues)]]) - 1
    follows = (in_same_chain & numbers_follow(groups, others))[ends[:-1]]
    following = np.where(np.append(follows, False), np.append(starts[1:], _NONE), _NONE)
    preceding = np.where(np.append(False, follows), np.append(_NONE, ends[:-1]), _NONE)
    return np.repeat(following, ends - starts + 1), np.repeat(preceding, ends - starts + 1)


def _in_same_chain(universe: "Universe") -> NDArray[np.bool_]:
    """Return whether each residue except the first is in the same segment and chain as the previous residue."""
    segments = np.asarray(universe.residues.segindices)
    same: NDArray[np.bool_] = segments[1:] == segments[:-1]
    chains = chains_of(universe, np.arange(len(segments)))
    if chains is not None:
        same = same & (chains[1:] == chains[:-1])
    return same


def _by_bonds(
    universe: "Universe", last_names: Sequence[str], first_names: Sequence[str]
) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Return the next and the previous residue based on bonds, and whether the linking atoms have other bonds.

    Returns
    -------
    two ndarrays, shape (n_residues,), int
        Indices of the next and the previous residue, or -1 for none.
    two ndarrays, shape (n_residues,), bool
        Whether the atoms that link a residue to the next and to the previous residue have bonds within the residue.
    """
    n_residues = len(universe.residues)
    found = np.full(n_residues, _NONE), np.full(n_residues, _NONE)
    has_own = np.zeros(n_residues, bool), np.zeros(n_residues, bool)
    try:
        names = universe.atoms.names
        is_last, is_first = (np.isin(names, tuple(each)) for each in (last_names, first_names))
        # The bonds of these few atoms are found much faster than those of the Universe.
        indices = universe.atoms[is_last | is_first].bonds.indices
    except AttributeError:  # includes MDAnalysis NoDataError
        return found, has_own
    bonds = np.asarray(indices, np.int64).reshape(-1, 2)
    bonds = np.concatenate([bonds, bonds[:, ::-1]])
    one, other = universe.atoms.resindices[bonds].T
    of_last, of_first = is_last[bonds], is_first[bonds]
    for has, is_named in zip(has_own, (of_last, of_first), strict=True):
        has[one[is_named[:, 0] & (one == other)]] = True
    is_link = of_last[:, 0] & of_first[:, 1] & (one != other)
    # Of several residues that are bonded, which are alternatives, the first follows, and the last precedes.
    links = np.unique(np.stack([one[is_link], other[is_link]], axis=1), axis=0)
    found[0][links[::-1, 0]] = links[::-1, 1]
    found[1][links[:, 1]] = links[:, 0]
    return found, has_own


def _combined(
    by_order: NDArray[np.intp],
    by_bonds: NDArray[np.intp],
    has_own_bonds: NDArray[np.bool_],
    others_have_own_bonds: NDArray[np.bool_],
    others_by_bonds: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Return neighbours based on bonds, or on order if bonds do not decide. `others` are the neighbours' bonds."""
    decides = has_own_bonds & others_have_own_bonds[by_order]
    is_taken = others_by_bonds[by_order] != _NONE
    by_order = np.where(decides | is_taken, _NONE, by_order)
    return np.where(by_bonds != _NONE, by_bonds, by_order)
