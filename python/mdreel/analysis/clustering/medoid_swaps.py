"""Search for medoids by exchanging them."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

_AT_A_TIME = 32
"""Frames whose distances from all others are computed together, 8 bytes each."""
_LEAST_GAIN = 1e-9
"""Relative decrease of the sum of distances below which it counts as unchanged."""

DistancesFrom = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""Distances of all frames from some of them, shape (n_given, n_frames)."""
MedoidsOf = Callable[[NDArray[np.int64], int], NDArray[np.int64]]
"""Medoid of each cluster, given the label of each frame and the number of clusters."""


class Medoids:
    """Medoids and the distances of all frames from them.

    Parameters
    ----------
    frames : ndarray, shape (n_clusters,), int64
        The first medoids.
    distances_from : callable
        Return the distances of all frames from some of them.
    """

    def __init__(self, frames: NDArray[np.int64], distances_from: DistancesFrom) -> None:
        self._distances_from = distances_from
        self._set(frames, distances_from(frames))

    def _set(self, frames: NDArray[np.int64], distances: NDArray[np.float64]) -> None:
        self.frames = frames
        self._distances = distances
        self.labels: NDArray[np.int64] = distances.argmin(axis=0)
        everywhere = np.arange(distances.shape[1])
        self._nearest: NDArray[np.float64] = distances[self.labels, everywhere]
        self._second = np.full(len(everywhere), np.inf)
        if len(frames) > 1:
            others = distances.copy()
            others[self.labels, everywhere] = np.inf
            self._second = others.min(axis=0)

    @property
    def total(self) -> float:
        """Sum of the distances of all frames from the nearest medoid."""
        return _summed(self._nearest)

    @property
    def distances(self) -> NDArray[np.float64]:
        """Distance of each frame from the nearest medoid, shape (n_frames,), float64."""
        return self._nearest

    def alternate(self, medoids_of: MedoidsOf) -> None:
        """Replace the medoids by those of their clusters until the sum no longer decreases."""
        while True:
            if len(np.unique(self.labels)) < len(self.frames):
                return  # medoids that are the same, of which exchanges may replace one
            frames = medoids_of(self.labels, len(self.frames))
            if np.array_equal(frames, self.frames):
                return
            following = Medoids(frames, self._distances_from)
            if following.total >= self.total * (1 - _LEAST_GAIN):
                return
            self._set(frames, following._distances)

    def swap(self) -> int:
        """Exchange medoids with other frames until no exchange decreases the sum; return the number of exchanges."""
        n_frames, n_swaps, n_tried = len(self.labels), 0, 0
        for frame, distances in self._candidates():
            if n_tried == n_frames:
                break
            n_tried += 1
            changes = self.changes(distances)
            best = int(changes.argmin())
            if changes[best] < -_LEAST_GAIN * self.total:
                frames, kept = self.frames.copy(), self._distances
                frames[best], kept[best] = frame, distances
                self._set(frames, kept)
                n_swaps, n_tried = n_swaps + 1, 1
        return n_swaps

    def changes(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the change of the sum if a frame with these distances replaces each of the medoids.

        The arithmetic is that of E. Schubert and P. J. Rousseeuw, Inf. Syst. 101, 101804 (2021), FasterPAM: one pass
        over the frames for all medoids together.
        """
        closer = np.minimum(distances - self._nearest, 0)
        without = np.minimum(distances, self._second) - self._nearest
        n_clusters = len(self.frames)
        own = np.bincount(self.labels, without - closer, n_clusters).astype(np.float64)
        return own + _summed(closer)

    def _candidates(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield all frames in order, again and again, with their distances from all frames."""
        n_frames = len(self.labels)
        while True:
            for first in range(0, n_frames, _AT_A_TIME):
                given = np.arange(first, min(first + _AT_A_TIME, n_frames))
                yield from zip(given.tolist(), self._distances_from(given), strict=True)


def _summed(values: NDArray[np.float64]) -> float:
    """Return the sum of numbers, added in their order on every processor."""
    return float(np.bincount(np.zeros(len(values), np.int64), values)[0])
