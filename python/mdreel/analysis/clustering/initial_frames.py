"""Frames from which k-means and k-medoids start."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mdreel._core import nearest_centers
from mdreel.analysis.clustering.superposed_frames import mean_point
from mdreel.errors import MismatchError

_PERCENT = 10
"""Percentage of frames among which NANI selects."""


def plus_plus_frames(
    n_frames: int, n_clusters: int, seed: Sequence[int], squares_from: Callable[[int], NDArray[np.float64]]
) -> NDArray[np.int64]:
    """Return frames chosen at random in proportion to their square distances from those chosen before (k-means++).

    Parameters
    ----------
    n_frames, n_clusters : int
        Number of frames, and how many to choose.
    seed : sequence of int
        Seed of the random numbers.
    squares_from : callable
        Return the square distance of each frame from one of them, shape (n_frames,), float64, which is 0 for frames
        that are the same.

    Returns
    -------
    ndarray, shape (n_clusters,), int64
        Rows of the frames.

    Raises
    ------
    MismatchError
        If there are fewer different frames than clusters.
    """
    random = np.random.default_rng(seed)
    chosen = [int(random.random() * n_frames)]
    squares = squares_from(chosen[0])
    while len(chosen) < n_clusters:
        sums = np.cumsum(squares)
        if not sums[-1] > 0:
            raise too_few_shapes(n_clusters, len(chosen))
        # Never a frame with a square of 0, also where rounding brings the number to the last sum.
        place = int(np.searchsorted(sums, random.random() * sums[-1], side="right"))
        chosen.append(min(place, int(np.flatnonzero(squares)[-1])))
        squares = np.minimum(squares, squares_from(chosen[-1]))
    return np.array(chosen, np.int64)


def nani_frames(
    points: NDArray[np.float32] | NDArray[np.float64], n_clusters: int, same: float, n_threads: int
) -> NDArray[np.int64]:
    """Return frames that are far from each other among those in the densest region (k-means NANI).

    Parameters
    ----------
    points : ndarray, shape (n_frames, n_values), float32 or float64
        The frames as points.
    n_clusters : int
        Number of frames to choose.
    same : float
        Largest squared distance at which two points count as the same.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray, shape (n_clusters,), int64
        Rows of the frames.

    Raises
    ------
    MismatchError
        If there are fewer different frames than clusters.

    Notes
    -----
    The complementary similarity of a frame is the mean squared distance between all pairs of other frames. It decreases
    with the distance of the frame from the mean. The candidates are the frames with the highest complementary
    similarity, and therefore the frames nearest to the mean. They are 10 % of all frames, but at least `n_clusters`.
    The first chosen frame is the candidate nearest to the mean. Each further frame is the candidate that maximizes the
    mean squared distance between all pairs of chosen frames. This is the candidate farthest from the mean of the frames
    chosen before. If too few of the candidates differ, mdreel doubles their number.

    References
    ----------
    L. Chen, D. R. Roe, M. Kochert, C. Simmerling and R. A. Miranda-Quintana, J. Chem. Theory Comput. 20, 5583 (2024).
    """
    center = mean_point(points, n_threads)
    _, squares, _ = nearest_centers(points, center[None], n_threads)
    order = np.argsort(squares, kind="stable")
    n_dense = max(-(-len(points) * _PERCENT // 100), n_clusters)
    while True:
        dense = order[:n_dense]
        chosen = _far_apart(points[dense], n_clusters, same, n_threads)
        if len(chosen) == n_clusters:
            return dense[chosen].astype(np.int64)
        if n_dense >= len(points):
            raise too_few_shapes(n_clusters, len(chosen))
        n_dense *= 2


def _far_apart(
    points: NDArray[np.float32] | NDArray[np.float64], n_clusters: int, same: float, n_threads: int
) -> list[int]:
    """Return points that are far from each other, the first one included, or fewer if others are the same."""
    chosen = [0]
    is_taken = np.zeros(len(points), bool)
    while True:
        latest = points[chosen[-1]].astype(np.float64)
        is_taken |= nearest_centers(points, latest[None], n_threads)[1] <= same
        if len(chosen) == n_clusters or is_taken.all():
            return chosen
        mean = points[chosen].mean(axis=0, dtype=np.float64)
        _, squares, _ = nearest_centers(points, mean[None], n_threads)
        chosen.append(int(np.where(is_taken, -1, squares).argmax()))


def too_few_shapes(n_clusters: int, n_found: int) -> MismatchError:
    """Return the error for frames that are the same."""
    return MismatchError(
        f"n_clusters is {n_clusters:,}, but only {n_found:,} of the frames differ: "
        "choose fewer clusters, or analyse more frames"
    )
