"""Clusters of frames by the k-medoids method."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import frame_distances, medoids
from mdreel.analysis.choices import InitialCenters
from mdreel.analysis.clustering.frame_clusters import FrameClusters, Labels, numbered_by_size
from mdreel.analysis.clustering.initial_frames import nani_frames, plus_plus_frames, too_few_shapes
from mdreel.analysis.clustering.medoid_swaps import DistancesFrom, Medoids, MedoidsOf
from mdreel.analysis.clustering.start import checked_start
from mdreel.analysis.clustering.superposed_frames import SAME_SHAPE, superposed_on_mean
from mdreel.foundation.arguments import checked_arguments
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from MDAnalysis import AtomGroup, Universe

_SAME = 1e-6
"""RMSD in Å up to which frames count as the same, which is more than rounding errors."""


class KMedoidsClustering(FrameClusters):
    r"""Cluster frames by their RMSD after superposition, using the k-medoids method.

    Parameters
    ----------
    universe, select, weights, trajectory, verbose
        The system, the atoms, their weights and the trajectory. See `GromosClustering`.
    n_clusters : int
        Number of clusters.
    init : {"k-means++", "nani"}
        How to choose the initial medoids: random frames that are far from each other (``"k-means++"``), or the frames
        that k-means NANI selects without any randomness (``"nani"``).
    n_starts : int
        Number of starts with different initial medoids, at most 1,000. The result is that of the start with the
        smallest cost.
    seed : int
        Seed for the random numbers.
    swap : bool
        Whether to exchange medoids with other frames until no exchange decreases the cost. If you set this to False,
        you will save time, but the cost is often higher.

    Attributes
    ----------
    results.labels, results.sizes, results.transitions : ndarray, int64
        Cluster of each frame, number of frames in each cluster, and transition counts. See `GromosClustering`.
    results.centers : ndarray, shape (n_clusters,), int64
        Number of the frame that represents each cluster (medoid).
    results.positions : ndarray, shape (n_clusters, n_atoms, 3), float32
        Positions of the atoms in the medoids, as stored in the trajectory, in Å.
    results.cost : float
        Sum of the RMSDs of all frames from the medoids of their clusters, in Å.
    results.initial_frames : ndarray, shape (n_clusters,), int64
        Numbers of the frames that were the initial medoids of the best start.

    Raises
    ------
    MismatchError
        When `n_clusters`, `n_starts` or `seed` is too small or too large, you request several starts for
        ``init="nani"``, or your weights do not match the atoms. In `run`, when there are fewer different frames than
        clusters, or a coordinate is not finite.
    SelectionError, UnsupportedError
        When the atoms cannot be used. See `GromosClustering`.

    Notes
    -----
    K-medoids searches for the frames :math:`m_1, ..., m_k` with the smallest cost

    .. math:: \sum_i \min_k d(i, m_k) ,

    where d is the RMSD of two frames after optimal superposition. RMSDs of up to 0.000001 Å count as 0. The search has
    two steps. In the first step, each frame is assigned to the nearest medoid. In each cluster, the frame with the
    smallest sum of RMSDs from the others then becomes the new medoid. This is repeated until the cost no longer
    decreases (H.-S. Park and C.-H. Jun, Expert Syst. Appl. 36, 3336, 2009). The second step tries out all other frames
    as medoids, one frame at a time. If a frame can decrease the cost, it replaces the medoid for which the cost
    decreases most. The search ends when no replacement decreases the cost by more than a fraction of 10⁻⁹ (E. Schubert
    and P. J. Rousseeuw, Inf. Syst. 101, 101804, 2021). Note that the result is a local minimum.

    The initial medoids are chosen as described for `KMeansClustering`. With ``init="k-means++"``, the distance is the
    RMSD.

    First, the trajectory is read in a single pass. Threads on the local machine (one for each local worker of the run)
    then compare the frames. The results are bitwise identical for every executor and any number of workers.

    The matrix of all RMSDs is never stored. For n frames in k clusters of similar size, each iteration of the first
    step computes about n² / (2 k) RMSDs. In the second step, each pass over the frames computes n² RMSDs, and passes
    are repeated until no replacement is found. You will need 8 bytes of memory per frame for each cluster, and for each
    of the 32 frames that are tried out together. The positions need 12 bytes per atom and frame (twice as much while
    frames are compared).

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> clusters = mdreel.analysis.KMedoidsClustering(u, "name CA", n_clusters=3).run()
    >>> len(clusters.results.centers)
    3
    """

    _units = MappingProxyType({**FrameClusters._units, "cost": "Å"})  # noqa: SLF001 (of the base class)
    _result_dimensions = MappingProxyType({**FrameClusters._result_dimensions, "initial_frames": ("cluster",)})  # noqa: SLF001

    @checked_arguments
    def __init__(
        self,
        universe: Universe | AtomGroup,
        select: str | None = "all",
        *,
        n_clusters: int,
        init: InitialCenters = "k-means++",
        n_starts: int | None = None,
        seed: int = 0,
        swap: bool = True,
        weights: Literal["mass"] | ArrayLike | None = None,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(universe, select, weights, trajectory, verbose)
        self._start = checked_start(n_clusters, init, n_starts, seed, 1)
        self.swap = swap

    def result_bytes(self, n_frames: int, n_columns: int) -> int:
        """Return the minimum memory for the results of a run: the positions, and the distances from the medoids."""
        return super().result_bytes(n_frames, n_columns) + 8 * self._start.n_clusters * n_frames

    def _assign(self, frames: NDArray[np.float32], n_threads: int) -> Labels:
        """Return the clusters of frames."""
        n_atoms, weights, n_clusters = len(self.atoms), self._weights, self._start.n_clusters
        self._start.check_frames(len(frames))

        def distances_from(given: NDArray[np.int64]) -> NDArray[np.float64]:
            found = frame_distances(frames, n_atoms, weights, given.astype(np.uint32), n_threads)
            found[found <= _SAME] = 0
            return found

        def medoids_of(labels: NDArray[np.int64], n_labels: int) -> NDArray[np.int64]:
            return medoids(frames, n_atoms, weights, labels.astype(np.uint32), n_labels, n_threads).astype(np.int64)

        best, cost, first = None, np.inf, np.empty(0, np.int64)
        for chosen in self._starts(frames, distances_from, n_threads):
            found = self._found(chosen, distances_from, medoids_of)
            if best is None or found.total < cost:
                best, cost, first = found, found.total, chosen
        assert best is not None
        n_found = len(np.unique(best.labels[best.frames]))
        if n_found < n_clusters:
            raise too_few_shapes(n_clusters, n_found)
        labels = numbered_by_size(best.labels)
        self.results.cost = cost
        self.results.initial_frames = self.frames[first]
        centers = np.empty(n_clusters, np.uint32)
        centers[labels[best.frames]] = best.frames
        return labels, centers

    def _found(self, chosen: NDArray[np.int64], distances_from: DistancesFrom, medoids_of: MedoidsOf) -> Medoids:
        """Return the medoids that the search finds from the initial medoids."""
        found = Medoids(chosen, distances_from)
        found.alternate(medoids_of)
        if self.swap:
            found.swap()
        return found

    def _starts(
        self, frames: NDArray[np.float32], distances_from: DistancesFrom, n_threads: int
    ) -> Iterator[NDArray[np.int64]]:
        """Yield the first medoids of each start."""
        start = self._start
        if start.init == "nani":
            points = superposed_on_mean(frames, len(self.atoms), self._weights, n_threads)
            yield nani_frames(points, start.n_clusters, SAME_SHAPE, n_threads)
            return

        def squares_from(frame: int) -> NDArray[np.float64]:
            found: NDArray[np.float64] = distances_from(np.array([frame]))[0] ** 2
            return found

        for number in range(start.n_starts):
            yield plus_plus_frames(len(frames), start.n_clusters, (start.seed, number), squares_from)
