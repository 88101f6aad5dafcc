"""Atoms of the torsions phi, psi, omega and chi1 to chi4."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.topology.residue_labels import ResidueLabels
from mdreel.errors import MismatchError, SelectionError

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

_Atom = tuple[int, tuple[str, ...]]
"""In which residue, counted from this one, and by which names."""

_BACKBONE: dict[str, tuple[_Atom, ...]] = {
    "phi": ((-1, ("C",)), (0, ("N",)), (0, ("CA",)), (0, ("C",))),
    "psi": ((0, ("N",)), (0, ("CA",)), (0, ("C",)), (1, ("N",))),
    "omega": ((0, ("CA",)), (0, ("C",)), (1, ("N",)), (1, ("CA",))),
}

_SIDE_CHAIN = (
    ("N",),
    ("CA",),
    ("CB",),
    ("CG", "CG1", "OG", "OG1", "SG"),
    ("CD", "CD1", "OD1", "ND1", "SD"),
    ("NE", "OE1", "CE"),
    ("CZ", "NZ"),
)
"""The chain of atoms whose fours, one after the other, make chi1, chi2, chi3 and chi4 (IUPAC)."""

TORSIONS: dict[str, tuple[_Atom, ...]] = _BACKBONE | {
    f"chi{k + 1}": tuple((0, names) for names in _SIDE_CHAIN[k : k + 4]) for k in range(4)
}
"""The atoms of each torsion by its name."""

_NO_TORSION = {("PRO", "chi3"), ("PRO", "chi4")}
"""Chains of names that go through a bond that is not there."""


@dataclass(frozen=True)
class Torsions:
    """Torsions of residues.

    Attributes
    ----------
    atoms : ndarray, shape (n_torsions, 4), int64
        Indices of their atoms in the Universe.
    kinds : tuple of str
        What each is: ``"phi"``, ``"chi1"``, ...
    residues : tuple
        The residue of each, as MDAnalysis has it.
    """

    atoms: NDArray[np.int64]
    kinds: tuple[str, ...]
    residues: tuple[Any, ...]

    @property
    def names(self) -> list[str]:
        """Names such as ``"phi ALA 5"``, with the segment where there are several."""
        first = self.residues[0]
        indices = np.array([residue.ix for residue in self.residues])
        labels = ResidueLabels.of(first.universe.residues[indices]).texts
        return [f"{kind} {label}" for kind, label in zip(self.kinds, labels, strict=True)]


def torsions_of(atomgroup: "AtomGroup", kinds: Sequence[str], complete: bool = False) -> Torsions:
    """Find the torsions of the residues that a group has atoms of.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The group.
    kinds : sequence of {"phi", "psi", "omega", "chi1", "chi2", "chi3", "chi4"}
        Which torsions.
    complete : bool
        Whether only residues count that have all of them.

    Returns
    -------
    Torsions
        Residue after residue, and within each in the order of `kinds`. Where an atom is not there, as at the ends of a
        chain, next to missing residues, or in short side chains, there is none.

    Raises
    ------
    MismatchError
        If a kind is unknown or repeated.
    SelectionError
        If there is no torsion.

    Notes
    -----
    Neighbours are residues of the same segment with the next, or the previous, number.
    """
    if unknown := [kind for kind in kinds if kind not in TORSIONS]:
        raise MismatchError(f"unknown torsion {unknown[0]!r}; known: {', '.join(TORSIONS)}")
    if not kinds or len(set(kinds)) < len(kinds):
        raise MismatchError(f"expected different torsions, at least one, got {list(kinds)}")
    residues = _Residues(atomgroup.universe)
    atoms: list[list[int]] = []
    of_kinds: list[str] = []
    of_residues: list[Any] = []
    for residue in atomgroup.residues:
        found = {kind: four for kind in kinds if (four := residues.find(residue, kind)) is not None}
        if complete and len(found) < len(kinds):
            continue
        atoms += found.values()
        of_kinds += found
        of_residues += [residue] * len(found)
    if not atoms:
        every = "all of the torsions" if complete else "a torsion"
        raise SelectionError(f"no residue of the {len(atomgroup):,} atoms has {every} {', '.join(kinds)}")
    return Torsions(np.array(atoms), tuple(of_kinds), tuple(of_residues))


class _Residues:
    """The residues of a Universe, found by number, and their atoms, found by name."""

    def __init__(self, universe: Any) -> None:
        # Of several with the same number, the first.
        self._by_number = {(residue.segment.ix, residue.resid): residue for residue in universe.residues[::-1]}
        self._atoms: dict[int, dict[str, int]] = {}

    def find(self, residue: Any, kind: str) -> list[int] | None:
        """Return the four atoms of a torsion; None where one is not there."""
        if (residue.resname, kind) in _NO_TORSION:
            return None
        found = []
        for shift, names in TORSIONS[kind]:
            place = self._by_number.get((residue.segment.ix, residue.resid + shift)) if shift else residue
            present = {} if place is None else self._atoms_of(place)
            atom = next((present[name] for name in names if name in present), None)
            if atom is None:
                return None
            found.append(atom)
        return found

    def _atoms_of(self, residue: Any) -> dict[str, int]:
        if residue.ix not in self._atoms:
            self._atoms[residue.ix] = dict(zip(residue.atoms.names, residue.atoms.ix.tolist(), strict=True))
        return self._atoms[residue.ix]
