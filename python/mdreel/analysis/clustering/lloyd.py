"""Iterations of k-means."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mdreel._core import nearest_centers


@dataclass(frozen=True)
class KMeansFound:
    """Result of the iterations of k-means."""

    labels: NDArray[np.int64]
    """Cluster of each point, shape (n_points,)."""
    squares: NDArray[np.float64]
    """Square distance of each point from the centre of its cluster, shape (n_points,)."""
    n_iterations: int
    """Number of iterations."""
    is_converged: bool
    """Whether the last iteration changed no label."""

    @property
    def inertia(self) -> float:
        """Sum of the square distances, correctly rounded."""
        return math.fsum(self.squares)


def lloyd(
    points: NDArray[np.float32] | NDArray[np.float64],
    centers: NDArray[np.float64],
    max_iterations: int,
    n_threads: int,
) -> KMeansFound:
    """Assign points to their nearest centres and move the centres to the means of their points, until no label changes.

    If a cluster is empty, its centre moves to the point that is farthest from its own centre, as in scikit-learn.

    Parameters
    ----------
    points : ndarray, shape (n_points, n_values), float32 or float64
        The points.
    centers : ndarray, shape (n_clusters, n_values), float64
        The first centres.
    max_iterations : int
        Largest number of iterations.
    n_threads : int
        Number of threads.

    Returns
    -------
    KMeansFound
        The clusters, of which some may be empty if points are the same.
    """
    previous, n_iterations, is_converged = None, 0, False
    while not is_converged and n_iterations < max_iterations:
        n_iterations += 1
        found, squares, sums = nearest_centers(points, centers, n_threads)
        labels = found.astype(np.int64)
        is_converged = previous is not None and np.array_equal(labels, previous)
        if is_converged:
            break
        counts = np.bincount(labels, minlength=len(centers))
        if not counts.all():
            _fill_empty(points, labels, squares, counts, sums)
        centers = np.divide(sums, counts[:, None], out=centers.copy(), where=counts[:, None] > 0)
        previous = labels
    return KMeansFound(labels, squares, n_iterations, is_converged)


def _fill_empty(
    points: NDArray[np.float32] | NDArray[np.float64],
    labels: NDArray[np.int64],
    squares: NDArray[np.float64],
    counts: NDArray[np.intp],
    sums: NDArray[np.float64],
) -> None:
    """Move the points that are farthest from their centres to the empty clusters, in the counts and sums."""
    farthest = iter(np.argsort(-squares, kind="stable").tolist())
    for empty in np.flatnonzero(counts == 0).tolist():
        point = next(farthest)
        if squares[point] == 0:
            return  # as many points as differ have clusters
        own = int(labels[point])
        sums[own] -= points[point]
        sums[empty] = points[point]
        counts[own] -= 1
        counts[empty] = 1
