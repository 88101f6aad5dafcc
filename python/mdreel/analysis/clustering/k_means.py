"""Clusters of frames by the k-means method."""

from __future__ import annotations

from operator import index
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import nearest_centers
from mdreel.analysis.choices import InitialCenters
from mdreel.analysis.clustering.frame_clusters import FrameClusters, Labels, numbered_by_size
from mdreel.analysis.clustering.initial_frames import nani_frames, plus_plus_frames, too_few_shapes
from mdreel.analysis.clustering.lloyd import lloyd
from mdreel.analysis.clustering.start import checked_start
from mdreel.analysis.clustering.superposed_frames import SAME_SHAPE, superposed_on_frame, superposed_on_mean
from mdreel.errors import MismatchError
from mdreel.foundation.arguments import checked_arguments
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from MDAnalysis import AtomGroup, Universe

_STARTS = 10
"""Default number of starts with random first centres."""


class KMeansClustering(FrameClusters):
    r"""Cluster frames by their superposed positions, or by given features, using the k-means method.

    Parameters
    ----------
    universe, select, weights, trajectory, verbose
        The system, the atoms, their weights and the trajectory. See `GromosClustering`.
    n_clusters : int
        Number of clusters.
    features : array_like, shape (n_frames, n_features), float64, optional
        Array of numbers that describe the analysed frames (one row per frame), such as projections on principal
        components. By default, frames are compared using the positions of the atoms after superposition.
    init : {"k-means++", "nani"}
        How to choose the initial centres: random frames that are far from each other (``"k-means++"``), or the frames
        that k-means NANI selects without any randomness (``"nani"``).
    n_starts : int, optional
        Number of starts with different initial centres, at most 1,000. The result is that of the start with the
        smallest inertia. The default is 10, or 1 for ``init="nani"``.
    seed : int
        Seed for the random numbers.
    max_iterations : int
        Maximum number of iterations per start.
    ref_frame : int, optional
        Number of the analysed frame on which all frames are superposed. By default, their mean structure is used.

    Attributes
    ----------
    results.labels, results.sizes, results.transitions : ndarray, int64
        Cluster of each frame, number of frames in each cluster, and transition counts. See `GromosClustering`.
    results.centers : ndarray, shape (n_clusters,), int64
        Number of the frame that represents each cluster. This is the frame nearest to the mean of the cluster.
    results.positions : ndarray, shape (n_clusters, n_atoms, 3), float32
        Positions of the atoms in these frames, as stored in the trajectory, in Å.
    results.inertia : float
        Squared distance from the mean of the cluster, summed over all frames. If you compare positions, the squared
        distance is the weighted mean square deviation of the atoms in Å².
    results.initial_frames : ndarray, shape (n_clusters,), int64
        Numbers of the frames that were the initial centres of the best start.
    results.n_iterations : int
        Number of iterations of the best start.

    Raises
    ------
    MismatchError
        When `n_clusters`, `n_starts`, `seed` or `max_iterations` is too small or too large, or you request several
        starts for ``init="nani"``. When your `features` are not finite numbers, or your weights do not match the atoms.
        In `run`, when there are fewer different frames than clusters, the frames do not match `features` or
        `ref_frame`, or a coordinate is not finite.
    SelectionError, UnsupportedError
        When the atoms cannot be used. See `GromosClustering`.

    Notes
    -----
    K-means searches for the labels :math:`c_i` and the centres :math:`m_k` with the smallest inertia

    .. math:: \sum_i \lvert x_i - m_{c_i} \rvert^2 .

    Each frame is assigned to the nearest centre, and each centre is then moved to the mean of its frames. These two
    steps are repeated until no label changes (S. P. Lloyd, IEEE Trans. Inf. Theory 28, 129, 1982). Note that the result
    is a local minimum. If a centre loses all of its frames, it is moved to the frame that is farthest from its own
    centre. If you start `sklearn.cluster.KMeans` from the same initial centres with ``tol=0``, you will get the same
    clusters (numbered in a different order).

    If you compare positions, :math:`x_i` contains the coordinates of frame i after superposition on a single structure.
    The coordinates of each atom are multiplied by the square root of its weight, where the weights are normalized to a
    sum of 1. To find the mean structure, the superposition is repeated until this structure moves by less than 0.0001
    Å. Because all frames are superposed on the same structure, the distance between two frames can be larger (but never
    smaller) than their minimum RMSD. For flexible molecules, you should therefore use `KMedoidsClustering`, which is
    more precise.

    With ``init="k-means++"``, each further centre is a frame chosen at random. The probability of a frame is
    proportional to its squared distance from the nearest centre (D. Arthur and S. Vassilvitskii, Proc. SODA 2007,
    1027). With ``init="nani"``, the centres are chosen from the 10 % of the frames that are nearest to the mean. Each
    centre is as far as possible from the previous ones (L. Chen et al., J. Chem. Theory Comput. 20, 5583, 2024).

    First, the trajectory is read in a single pass. Threads on the local machine (one for each local worker of the run)
    then compare the frames to the centres in double precision. The results are bitwise identical for every executor and
    any number of workers. The run time of an iteration grows with the number of frames, the number of clusters, and the
    number of values per frame. You will need 12 bytes of memory per atom and frame for the positions (twice as much
    while they are compared).

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> clusters = mdreel.analysis.KMeansClustering(u, "name CA", n_clusters=3).run()
    >>> len(clusters.results.sizes)
    3
    >>> clusters.is_converged
    True
    """

    _result_dimensions = MappingProxyType({**FrameClusters._result_dimensions, "initial_frames": ("cluster",)})  # noqa: SLF001 (of the base class)

    @checked_arguments
    def __init__(
        self,
        universe: Universe | AtomGroup,
        select: str | None = "all",
        *,
        n_clusters: int,
        features: ArrayLike | None = None,
        init: InitialCenters = "k-means++",
        n_starts: int | None = None,
        seed: int = 0,
        max_iterations: int = 300,
        ref_frame: int | None = None,
        weights: Literal["mass"] | ArrayLike | None = None,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(universe, select, weights, trajectory, verbose)
        self._start = checked_start(n_clusters, init, n_starts, seed, _STARTS)
        self.max_iterations = index(max_iterations)
        if self.max_iterations < 1:
            raise MismatchError(f"max_iterations must be 1 or more, not {self.max_iterations}")
        self._features = None if features is None else _checked_features(features)
        if features is not None and (ref_frame is not None or weights is not None):
            raise MismatchError("ref_frame and weights are for positions: leave them out, or leave out features")
        self.ref_frame = None if ref_frame is None else index(ref_frame)
        self._is_converged = False

    @property
    def is_converged(self) -> bool:
        """Whether the best start has converged, such that its last iteration did not change any labels."""
        self._done()
        return self._is_converged

    def _assign(self, frames: NDArray[np.float32], n_threads: int) -> Labels:
        """Return the clusters of frames."""
        n_clusters = self._start.n_clusters
        self._start.check_frames(len(frames))
        points = self._points(frames, n_threads)
        best, first = None, np.empty(0, np.int64)
        for chosen in self._starts(points, n_threads):
            centers = points[chosen].astype(np.float64)
            found = lloyd(points, centers, self.max_iterations, n_threads)
            if best is None or found.inertia < best.inertia:
                best, first = found, chosen
        assert best is not None
        n_found = len(np.unique(best.labels))
        if n_found < n_clusters:
            raise too_few_shapes(n_clusters, n_found)
        labels = numbered_by_size(best.labels)
        self.results.inertia = best.inertia
        self.results.initial_frames = self.frames[first]
        self.results.n_iterations = best.n_iterations
        self._is_converged = best.is_converged
        order = np.lexsort([best.squares, labels])  # stable: the first of several frames
        return labels, order[np.searchsorted(labels[order], np.arange(n_clusters))].astype(np.uint32)

    def _points(self, frames: NDArray[np.float32], n_threads: int) -> NDArray[np.float32] | NDArray[np.float64]:
        """Return the frames as points."""
        if self._features is not None:
            if len(self._features) != len(frames):
                raise MismatchError(
                    f"features has {len(self._features):,} rows, but {len(frames):,} frames are analysed: "
                    "give a row for each of these frames"
                )
            return self._features
        n_atoms = len(self.atoms)
        if self.ref_frame is None:
            return superposed_on_mean(frames, n_atoms, self._weights, n_threads)
        places = np.flatnonzero(self.frames == self.ref_frame)
        if not len(places):
            raise MismatchError(
                f"ref_frame is {self.ref_frame}, which is not among the analysed frames: analyse it too"
            )
        return superposed_on_frame(frames, n_atoms, self._weights, int(places[0]), n_threads)

    def _starts(self, points: NDArray[np.float32] | NDArray[np.float64], n_threads: int) -> Iterator[NDArray[np.int64]]:
        """Yield the frames in the first centres of each start."""
        start, same = self._start, SAME_SHAPE if self._features is None else 0.0
        if start.init == "nani":
            yield nani_frames(points, start.n_clusters, same, n_threads)
            return

        def squares_from(frame: int) -> NDArray[np.float64]:
            _, squares, _ = nearest_centers(points, points[frame].astype(np.float64)[None], n_threads)
            return np.where(squares > same, squares, 0)

        for number in range(start.n_starts):
            yield plus_plus_frames(len(points), start.n_clusters, (start.seed, number), squares_from)


def _checked_features(features: ArrayLike) -> NDArray[np.float64]:
    """Return finite numbers that describe frames."""
    try:
        found = np.ascontiguousarray(features, np.float64)
    except (TypeError, ValueError) as error:
        raise MismatchError(f"features must be an array of numbers: {error}") from error
    if found.ndim != 2 or not found.shape[1]:
        raise MismatchError(f"features must have the shape (n_frames, n_features), not {found.shape}")
    if not np.isfinite(found).all():
        row, column = np.argwhere(~np.isfinite(found))[0].tolist()
        raise MismatchError(f"features must be finite, but row {row}, column {column} is {found[row, column]}")
    return found
