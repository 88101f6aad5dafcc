"""Atoms that a user's object refers to."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import UnsupportedError

_OF_ATOMS = {"GroupBase", "ComponentBase", "TopologyObject", "TopologyGroup"}
"""Classes of MDAnalysis whose objects stand for atoms; by name, so that MDAnalysis is not imported for that."""


def atoms_held(value: Any, universe: Any) -> NDArray[np.uint32]:
    """Return the atoms of one Universe that a value holds.

    Parameters
    ----------
    value : object
        A group of atoms, residues or segments, one of these, a bond or a group of bonds; or a mapping, list, tuple or
        set of such, to any depth.
    universe : MDAnalysis.Universe
        Atoms of other Universes are left out.

    Returns
    -------
    ndarray, shape (n_atoms,), uint32
        Indices, ascending, each once.

    Raises
    ------
    UnsupportedError
        If a group of this Universe changes from frame to frame.
    """
    found = [_indices_of(one) for one in _groups_in(value) if one.universe is universe]
    return np.unique(np.concatenate(found)).astype(np.uint32) if found else np.empty(0, np.uint32)


def _groups_in(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from chain.from_iterable(map(_groups_in, value.values()))
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from chain.from_iterable(map(_groups_in, value))
    elif _OF_ATOMS & _class_names(value):
        yield value


def _indices_of(group: Any) -> NDArray[np.integer]:
    names = _class_names(group)
    if "UpdatingAtomGroup" in names:
        raise UnsupportedError("an UpdatingAtomGroup needs all atoms of each frame: select without updating=True")
    if names & {"TopologyObject", "TopologyGroup"}:
        return np.ravel(group.indices)
    return np.ravel(group.atoms.ix if hasattr(group, "atoms") else group.ix)


def _class_names(value: Any) -> set[str]:
    return {kind.__name__ for kind in type(value).__mro__}
