"""Checks that two groups contain the same atoms in the same order."""

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.topology.residue_labels import number_of, residue_names
from mdreel.errors import AtomOrderWarning, MismatchError
from mdreel.foundation.stack_level import caller_level

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

MASS_TOLERANCE = 0.1
"""Largest difference in amu between the masses of two corresponding atoms. The same default as in MDAnalysis."""

_REMEDY = "give the atoms in the same order, or skip this check with match_atoms=False (--no-match-atoms)"


@dataclass(frozen=True)
class Matching:
    """Options for checking atoms against the atoms of a reference.

    Attributes
    ----------
    tolerance : float
        Largest allowed difference between the masses of corresponding atoms, in amu.
    is_checked : bool
        Whether atoms are checked at all.
    refuses_order : bool
        Whether the same atoms in a different order raise an error. Otherwise, they trigger a warning.
    """

    tolerance: float = MASS_TOLERANCE
    is_checked: bool = True
    refuses_order: bool = True

    def check(self, mobile: "AtomGroup", reference: "AtomGroup", name: str = "the reference") -> None:
        """Check that each atom corresponds to the atom at the same position in the reference group.

        Parameters
        ----------
        mobile, reference : MDAnalysis.AtomGroup
            The groups. The k-th atom of one group is compared with the k-th atom of the other.
        name : str
            Name of the reference in error messages.

        Raises
        ------
        MismatchError
            If the numbers of atoms differ, if two atoms have different masses, or if the same atoms are in a different
            order.

        Warns
        -----
        AtomOrderWarning
            If masses agree but names differ, if the same segments are in a different order, or if the topologies have
            neither masses nor names.

        Notes
        -----
        If the names of two atoms agree, an unknown mass (NaN or 0) is ignored. If a residue has the same atom names in
        a different order, or if the same residues are in a different order, an error is raised. If names differ but
        masses are equal, as in different force fields (HN and H), a warning is issued.
        """
        if not self.is_checked:
            return
        if mobile.universe is reference.universe and np.array_equal(mobile.ix, reference.ix):
            return
        if len(mobile) != len(reference):
            raise mismatch(
                f"atomgroup has {len(mobile)} atoms, {name} has {len(reference)}: select the same atoms in both"
            )
        pairs = _Pairs(mobile, reference, name, self.refuses_order)
        pairs.check_masses(self.tolerance)
        pairs.check_names()
        pairs.check_residues()
        for message in pairs.doubts():
            warnings.warn(message, AtomOrderWarning, stacklevel=caller_level())


class _Pairs:
    """Two groups with the same number of atoms, compared atom by atom."""

    def __init__(self, mobile: "AtomGroup", reference: "AtomGroup", name: str, refuses_order: bool) -> None:
        self._groups = mobile, reference
        self._name = name
        self._refuses_order = refuses_order
        self._masses = self._of_both("masses")
        self._names = self._of_both("names")
        self._resids = self._of_both("resids")
        self._has_other_name: NDArray[np.bool_] | None = None
        if self._names is not None:
            self._has_other_name = np.asarray(self._names[0] != self._names[1])

    def check_masses(self, tolerance: float) -> None:
        """Raise an error if two atoms have different masses."""
        if self._masses is None:
            return
        mobile, reference = self._masses
        wrong = ~(np.abs(mobile - reference) <= tolerance)
        if self._has_other_name is not None:
            is_unknown = ~((mobile > 0) & (reference > 0))
            wrong &= ~(is_unknown & ~self._has_other_name)
        if wrong.any():
            first = int(wrong.argmax())
            one, other = self._named(first)
            raise mismatch(
                f"{wrong.sum():,} of {len(wrong):,} atoms do not match those of {self._name}: the first, {one}, has a "
                f"mass of {mobile[first]:g}, but {other} there has {reference[first]:g}: {_REMEDY}; tol_mass "
                f"({tolerance:g} amu) is the largest allowed difference"
            )

    def check_names(self) -> None:
        """Raise an error if a residue has the same atom names in a different order."""
        if self._names is None or self._has_other_name is None or not self._has_other_name.any():
            return
        _, codes = np.unique(np.concatenate(self._names).astype(str), return_inverse=True)
        mobile, reference = np.split(codes, 2)
        _, residues = np.unique(self._groups[0].resindices, return_inverse=True)
        is_other = mobile[np.lexsort((mobile, residues))] != reference[np.lexsort((reference, residues))]
        of_residue = np.sort(residues)
        differs = np.bincount(residues, self._has_other_name) > 0
        has_other_atoms = np.bincount(of_residue, is_other) > 0
        self._refuse_order((differs & ~has_other_atoms)[residues] & self._has_other_name)

    def check_residues(self) -> None:
        """Raise an error if the groups have the same residues in a different order."""
        if self._resids is None or not self._has_same(self._resids):
            return
        others = (self._of_both(name) for name in ("resnames", "icodes"))
        labels = [self._resids, *(each for each in others if each is not None)]
        mobile, reference = (list(zip(*(each[side].tolist() for each in labels), strict=True)) for side in (0, 1))
        if mobile != reference and Counter(mobile) == Counter(reference):
            self._refuse_order(np.any([one != other for one, other in labels], axis=0))

    def doubts(self) -> list[str]:
        """Return warnings about differences that may be harmless."""
        if self._masses is None and self._names is None:
            message = (
                f"atoms are compared with those of {self._name} in the given order, because the topologies share "
                "neither masses nor names to match them; if the order is right, use match_atoms=False "
                "(--no-match-atoms)"
            )
            return [message]
        found = []
        if self._has_other_name is not None and self._has_other_name.any():
            by_what = "with equal masses" if self._masses is not None else "and masses are unknown"
            found.append(self._doubt(self._has_other_name, f"atoms have another name in {self._name}, {by_what}:"))
        segments = self._of_both("segids")
        if segments is not None and self._has_same(segments) and (differs := segments[0] != segments[1]).any():
            what = f"atoms are in another segment in {self._name}, which has the same segments in another order:"
            found.append(self._doubt(differs, what))
        return found

    def _doubt(self, differs: NDArray[np.bool_], what: str) -> str:
        one, other = self._named(int(differs.argmax()))
        return (
            f"{differs.sum():,} of {len(differs):,} {what} the first, {one}, is compared with {other}; check the order "
            "of the atoms; if it is right, use match_atoms=False (--no-match-atoms)"
        )

    def _refuse_order(self, wrong: NDArray[np.bool_]) -> None:
        if not wrong.any():
            return
        one, other = self._named(int(wrong.argmax()))
        found = f"{wrong.sum():,} of {len(wrong):,} atoms are in another order in {self._name}: the first, {one},"
        if self._refuses_order:
            raise mismatch(f"{found} would be compared with {other}: {_REMEDY}")
        message = f"{found} is compared with {other}; check the order of the atoms"
        warnings.warn(message, AtomOrderWarning, stacklevel=caller_level())

    def _of_both(self, attribute: str) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Return an attribute of the atoms in both groups, or None if one group does not have it."""
        try:
            mobile, reference = (np.asarray(getattr(group, attribute)) for group in self._groups)
        except AttributeError:  # includes MDAnalysis NoDataError
            return None
        return mobile, reference

    @staticmethod
    def _has_same(values: tuple[NDArray[Any], NDArray[Any]]) -> bool:
        """Return whether both groups have the same values, in any order."""
        mobile, reference = values
        return np.array_equal(mobile, reference) or Counter(mobile.tolist()) == Counter(reference.tolist())

    def _named(self, place: int) -> list[str]:
        """Return descriptions of the two atoms at an index."""
        return [described_atom(group[place]) for group in self._groups]


def mismatch(message: str) -> MismatchError:
    """Return the error for atoms that do not correspond. It is also MDAnalysis's `SelectionError`."""
    from mdreel.trajectory.mdanalysis_errors import AtomMismatchError

    return AtomMismatchError(message)


def same_residues(mobile: "AtomGroup", reference: "AtomGroup") -> "tuple[AtomGroup, AtomGroup]":
    """Omit residues whose numbers of atoms differ between two groups.

    Parameters
    ----------
    mobile, reference : MDAnalysis.AtomGroup
        The groups. The k-th residue of one group is compared with the k-th residue of the other.

    Returns
    -------
    tuple of AtomGroup and AtomGroup
        The atoms of all other residues, in the order of the groups.

    Raises
    ------
    MismatchError
        If the numbers of residues differ, or if no residues are left.

    Warns
    -----
    AtomOrderWarning
        If residues are omitted.
    """
    residues, counts = zip(*(_atoms_of_residues(group) for group in (mobile, reference)), strict=True)
    found = f"atomgroup has {len(mobile)} atoms, the reference has {len(reference)}"
    if len(counts[0]) != len(counts[1]):
        raise mismatch(f"{found}, and {len(counts[0])} residues instead of {len(counts[1])}: select the same atoms")
    is_same = counts[0] == counts[1]
    if not is_same.any():
        raise mismatch(f"{found}, and no residue has the same number of atoms in both: select the same atoms")
    left_out = mobile.universe.residues[mobile.resindices[np.isin(residues[0], np.flatnonzero(~is_same))][:1]]
    warnings.warn(
        f"{found}: {np.count_nonzero(~is_same)} of {len(is_same)} residues, whose numbers of atoms differ, are left "
        f"out; the first is {residue_names(left_out)}; select the same atoms, or use strict=True",
        AtomOrderWarning,
        stacklevel=caller_level(),
    )
    kept = np.flatnonzero(is_same)
    return mobile[np.isin(residues[0], kept)], reference[np.isin(residues[1], kept)]


def _atoms_of_residues(group: "AtomGroup") -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the residue number of each atom in the order of the group, and the number of atoms in each residue."""
    _, first, of_atoms, counts = np.unique(group.resindices, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    numbers = np.empty_like(order)
    numbers[order] = np.arange(len(order))
    return numbers[of_atoms], counts[order]


def described_atom(atom: Any) -> str:
    """Return a description of an atom, such as ``atom 12 (CA of GLY 3)``."""
    residue = [str(atom.resname), number_of(atom)] if hasattr(atom, "resname") and hasattr(atom, "resid") else []
    known = [str(atom.name)] if hasattr(atom, "name") else []
    known += ["of", *residue] if known and len(residue) == 2 else []
    return f"atom {atom.ix} ({' '.join(known)})" if known else f"atom {atom.ix}"
