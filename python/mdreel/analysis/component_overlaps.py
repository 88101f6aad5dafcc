"""Overlaps of principal components."""

from collections.abc import Sequence
from operator import index

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel.errors import MismatchError


def rmsip(a: NDArray[np.float64], b: NDArray[np.float64], n_components: int | Sequence[int] | None = None) -> float:
    """Return the root mean square inner product of two sets of components.

    Parameters
    ----------
    a, b : ndarray, shape (n, n_coordinates), float64
        Components as rows, such as ``pca.results.p_components.T``.
    n_components : int or (int, int), optional
        Number of components to use from each set, or from `a` and from `b`; by default all.

    Returns
    -------
    float
        ``sqrt(sum_ij (a_i . b_j)^2 / n)`` for n components of `a`, which is 0 for orthogonal and 1 for identical spaces
        (A. Amadei et al., Proteins 36 (1999) 419-424).

    Raises
    ------
    MismatchError
        If the components have different lengths. If there are fewer than `n_components`.
    """
    a, b = _same_length(a, b)
    wanted = tuple(n_components) if isinstance(n_components, Sequence | np.ndarray) else (n_components,)
    if len(wanted) not in (1, 2):
        expected = "Too many values" if wanted else "No value"
        raise MismatchError(f"{expected} for n_components, {n_components!r}: expected one, or one for each set")
    a, b = _first_of(a, wanted[0]), _first_of(b, wanted[-1])
    return float(np.sqrt(((a @ b.T) ** 2).sum() / len(a)))


def cumulative_overlap(
    a: NDArray[np.float64], b: NDArray[np.float64], i: int = 0, n_components: int | None = None
) -> float:
    """Return the overlap of a component with the space of other components.

    Parameters
    ----------
    a, b : ndarray, shape (n, n_coordinates), float64
        Components as rows, such as ``pca.results.p_components.T``.
    i : int
        Index of the component of `a`.
    n_components : int, optional
        Number of components of `b`; by default all.

    Returns
    -------
    float
        ``sqrt(sum_j (a_i . b_j)^2)``, which is 0 for a component orthogonal to all others, and 1 for a component in
        their space (L. Yang et al., Structure 16 (2008) 321-330).

    Raises
    ------
    MismatchError
        If the components have different lengths.
    """
    a, b = _same_length(a, b)
    return float(np.sqrt(((b[:n_components] @ a[i]) ** 2).sum()))


def _same_length(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, second = np.atleast_2d(np.asarray(a, np.float64)), np.atleast_2d(np.asarray(b, np.float64))
    if first.shape[1] != second.shape[1]:
        raise MismatchError(f"components have {first.shape[1]} and {second.shape[1]} coordinates")
    return first, second


def _first_of(components: NDArray[np.float64], n_components: int | None) -> NDArray[np.float64]:
    if n_components is not None and not 1 <= index(n_components) <= len(components):
        raise MismatchError(f"n_components must be 1 to {len(components)}, not {n_components}")
    return components[:n_components]
