"""Spanning forest of the bonds in molecules."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import SelectionError

if TYPE_CHECKING:
    from MDAnalysis import Universe


@dataclass(frozen=True)
class SpanningForest:
    """Trees of bonds that connect all atoms of fragments, breadth first from the first atom of each fragment.

    Attributes
    ----------
    atoms : ndarray, shape (n_atoms,), uint32
        Atom indices, one fragment after the other, with parents before their children.
    ends : ndarray, shape (n_fragments,), uint64
        End of each fragment in `atoms`.
    parents : ndarray, shape (n_atoms,), uint64
        Position of the parent of each atom in `atoms`. The first atom of a fragment is its own parent.
    """

    atoms: NDArray[np.uint32]
    ends: NDArray[np.uint64]
    parents: NDArray[np.uint64]

    @classmethod
    def of(cls, universe: "Universe", atoms: NDArray[np.uint32]) -> Self:
        """Return the spanning forest of the fragments that contain some atoms.

        Raises
        ------
        SelectionError
            If the topology has no bonds.
        """
        try:
            fragments, bonds = universe.atoms.fragindices, _bonds(universe)
        except AttributeError as error:
            message = "the topology has no bonds, which are needed to make molecules whole"
            raise SelectionError(f"{message}: use one with bonds (TPR, PSF, PRMTOP), or guess them") from error
        is_wanted = np.zeros(int(fragments.max()) + 1, bool)
        is_wanted[fragments[atoms]] = True
        found, parents = _breadth_first(fragments, bonds[is_wanted[fragments[bonds[:, 0]]]], is_wanted)
        order = np.argsort(fragments[found], kind="stable")
        ordered = found[order]
        numbers = np.empty(len(fragments), np.uint64)
        numbers[ordered] = np.arange(len(ordered), dtype=np.uint64)
        _, counts = np.unique(fragments[ordered], return_counts=True)
        return cls(ordered.astype(np.uint32), np.cumsum(counts).astype(np.uint64), numbers[parents[order]])


def _bonds(universe: "Universe") -> NDArray[np.int64]:
    """Return the two atoms of each bond, in any order."""
    try:
        # `universe.bonds` takes a Python object for each atom and bond: 70 ms for 48,000 atoms, in every run.
        pairs = universe._topology.bonds.values  # noqa: SLF001
    except AttributeError:
        pairs = universe.bonds.indices
    return np.array(pairs, np.int64).reshape(-1, 2)


def _breadth_first(
    fragments: NDArray[np.int64], bonds: NDArray[np.int64], is_wanted: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the atoms of fragments in breadth-first order, and their parents."""
    n_atoms = len(fragments)
    both = np.concatenate([bonds, bonds[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    neighbours = both[:, 1]
    starts = np.searchsorted(both[:, 0], np.arange(n_atoms + 1))
    wanted, roots = np.unique(fragments, return_index=True)
    front = roots[is_wanted[wanted]]
    is_reached = np.zeros(n_atoms, bool)
    is_reached[front] = True
    atoms, parents = [front], [front]
    while front.size:
        counts = starts[front + 1] - starts[front]
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        children = neighbours[np.repeat(starts[front], counts) + offsets]
        of = np.repeat(front, counts)
        is_new = ~is_reached[children]
        front, first = np.unique(children[is_new], return_index=True)
        is_reached[front] = True
        atoms.append(front)
        parents.append(of[is_new][first])
    return np.concatenate(atoms), np.concatenate(parents)
