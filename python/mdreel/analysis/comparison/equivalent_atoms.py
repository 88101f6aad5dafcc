"""Orders of the atoms of a molecule that its bonds and elements cannot tell apart."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MismatchError


def equivalent_orders(labels: Sequence[object], bonds: NDArray[np.integer], most: int) -> NDArray[np.intp]:
    """Return all automorphisms of a graph of labelled atoms.

    Parameters
    ----------
    labels : sequence of object, length n_atoms
        Label of each atom, such as its element. Equivalent atoms have equal labels.
    bonds : ndarray, shape (n_bonds, 2), int
        Indices of the two atoms of each bond.
    most : int
        Largest number of orders.

    Returns
    -------
    ndarray, shape (n_orders, n_atoms), int64
        Each row is an order in which the labels and the bonds are the same. The first row is the given order.

    Raises
    ------
    MismatchError
        If there are more than `most` orders.
    """
    neighbours: list[set[int]] = [set() for _ in labels]
    for one, other in bonds.tolist():
        neighbours[one].add(other)
        neighbours[other].add(one)
    colours = _refined(labels, neighbours)
    sequence = _connected_sequence(neighbours)
    earlier = [[one for one in sequence[:place] if one in neighbours[atom]] for place, atom in enumerate(sequence)]
    found: list[list[int]] = []
    image: dict[int, int] = {}
    pending = [iter(_candidates(sequence[0], earlier[0], image, neighbours, colours))]
    while pending:
        atom = sequence[len(pending) - 1]
        image.pop(atom, None)
        candidate = next(pending[-1], None)
        if candidate is None:
            pending.pop()
            continue
        image[atom] = candidate
        if len(pending) < len(sequence):
            place = len(pending)
            pending.append(iter(_candidates(sequence[place], earlier[place], image, neighbours, colours)))
            continue
        found.append([image[one] for one in range(len(labels))])
        if len(found) > most:
            raise MismatchError(
                f"the molecule has more than {most:,} equivalent orders of its atoms: select its heavy atoms alone, "
                "such as select='not name H*'"
            )
    return np.array(sorted(found), np.intp)


def _refined(labels: Sequence[object], neighbours: list[set[int]]) -> list[int]:
    """Return numbers that differ for atoms whose surroundings differ."""
    colours = [sorted(map(str, set(labels))).index(str(one)) for one in labels]
    while True:
        signatures = [(colours[i], *sorted(colours[j] for j in near)) for i, near in enumerate(neighbours)]
        ranks = {one: rank for rank, one in enumerate(sorted(set(signatures)))}
        if len(ranks) == len(set(colours)):
            return colours
        colours = [ranks[one] for one in signatures]


def _connected_sequence(neighbours: list[set[int]]) -> list[int]:
    """Return the atoms so that each but the first of its molecule follows one that is bonded to it."""
    sequence: list[int] = []
    seen: set[int] = set()
    for first in range(len(neighbours)):
        queue = [] if first in seen else [first]
        while queue:
            atom = queue.pop(0)
            if atom not in seen:
                seen.add(atom)
                sequence.append(atom)
                queue.extend(sorted(neighbours[atom] - seen))
    return sequence


def _candidates(
    atom: int, earlier: list[int], image: dict[int, int], neighbours: list[set[int]], colours: list[int]
) -> list[int]:
    """Return the atoms that can take the place of an atom, given those that take the places of earlier atoms."""
    taken = set(image.values())
    bonded = {image[one] for one in earlier}
    possible = neighbours[image[earlier[0]]] if earlier else range(len(neighbours))
    return [
        one
        for one in sorted(possible)
        if colours[one] == colours[atom] and one not in taken and neighbours[one] & taken == bonded
    ]
