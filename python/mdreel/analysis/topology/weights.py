"""Weights of atoms."""

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel.errors import MismatchError, SelectionError

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup


def weights_of(atomgroup: "AtomGroup", weights: Literal["mass"] | ArrayLike | None) -> NDArray[np.float64] | None:
    """Return the requested weights of atoms.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        Equal weights, masses, or numbers.

    Returns
    -------
    ndarray, float64, or None
        Weights in the order of the group, or None for equal weights. The number of given weights is not checked.

    Raises
    ------
    MismatchError
        If `weights` is a string other than "mass", or if it does not consist of numbers.
    SelectionError
        If the topology has no masses.
    """
    if weights is None:
        return None
    if not isinstance(weights, str):
        return _numbers(weights)
    if weights != "mass":
        raise MismatchError(f"weights must be None, 'mass' or an array, not {weights!r}")
    try:
        return np.asarray(atomgroup.masses, np.float64)
    except AttributeError as error:
        raise SelectionError(
            "the topology has no masses to weight the atoms by: give weights=None, or an array of weights"
        ) from error


def _numbers(weights: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(weights, np.float64)
    except (TypeError, ValueError) as error:
        from mdreel.trajectory.mdanalysis_errors import WeightsTypeError

        raise WeightsTypeError(f"weights must be None, 'mass' or an array of numbers: {error}") from error
