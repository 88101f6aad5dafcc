"""Atoms in all groups that a user object contains."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.trajectory.selection_tree import frame_selection, is_updating

_OF_ATOMS = {"GroupBase", "ComponentBase", "TopologyObject", "TopologyGroup"}
"""Names of the MDAnalysis classes that contain atoms, so that MDAnalysis does not have to be imported."""


def atoms_held(value: Any, universe: Any) -> NDArray[np.uint32]:
    """Return the atoms of one Universe that a value contains.

    Parameters
    ----------
    value : object
        A group of atoms, residues or segments, a single atom, residue or segment, a bond, or a group of bonds. It may
        also be a mapping, list, tuple or set of these objects, nested to any depth.
    universe : MDAnalysis.Universe
        Atoms of other Universes are ignored.

    Returns
    -------
    ndarray, shape (n_atoms,), uint32
        Indices in ascending order, without repetitions.

    Notes
    -----
    For an UpdatingAtomGroup, all atoms that its selection may use or select are included.
    """
    found = [_indices_of(one) for one in _groups_in(value) if one.universe is universe]
    return np.unique(np.concatenate(found)).astype(np.uint32) if found else np.empty(0, np.uint32)


def universe_held(value: Any, reader: Any, name: str) -> Any:
    """Find the Universe of a trajectory among the Universes and the groups of atoms that a value contains.

    Parameters
    ----------
    value : object
        See `atoms_held`. The value may also contain Universes.
    reader : MDAnalysis.coordinates.base.ProtoReader
        The trajectory.
    name : str
        Name of the analysis, for error messages.

    Raises
    ------
    MismatchError
        If there is no such Universe.
    """
    for one in _groups_in(value, _OF_ATOMS | {"Universe"}):
        universe = one if "Universe" in _class_names(one) else one.universe
        if getattr(universe, "trajectory", None) is reader:
            return universe
    raise MismatchError(
        f"{name} was made with a trajectory, but holds no atoms of its Universe: set the AtomGroup as an attribute "
        "before run(), as in self.atomgroup = atomgroup, or pass it, as in super().__init__(atomgroup)"
    )


def is_reader(value: Any) -> bool:
    """Return whether a value is an MDAnalysis trajectory."""
    return "ProtoReader" in _class_names(value)


def holds_atoms(value: Any) -> bool:
    """Return whether a value is or contains a group, an atom, a residue, a segment or a bond. See `atoms_held`."""
    return any(True for _ in _groups_in(value))


def _groups_in(value: Any, kinds: AbstractSet[str] = _OF_ATOMS) -> Iterator[Any]:
    if isinstance(value, Mapping):
        value = [*value.values()]
    if isinstance(value, (list, tuple, set, frozenset)):
        yield from chain.from_iterable(_groups_in(one, kinds) for one in value)
    elif kinds & _class_names(value):
        yield value


def _indices_of(group: Any) -> NDArray[np.integer]:
    names = _class_names(group)
    if "UpdatingAtomGroup" in names:
        return _indices_for_selection(group)
    if names & {"TopologyObject", "TopologyGroup"}:
        return np.ravel(group.indices)
    return np.ravel(group.atoms.ix if hasattr(group, "atoms") else group.ix)


def _indices_for_selection(group: Any) -> NDArray[np.integer]:
    """Return the atoms that MDAnalysis uses when it updates an updating group, and those that it may select."""
    try:
        changing = frame_selection(group)
    except UnsupportedError:  # MDAnalysis may know keywords that the core does not know
        return np.asarray(group.universe.atoms.ix)
    base = group
    while is_updating(base):
        base = base._base_group  # noqa: SLF001 (MDAnalysis has no public name for it)
    return np.concatenate([base.ix, changing.needed, changing.possible])


def _class_names(value: Any) -> set[str]:
    return {kind.__name__ for kind in type(value).__mro__}
