"""Correspondence of atoms between two structures."""

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import AtomOrderWarning, MismatchError
from mdreel.foundation.stack_level import caller_level

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

MASS_TOLERANCE = 0.1
"""By how much the masses of two atoms that correspond may differ, amu; as in MDAnalysis."""

_REMEDY = "give the atoms in the same order, or take them as they are with match_atoms=False (--no-match-atoms)"


@dataclass(frozen=True)
class Matching:
    """How atoms are matched with those of a reference.

    Attributes
    ----------
    tolerance : float
        By how much the masses of two atoms that correspond may differ, amu.
    is_checked : bool
        Whether atoms are checked at all.
    """

    tolerance: float = MASS_TOLERANCE
    is_checked: bool = True

    def check(self, mobile: "AtomGroup", reference: "AtomGroup", name: str = "the reference") -> None:
        """Check that each atom corresponds to the atom at the same place of the reference.

        Parameters
        ----------
        mobile, reference : MDAnalysis.AtomGroup
            The groups; the k-th atom of one is compared with the k-th of the other.
        name : str
            What the reference is called in messages.

        Raises
        ------
        MismatchError
            If the numbers of atoms differ, two atoms have different masses, or the same atoms come in another order.

        Warns
        -----
        AtomOrderWarning
            If masses agree and names differ; if the same segments come in another order; if there is nothing by which
            atoms can be matched.

        Notes
        -----
        A mass that is unknown (NaN or 0) in one of the groups says nothing where the names agree. Names of a residue
        that are the same ones in another order, and residues that are the same ones in another order, are errors. Other
        names with equal masses, as of another force field (HN and H), are a warning.
        """
        if not self.is_checked:
            return
        if mobile.universe is reference.universe and np.array_equal(mobile.ix, reference.ix):
            return
        if len(mobile) != len(reference):
            raise MismatchError(f"atomgroup has {len(mobile)} atoms, {name} has {len(reference)}")
        pairs = _Pairs(mobile, reference, name)
        pairs.check_masses(self.tolerance)
        pairs.check_names()
        pairs.check_residues()
        for message in pairs.doubts():
            warnings.warn(message, AtomOrderWarning, stacklevel=caller_level())


class _Pairs:
    """Two groups of as many atoms, compared place by place."""

    def __init__(self, mobile: "AtomGroup", reference: "AtomGroup", name: str) -> None:
        self._groups = mobile, reference
        self._name = name
        self._masses = self._of_both("masses")
        self._names = self._of_both("names")
        self._resids = self._of_both("resids")
        self._has_other_name: NDArray[np.bool_] | None = None
        if self._names is not None:
            self._has_other_name = np.asarray(self._names[0] != self._names[1])

    def check_masses(self, tolerance: float) -> None:
        """Refuse atoms of different masses."""
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
            raise MismatchError(
                f"{wrong.sum():,} of {len(wrong):,} atoms do not match those of {self._name}: the first, {one}, has a "
                f"mass of {mobile[first]:g}, and {other} there {reference[first]:g}: {_REMEDY}; tol_mass "
                f"({tolerance:g} amu) is how far masses may be apart"
            )

    def check_names(self) -> None:
        """Refuse residues whose atoms have the same names in another order."""
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
        """Refuse the same residues in another order."""
        if self._resids is None or not self._has_same(self._resids):
            return
        labels = [self._resids, *([] if (resnames := self._of_both("resnames")) is None else [resnames])]
        mobile, reference = (list(zip(*(each[side].tolist() for each in labels), strict=True)) for side in (0, 1))
        if mobile != reference and Counter(mobile) == Counter(reference):
            self._refuse_order(np.any([one != other for one, other in labels], axis=0))

    def doubts(self) -> list[str]:
        """Return what may be wrong, and need not be."""
        if self._masses is None and self._names is None:
            message = (
                f"atoms are compared with those of {self._name} in the order in which they come: a topology has no "
                "masses and a topology has no names by which to match them; match_atoms=False (--no-match-atoms) says "
                "that the order is right"
            )
            return [message]
        found = []
        if self._has_other_name is not None and self._has_other_name.any():
            by_what = "with equal masses" if self._masses is not None else "and no masses are known"
            found.append(self._doubt(self._has_other_name, f"atoms have another name in {self._name}, {by_what}:"))
        segments = self._of_both("segids")
        if segments is not None and self._has_same(segments) and (differs := segments[0] != segments[1]).any():
            what = f"atoms are of another segment in {self._name}, which has the same segments in another order:"
            found.append(self._doubt(differs, what))
        return found

    def _doubt(self, differs: NDArray[np.bool_], what: str) -> str:
        one, other = self._named(int(differs.argmax()))
        return (
            f"{differs.sum():,} of {len(differs):,} {what} the first, {one}, is compared with {other}; check the order "
            "of the atoms, and say that it is right with match_atoms=False (--no-match-atoms)"
        )

    def _refuse_order(self, wrong: NDArray[np.bool_]) -> None:
        if wrong.any():
            one, other = self._named(int(wrong.argmax()))
            raise MismatchError(
                f"{wrong.sum():,} of {len(wrong):,} atoms come in another order in {self._name}: the first, {one}, "
                f"would be compared with {other}: {_REMEDY}"
            )

    def _of_both(self, attribute: str) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Return an attribute of the atoms of both groups; None where one has none."""
        try:
            mobile, reference = (np.asarray(getattr(group, attribute)) for group in self._groups)
        except AttributeError:  # MDAnalysis's NoDataError is one
            return None
        return mobile, reference

    @staticmethod
    def _has_same(values: tuple[NDArray[Any], NDArray[Any]]) -> bool:
        """Whether both groups have the same values, in any order."""
        mobile, reference = values
        return np.array_equal(mobile, reference) or Counter(mobile.tolist()) == Counter(reference.tolist())

    def _named(self, place: int) -> list[str]:
        """Name the atoms at a place."""
        return [_name_of(group[place]) for group in self._groups]


def _name_of(atom: Any) -> str:
    """Name an atom by its index, and what else the topology says of it."""
    residue = [str(getattr(atom, each)) for each in ("resname", "resid") if hasattr(atom, each)]
    known = [str(atom.name)] if hasattr(atom, "name") else []
    known += ["of", *residue] if known and len(residue) == 2 else []
    return f"atom {atom.ix} ({' '.join(known)})" if known else f"atom {atom.ix}"
