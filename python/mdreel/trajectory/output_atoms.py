"""Atoms of an output trajectory."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Source
from mdreel.errors import MismatchError, SelectionError
from mdreel.execution.source_name import source_name
from mdreel.trajectory.atom_counts import topology_mismatch
from mdreel.trajectory.selection import Selection

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

Atoms: TypeAlias = Union["AtomGroup", Sequence[int], NDArray[np.integer]]
"""Atoms as an MDAnalysis AtomGroup, or as indices."""


def atoms_of(source: Source, atoms: Atoms | None) -> NDArray[np.uint32]:
    """Return the indices of the atoms to write.

    Parameters
    ----------
    source : Source
        The trajectory.
    atoms : AtomGroup, or array_like, shape (n_atoms,), int, optional
        The atoms to write. The default is all atoms. Indices must be in ascending order. If you pass a group, its order
        and its repetitions are ignored.

    Returns
    -------
    ndarray, shape (n_atoms,), uint32
        Ascending indices.

    Raises
    ------
    SelectionError
        If there are no atoms, or if the indices are negative or not in ascending order.
    MismatchError
        If the Universe of the group has a different number of atoms than the trajectory, or if an index exceeds the
        number of atoms in the trajectory.
    """
    if atoms is None:
        return np.arange(source.n_atoms, dtype=np.uint32)
    if hasattr(atoms, "universe"):
        n_atoms = len(atoms.universe.atoms)
        if n_atoms != source.n_atoms:
            raise topology_mismatch(source, n_atoms)
        return Selection.of(atoms, "atoms").atoms
    indices = np.asarray(atoms)
    if indices.ndim != 1 or not len(indices) or not np.issubdtype(indices.dtype, np.integer):
        raise SelectionError(f"atoms must be a list of indices, got {indices.dtype} of shape {indices.shape}")
    if indices[0] < 0 or (np.diff(indices.astype(np.int64)) <= 0).any():
        raise SelectionError("atom indices must ascend from 0 without repetition")
    if indices[-1] >= source.n_atoms:
        raise MismatchError(
            f"there is no atom {indices[-1]}: the trajectory has {source.n_atoms} atoms", path=source_name(source)
        )
    return indices.astype(np.uint32)
