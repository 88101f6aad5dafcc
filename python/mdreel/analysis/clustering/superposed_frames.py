"""Frames as points whose distances are deviations after superposition on a single reference."""

import numpy as np
from numpy.typing import NDArray

from mdreel._core import nearest_centers, superposed_rows

SAME_SHAPE = 1e-10
"""Square distance of two points in Å² up to which frames that differ by a rigid motion may appear to differ."""
_ENOUGH = 1e-4
"""Change of the mean structure in Å (RMSD) below which it is not computed again."""
_MOST_ROUNDS = 20


def superposed_on_frame(
    frames: NDArray[np.float32], n_atoms: int, weights: NDArray[np.float64] | None, place: int, n_threads: int
) -> NDArray[np.float32]:
    """Return the positions of frames after superposition on one of them, as points.

    Parameters
    ----------
    frames : ndarray, shape (n_frames, n_values), float32
        Positions of the atoms of each frame: x, y and z of one atom after the other, Å.
    n_atoms : int
        Number of atoms.
    weights : ndarray, shape (n_atoms,), float64, or None
        Weights of the atoms.
    place : int
        Row of the reference.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray, shape (n_frames, 3 * n_atoms), float32
        Positions in Å, each multiplied by the square root of the weight of its atom, where the weights are normalized
        to a sum of 1. The distance of two points is the weighted root mean square deviation of the two frames.
    """
    reference = frames[place, : 3 * n_atoms].reshape(n_atoms, 3).astype(np.float64)
    return superposed_rows(frames, n_atoms, weights, reference, n_threads)


def superposed_on_mean(
    frames: NDArray[np.float32], n_atoms: int, weights: NDArray[np.float64] | None, n_threads: int
) -> NDArray[np.float32]:
    """Return the positions of frames after superposition on their mean structure, as points.

    The first reference is the first frame. The mean of the superposed frames is the next reference, until it moves by
    less than 0.0001 Å (RMSD), or for 20 rounds.

    See `superposed_on_frame` for the parameters and the result.
    """
    points = superposed_on_frame(frames, n_atoms, weights, 0, n_threads)
    shares = np.full(n_atoms, 1 / n_atoms) if weights is None else weights / weights.sum()
    scales = np.sqrt(shares)[:, None]
    previous = points[0].astype(np.float64)
    for _ in range(_MOST_ROUNDS):
        mean = mean_point(points, n_threads)
        if np.linalg.norm(mean - previous) < _ENOUGH:
            break
        previous = mean
        # An atom without weight may be anywhere.
        reference = np.divide(mean.reshape(n_atoms, 3), scales, out=np.zeros((n_atoms, 3)), where=scales > 0)
        del points  # before the next ones need as much memory
        points = superposed_rows(frames, n_atoms, weights, reference, n_threads)
    return points


def mean_point(points: NDArray[np.float32] | NDArray[np.float64], n_threads: int) -> NDArray[np.float64]:
    """Return the mean of points, shape (n_values,), with the same bits for every number of threads."""
    _, _, sums = nearest_centers(points, np.zeros((1, points.shape[1])), n_threads)
    mean: NDArray[np.float64] = sums[0] / len(points)
    return mean
