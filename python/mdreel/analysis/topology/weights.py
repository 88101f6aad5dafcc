"""Weights of atoms."""

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel.errors import MismatchError, SelectionError

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup


def weights_of(atomgroup: "AtomGroup", weights: Literal["mass"] | ArrayLike | None) -> NDArray[np.float64] | None:
    """Return the weights that a user has asked for.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        The masses, or numbers.

    Returns
    -------
    ndarray, float64, or None
        Numbers in the order of the group, if they are as many; None where all are alike.

    Raises
    ------
    MismatchError
        If they are another text.
    SelectionError
        If there are no masses.
    """
    if weights is None:
        return None
    if not isinstance(weights, str):
        return np.asarray(weights, np.float64)
    if weights != "mass":
        raise MismatchError(f"weights must be None, 'mass' or an array, not {weights!r}")
    try:
        return np.asarray(atomgroup.masses, np.float64)
    except AttributeError as error:
        raise SelectionError("the topology has no masses to weight the atoms by") from error
