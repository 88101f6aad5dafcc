"""Hierarchical clusters of frames."""

from __future__ import annotations

from operator import index
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import frame_linkage, medoids
from mdreel.analysis.choices import LinkageMethod
from mdreel.analysis.clustering.cutoff import checked_cutoff
from mdreel.analysis.clustering.frame_clusters import FrameClusters, Labels, numbered_by_size
from mdreel.analysis.clustering.start import check_frames
from mdreel.errors import MismatchError
from mdreel.foundation.arguments import checked_arguments
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe


class HierarchicalClustering(FrameClusters):
    """Cluster frames by their RMSD after superposition, using single, complete or average linkage.

    Parameters
    ----------
    universe, select, weights, trajectory, verbose
        The system, the atoms, their weights and the trajectory. See `GromosClustering`.
    method : {"average", "complete", "single"}
        Definition of the distance between two clusters: the mean, the largest or the smallest RMSD between their
        frames.
    cutoff : float, optional
        Largest distance in Å at which two clusters are merged.
    n_clusters : int, optional
        Number of clusters, which can be used instead of `cutoff`. There may be fewer clusters if several of them merge
        at the same distance.

    Attributes
    ----------
    results.labels, results.sizes, results.transitions : ndarray, int64
        Cluster of each frame, number of frames in each cluster, and transition counts. See `GromosClustering`.
    results.centers : ndarray, shape (n_clusters,), int64
        Number of the frame that represents each cluster. This is the frame with the smallest mean RMSD from the others
        (medoid).
    results.positions : ndarray, shape (n_clusters, n_atoms, 3), float32
        Positions of the atoms in these frames, as stored in the trajectory, in Å.
    results.linkage : ndarray, shape (n_frames - 1, 4), float64
        The tree, in the format of `scipy.cluster.hierarchy.linkage`. Each row contains the numbers of the two clusters
        that are merged, their distance in Å, and the number of frames in the merged cluster. The first n_frames
        clusters are the analysed frames themselves.

    Raises
    ------
    MismatchError
        When you do not pass exactly one of `cutoff` and `n_clusters`, its value is not valid, or your weights do not
        match the atoms. In `run`, when there are fewer frames than clusters, the distances do not fit into memory, or a
        coordinate is not finite.
    SelectionError, UnsupportedError
        When the atoms cannot be used. See `GromosClustering`.

    Warns
    -----
    UnitWarning
        If the cutoff was probably given in nm.

    Notes
    -----
    At first, each frame is a cluster. The two nearest clusters are then merged repeatedly until all frames are in one
    cluster. The resulting tree is computed in place from the same RMSDs as in `mdreel.DistanceMatrix`, using
    nearest-neighbour chains (F. Murtagh, Comput. J. 26, 354, 1983). It is then cut into clusters by SciPy
    (`scipy.cluster.hierarchy.fcluster`).

    First, the trajectory is read in a single pass. Threads on the local machine (one for each local worker of the run)
    then compare all pairs of frames. After a single thread has computed the tree, the frames within each cluster are
    compared again to find its centre. The results are bitwise identical for every executor and any number of workers.

    For n frames, the distances need 4 n² bytes of memory (0.4 GB for 10,000 frames), which is half the size of the
    matrix in `mdreel.DistanceMatrix`. Positions need 12 bytes per atom and frame, and twice as much while frames are
    compared.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> clusters = mdreel.analysis.HierarchicalClustering(u, "name CA", n_clusters=3).run()
    >>> len(clusters.results.sizes)
    3
    >>> clusters.results.linkage.shape
    (97, 4)
    """

    _units = MappingProxyType({**FrameClusters._units, "linkage": ""})  # noqa: SLF001 (of the base class)
    _result_dimensions = MappingProxyType({**FrameClusters._result_dimensions, "linkage": ("merge", "property")})  # noqa: SLF001

    @checked_arguments
    def __init__(
        self,
        universe: Universe | AtomGroup,
        select: str | None = "all",
        method: LinkageMethod = "average",
        cutoff: float | None = None,
        n_clusters: int | None = None,
        weights: Literal["mass"] | ArrayLike | None = None,
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(universe, select, weights, trajectory, verbose)
        if method not in get_args(LinkageMethod):
            raise MismatchError(f"method must be 'single', 'complete' or 'average', not {method!r}")
        if (cutoff is None) == (n_clusters is None):
            raise MismatchError("give either cutoff, in Å, or n_clusters")
        self.method: LinkageMethod = method
        self.cutoff = None if cutoff is None else checked_cutoff(cutoff)
        self._n_wanted = None if n_clusters is None else index(n_clusters)
        if self._n_wanted is not None and self._n_wanted < 1:
            raise MismatchError(f"n_clusters must be 1 or more, not {self._n_wanted}")

    def result_bytes(self, n_frames: int, n_columns: int) -> int:
        """Return the minimum memory for the results of a run: the positions of all frames, and all distances."""
        return super().result_bytes(n_frames, n_columns) + 4 * n_frames**2

    def _assign(self, frames: NDArray[np.float32], n_threads: int) -> Labels:
        """Return the clusters of frames, and keep the tree."""
        n_frames, n_atoms = len(frames), len(self.atoms)
        if self._n_wanted is not None:
            check_frames(self._n_wanted, n_frames)
        tree = frame_linkage(frames, n_atoms, self._weights, self.method, n_threads)
        labels = numbered_by_size(self._cut(tree, n_frames))
        n_clusters = int(labels.max()) + 1
        centers = medoids(frames, n_atoms, self._weights, labels.astype(np.uint32), n_clusters, n_threads)
        self.results.linkage = tree
        return labels, centers

    def _cut(self, tree: NDArray[np.float64], n_frames: int) -> NDArray[np.int64]:
        """Return the cluster of each frame."""
        if n_frames == 1:
            return np.zeros(1, np.int64)
        from scipy.cluster.hierarchy import fcluster

        is_cut = self.cutoff is not None
        found = fcluster(tree, self.cutoff if is_cut else self._n_wanted, "distance" if is_cut else "maxclust")
        return np.asarray(found, np.int64)
