"""Atoms of the torsions phi, psi, omega and chi1 to chi4 of proteins."""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.topology.residue_labels import ResidueLabels, residue_names
from mdreel.analysis.topology.residue_neighbours import ResidueNeighbours
from mdreel.errors import MdreelWarning, MismatchError, SelectionError
from mdreel.foundation.stack_level import caller_level

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

_Atom = tuple[int, tuple[str, ...]]
"""Offset of the residue that contains an atom, and possible names of the atom."""

Definitions: TypeAlias = Mapping[str, tuple[_Atom, ...]]
"""The atoms of each torsion, by the name of the torsion."""


def backbone_torsions(
    c: tuple[str, ...] = ("C",), n: tuple[str, ...] = ("N",), ca: tuple[str, ...] = ("CA",)
) -> dict[str, tuple[_Atom, ...]]:
    """Return the atoms of phi, psi and omega for the given names of C, N and CA."""
    return {
        "phi": ((-1, c), (0, n), (0, ca), (0, c)),
        "psi": ((0, n), (0, ca), (0, c), (1, n)),
        "omega": ((0, ca), (0, c), (1, n), (1, ca)),
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
"""Consecutive atoms of the side chain. Each four in a row define one of chi1, chi2, chi3 and chi4 (IUPAC)."""

TORSIONS: Definitions = backbone_torsions() | {
    f"chi{k + 1}": tuple((0, names) for names in _SIDE_CHAIN[k : k + 4]) for k in range(4)
}
"""The atoms of each torsion, by the name of the torsion."""

_NO_TORSION = {("PRO", "chi3"), ("PRO", "chi4")}
"""Residues and torsions for which all atoms exist, but are not connected by bonds."""


@dataclass(frozen=True)
class Torsions:
    """Torsions in residues.

    Attributes
    ----------
    atoms : ndarray, shape (n_torsions, 4), int64
        Universe indices of the atoms.
    kinds : tuple of str
        Type of each torsion, such as ``"phi"`` or ``"chi1"``.
    residues : tuple
        The MDAnalysis residue of each torsion.
    """

    atoms: NDArray[np.int64]
    kinds: tuple[str, ...]
    residues: tuple[Any, ...]

    @property
    def names(self) -> list[str]:
        """Names such as ``"phi ALA 5"``, which include the segment if there are several segments."""
        if not self.residues:
            return []
        first = self.residues[0]
        indices = np.array([residue.ix for residue in self.residues])
        labels = ResidueLabels.of(first.universe.residues[indices]).texts
        return [f"{kind} {label}" for kind, label in zip(self.kinds, labels, strict=True)]


def torsions_of(
    atomgroup: "AtomGroup",
    kinds: Sequence[str],
    complete: bool = False,
    definitions: Definitions = TORSIONS,
    unambiguous: bool = False,
    may_be_none: bool = False,
) -> Torsions:
    """Find the torsions in the residues of a group.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The group.
    kinds : sequence of {"phi", "psi", "omega", "chi1", "chi2", "chi3", "chi4"}
        Torsions to find.
    complete : bool
        Whether to skip residues that lack some of the torsions.
    definitions : mapping of str to tuple
        The atoms of each torsion. By default, protein torsions are used.
    unambiguous : bool
        Whether to omit torsions with an atom that occurs more than once in its residue, as with alternate locations.
        Otherwise, the last of these atoms is used.
    may_be_none : bool
        Whether the group may contain no such torsions. Otherwise, an error is raised.

    Returns
    -------
    Torsions
        The torsions, sorted by residue and then by `kinds`. Torsions with missing atoms are omitted, for example at
        chain ends, next to missing residues, or in short side chains.

    Raises
    ------
    MismatchError
        If an entry of `kinds` is unknown or repeated.
    SelectionError
        If there are no torsions and `may_be_none` is false.

    Warns
    -----
    MdreelWarning
        If the neighbours of a residue differ from those that its number suggests. In this case, MDAnalysis finds
        different torsions.

    Notes
    -----
    See `ResidueNeighbours` for the neighbours of a residue.
    """
    if unknown := [kind for kind in kinds if kind not in definitions]:
        raise MismatchError(f"unknown torsion {unknown[0]!r}; known: {', '.join(definitions)}")
    if not kinds or len(set(kinds)) < len(kinds):
        raise MismatchError(f"expected different torsions, at least one, got {list(kinds)}")
    residues = _Residues(atomgroup.universe, definitions, kinds, unambiguous)
    atoms: list[list[int]] = []
    of_kinds: list[str] = []
    of_residues: list[Any] = []
    unlike: list[Any] = []
    for residue in atomgroup.residues:
        found = {kind: four for kind in kinds if (four := residues.find(residue, kind)) is not None}
        if any(residues.find(residue, kind, by_number=True) != found.get(kind) for kind in kinds):
            unlike.append(residue)
        if complete and len(found) < len(kinds):
            continue
        atoms += found.values()
        of_kinds += found
        of_residues += [residue] * len(found)
    if not atoms and not may_be_none:
        every = "all of the torsions" if complete else "a torsion"
        raise SelectionError(
            f"no residue of the {len(atomgroup):,} atoms has {every} {', '.join(kinds)}: select residues of a protein"
        )
    if unlike:
        _warn_of_neighbours(unlike)
    return Torsions(np.array(atoms, np.int64).reshape(-1, 4), tuple(of_kinds), tuple(of_residues))


class _Residues:
    """The residues of a Universe, with their neighbours and with their atoms by name."""

    def __init__(self, universe: Any, definitions: Definitions, kinds: Sequence[str], unambiguous: bool) -> None:
        self._definitions, self._unambiguous = definitions, unambiguous
        self._residues = universe.residues
        self._neighbours: ResidueNeighbours | None = None
        if any(shift for kind in kinds for shift, _ in definitions[kind]):
            (_, last_names), (_, first_names), *_ = definitions["phi"]
            self._neighbours = ResidueNeighbours(universe, last_names, first_names)
        self._atoms: dict[int, dict[str, int]] = {}

    def find(self, residue: Any, kind: str, *, by_number: bool = False) -> list[int] | None:
        """Return the four atoms of a torsion, or None if one is missing. See `ResidueNeighbours.at` for `by_number`."""
        if (residue.resname, kind) in _NO_TORSION:
            return None
        found = []
        for shift, names in self._definitions[kind]:
            place = residue.ix
            if shift and self._neighbours is not None:
                place = self._neighbours.at(residue.ix, shift, by_number=by_number)
            present = {} if place is None else self._atoms_of(place)
            atom = next((present[name] for name in names if name in present), None)
            if atom is None:
                return None
            found.append(atom)
        return found

    def _atoms_of(self, place: int) -> dict[str, int]:
        if place not in self._atoms:
            atoms = self._residues[place].atoms
            names = atoms.names.tolist()
            of_names = dict(zip(names, atoms.ix.tolist(), strict=True))
            if self._unambiguous and len(of_names) < len(names):
                counts = Counter(names)
                of_names = {name: atom for name, atom in of_names.items() if counts[name] == 1}
            self._atoms[place] = of_names
        return self._atoms[place]


def _warn_of_neighbours(residues: Sequence[Any]) -> None:
    """Warn about residues whose torsions MDAnalysis does not find."""
    indices = np.array([residue.ix for residue in residues])
    names = residue_names(residues[0].universe.residues[indices])
    message = (
        f"{len(residues):,} residues have other neighbours than their numbers suggest, because of insertion codes or "
        f"bonds: {names}. Torsions join residues that are bonded or next in the chain, whereas MDAnalysis joins "
        "residues by number"
    )
    warnings.warn(message, MdreelWarning, stacklevel=caller_level())
