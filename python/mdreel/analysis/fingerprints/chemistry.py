"""Bonds, formal charges and aromatic atoms of residues."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.fingerprints.bonds import bonds_of
from mdreel.analysis.topology.radii import elements_of

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

AROMATIC = 1.5
"""Order of an aromatic bond."""


@dataclass
class Chemistry:
    """Atoms of complete residues with their bonds.

    Attributes
    ----------
    atoms : MDAnalysis.AtomGroup
        The atoms, in ascending order.
    elements : sequence of str, shape (n_atoms,)
        Element symbols, such as ``"Na"``.
    residues : ndarray, shape (n_atoms,), int64
        Index of the residue of each atom in the Universe.
    bonds : list of dict of int to float, shape (n_atoms,)
        For each atom, its bonds to atoms of the same residue: the number of the other atom, and the order of the bond.
        The order of aromatic bonds is 1.5.
    outside : list of list of int, shape (n_atoms,)
        For each atom, the numbers of the atoms in other residues to which it is bonded, or -1 if the other residue is
        not in the group.
    charges : list of int, shape (n_atoms,)
        Formal charges, in e.
    is_aromatic : list of bool, shape (n_atoms,)
        Whether each atom is aromatic.
    has_guessed_bonds : bool
        Whether bonds are guessed, because the topology has no bonds within a residue.
    """

    atoms: "AtomGroup"
    elements: Sequence[str]
    residues: NDArray[np.int64]
    bonds: list[dict[int, float]]
    outside: list[list[int]]
    charges: list[int]
    is_aromatic: list[bool]
    has_guessed_bonds: bool

    def neighbours(self, atom: int) -> Iterator[tuple[int, str, float]]:
        """Yield the number, the element and the order of each bond of an atom within its residue."""
        for other, order in self.bonds[atom].items():
            yield other, self.elements[other], order

    def n_connections(self, atom: int) -> int:
        """Return the number of atoms that are bonded to an atom."""
        return len(self.bonds[atom]) + len(self.outside[atom])

    def n_hydrogens(self, atom: int) -> int:
        """Return the number of hydrogens that are bonded to an atom."""
        return sum(element == "H" for _, element, _ in self.neighbours(atom))

    def is_in_ring(self, atom: int) -> bool:
        """Return whether an atom belongs to a ring of any size within its residue."""
        for start in self.bonds[atom]:
            seen, left = {atom, start}, [start]
            while left:
                for other in self.bonds[left.pop()]:
                    if other not in seen:
                        seen.add(other)
                        left.append(other)
            # A neighbour that is reached without its bond to the atom closes a ring.
            if any(other in seen for other in self.bonds[atom] if other != start):
                return True
        return False

    def valence(self, atom: int) -> float:
        """Return the sum of the orders of the bonds of an atom."""
        return len(self.outside[atom]) + math.fsum(self.bonds[atom].values())

    def bonds_among(self, atoms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the bonds between some atoms, shape (n_bonds, 2), as places in the given numbers."""
        places = {atom: place for place, atom in enumerate(atoms.tolist())}
        found = {
            tuple(sorted((place, places[other])))
            for atom, place in places.items()
            for other in (*self.bonds[atom], *self.outside[atom])
            if other in places
        }
        return np.array(sorted(found), np.int64).reshape(-1, 2)

    def rings(self) -> list[tuple[int, ...]]:
        """Return the aromatic rings of 5 or 6 atoms, each from its first atom to the lower of its neighbours."""
        found = set()
        for start in range(len(self.elements)):
            if self.is_aromatic[start]:
                found |= {path for path in self._cycles((start,)) if path[1] < path[-1]}
        return sorted(path for path in found if not self._has_chord(path))

    def _cycles(self, path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Yield the cycles of aromatic bonds of up to 6 atoms that begin with a path from their first atom."""
        for other, order in self.bonds[path[-1]].items():
            if order != AROMATIC:
                continue
            if other == path[0] and len(path) in (5, 6):
                yield path
            elif other > path[0] and other not in path and len(path) < 6:
                yield from self._cycles((*path, other))

    def _has_chord(self, path: tuple[int, ...]) -> bool:
        n_bonds = sum(other in self.bonds[atom] for atom in path for other in path)
        return n_bonds > 2 * len(path)


def connected(atomgroup: "AtomGroup", name: str) -> Chemistry:
    """Return the atoms of all residues of a group with their bonds, without orders, charges and aromatic atoms.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms.
    name : str
        Name of the group in error messages.

    Raises
    ------
    MissingDataError
        If residues lack bonds that cannot be guessed.
    SelectionError
        If the topology has neither elements nor names.

    Notes
    -----
    The bonds of residues without bonds in the topology are guessed from the distances in the current frame.
    """
    atoms = atomgroup.universe.atoms[np.sort(atomgroup.residues.atoms.ix)]
    elements = ["H" if element == "D" else element for element in elements_of(atoms)]
    pairs, has_guessed_bonds = bonds_of(atoms, name)
    places = np.full(len(atoms.universe.atoms), -1, np.int64)
    places[atoms.ix] = np.arange(len(atoms))
    residues = np.asarray(atoms.resindices, np.int64)
    every = np.asarray(atoms.universe.atoms.resindices)
    chemistry = Chemistry(
        atoms,
        elements,
        residues,
        bonds=[{} for _ in elements],
        outside=[[] for _ in elements],
        charges=[0] * len(elements),
        is_aromatic=[False] * len(elements),
        has_guessed_bonds=has_guessed_bonds,
    )
    is_here = (places[pairs] >= 0).any(axis=1)
    for (first, second), is_inside in zip(
        places[pairs[is_here]].tolist(), (every[pairs[is_here, 0]] == every[pairs[is_here, 1]]).tolist(), strict=True
    ):
        for one, other in ((first, second), (second, first)):
            if one >= 0 and is_inside:
                chemistry.bonds[one][other] = 1.0
            elif one >= 0:
                chemistry.outside[one].append(other)
    return chemistry
