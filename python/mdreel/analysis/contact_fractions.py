"""Fractions of native contacts as functions of distances."""

import numpy as np
from numpy.typing import ArrayLike


def hard_cut_q(r: ArrayLike, cutoff: ArrayLike) -> float:
    """Return the fraction of distances that do not exceed a cutoff.

    Parameters
    ----------
    r : array_like, shape (n_contacts,), float64
        Distances in Å.
    cutoff : array_like, shape (n_contacts,), float64, or float
        Largest distance of each contact, or of all contacts, in Å.
    """
    return float(np.mean(np.asarray(r) <= np.asarray(cutoff)))


def soft_cut_q(r: ArrayLike, r0: ArrayLike, beta: float = 5.0, lambda_constant: float = 1.8) -> float:
    """Return the mean of ``1 / (1 + exp(beta (r - lambda_constant r0)))``.

    Parameters
    ----------
    r, r0 : array_like, shape (n_contacts,), float64
        Distances and reference distances in Å.
    beta : float
        Steepness in Å^-1.
    lambda_constant : float
        Factor by which the reference distance is multiplied.
    """
    exponent = beta * (np.asarray(r, np.float64) - lambda_constant * np.asarray(r0, np.float64))
    return float(np.mean(np.exp(-np.logaddexp(0.0, exponent))))


def radius_cut_q(r: ArrayLike, r0: ArrayLike | None, radius: float) -> float:
    """Return the fraction of distances that do not exceed a radius. `r0` is ignored.

    Parameters
    ----------
    r : array_like, shape (n_contacts,), float64
        Distances in Å.
    r0 : array_like, optional
        Reference distances in Å.
    radius : float
        Largest distance in Å.
    """
    return hard_cut_q(r, radius)
