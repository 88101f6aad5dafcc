"""Covariance matrix of positions, and eigenvectors of the matrix."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel.analysis.topology.reference import is_group
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally


def covariance_of(
    tally: Tally, places: NDArray[np.int64], mean: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean and the covariance matrix of positions from sums over frames.

    Parameters
    ----------
    tally : Tally
        Sums of the displacements from a structure and of their products. The structure is the first argument of the
        computation.
    places : ndarray, shape (n_atoms,), int64
        Position of each atom among the atoms of the sums.
    mean : ndarray, shape (n_atoms, 3), float64, optional
        Positions in Å to use instead of the mean.

    Returns
    -------
    mean : ndarray, shape (n_atoms, 3), float64
        Mean positions or the given positions, in Å.
    matrix : ndarray, shape (3 * n_atoms, 3 * n_atoms), float64
        The matrix in Å^2. It is exactly symmetric.
    """
    start = tally.arguments[0]
    n = start.size
    sums, products = tally.sums[:n], np.zeros((n, n))
    products[np.triu_indices(n)] = tally.sums[n:]
    if not np.array_equal(places, np.arange(len(start))):
        products += np.triu(products, 1).T
        rows = (3 * places[:, None] + np.arange(3)).ravel()
        start, sums, products = start[places], sums[rows], products[np.ix_(rows, rows)]
    origin = start.ravel() + sums / tally.n_frames if mean is None else mean.ravel()
    from_start = origin - start.ravel()
    # sum (d - m)(d - m)^T from the sums of d and d d^T.
    products -= np.outer(sums, from_start) + np.outer(from_start, sums - tally.n_frames * from_start)
    matrix = np.triu(products) / (tally.n_frames - 1)
    return origin.reshape(-1, 3), matrix + np.triu(matrix, 1).T


def components_of(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the eigenvalues and eigenvectors of a covariance matrix.

    Parameters
    ----------
    matrix : ndarray, shape (n, n), float64
        The matrix.

    Returns
    -------
    values : ndarray, shape (n,), float64
        Eigenvalues in decreasing order. All are at least 0.
    vectors : ndarray, shape (n, n), float64
        Eigenvectors as columns. In each eigenvector, the entry with the largest magnitude is positive.
    """
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.where(vectors[largest, np.arange(len(values))] < 0, -1.0, 1.0)
    return values, np.ascontiguousarray(vectors * signs)


def checked_mean(mean: ArrayLike, n_atoms: int) -> NDArray[np.float64]:
    """Check and return the mean positions given by the user."""
    if is_group(mean):
        raise MismatchError("mean must be an array of positions, not an AtomGroup: give its positions")
    positions = np.asarray(mean, np.float64)
    if positions.ndim != 2 or positions.shape[1] != 3:
        raise MismatchError(f"mean must have the shape ({n_atoms}, 3), got {positions.shape}")
    if len(positions) != n_atoms:
        raise MismatchError(
            f"Number of atoms in mean ({len(positions)}) differs from the selection, which has {n_atoms}"
        )
    if not np.isfinite(positions).all():
        raise MismatchError("mean has a coordinate that is not finite")
    return positions
