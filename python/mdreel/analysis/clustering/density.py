"""Clusters of frames in regions of high density."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import density_clusters, medoids
from mdreel.analysis.clustering.cutoff import MOST_PAIRS, checked_cutoff
from mdreel.analysis.clustering.frame_clusters import NOISE, FrameClusters, Labels, numbered_by_size
from mdreel.errors import MismatchError
from mdreel.foundation.arguments import checked_arguments
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

_NOISE_OF_CORE = np.uint32(2**32 - 1)


class DensityClustering(FrameClusters):
    """Cluster frames by their RMSD after superposition, using the DBSCAN method of Ester et al.

    Parameters
    ----------
    universe, select, weights, trajectory, verbose
        The system, the atoms, their weights and the trajectory. See `GromosClustering`.
    cutoff : float
        Largest RMSD of two neighbours in Å.
    min_frames : int
        Minimum number of frames within the cutoff of a core frame, including the core frame itself.

    Attributes
    ----------
    results.labels : ndarray, shape (n_frames,), int64
        Cluster of each frame, or -1 for frames that belong to no cluster (noise). Clusters are numbered from 0 in the
        order of decreasing size.
    results.sizes, results.transitions : ndarray, int64
        Number of frames in each cluster, and transition counts. See `GromosClustering`. Transitions to and from noise
        (-1) are included.
    results.centers : ndarray, shape (n_clusters,), int64
        Number of the frame that represents each cluster. This is the frame with the smallest mean RMSD from the others
        (medoid).
    results.positions : ndarray, shape (n_clusters, n_atoms, 3), float32
        Positions of the atoms in these frames, as stored in the trajectory, in Å.

    Raises
    ------
    MismatchError
        When the cutoff is negative or not finite, `min_frames` is less than 1, or your weights do not match the atoms.
        In `run`, when a coordinate is not finite.
    SelectionError, UnsupportedError
        When the atoms cannot be used. See `GromosClustering`.

    Warns
    -----
    UnitWarning
        If the cutoff was probably given in nm.

    Notes
    -----
    Two frames are considered neighbours if their minimum RMSD is at most `cutoff`. Core frames that are neighbours
    belong to the same cluster, which also includes all other neighbours of these core frames. If a frame could belong
    to several clusters, it is assigned to the one whose first core frame comes first in the trajectory. All remaining
    frames are noise (M. Ester et al., Proc. KDD-96, 226, 1996). You will get the same clusters (numbered in a different
    order) if you pass the matrix from `mdreel.DistanceMatrix` to `sklearn.cluster.DBSCAN` and set
    ``min_samples=min_frames``.

    First, the trajectory is read in a single pass. Threads on the local machine (one for each local worker of the run)
    then search for neighbours, as in `GromosClustering`. They also compare the frames within each cluster to find its
    centre. The results are bitwise identical for every executor and any number of workers.

    You will need as much memory as for `GromosClustering`, but no memory for the pairs of neighbours.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> clusters = mdreel.analysis.DensityClustering(u, "name CA", cutoff=0.7, min_frames=10).run()
    >>> clusters.results.sizes
    array([31, 20, 18])
    >>> clusters.n_noise
    29
    """

    @checked_arguments
    def __init__(
        self,
        universe: Universe | AtomGroup,
        select: str | None = "all",
        cutoff: float = 1.0,
        min_frames: int = 5,
        weights: Literal["mass"] | ArrayLike | None = None,
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(universe, select, weights, trajectory, verbose)
        self.cutoff = checked_cutoff(cutoff)
        self.min_frames = index(min_frames)
        if self.min_frames < 1:
            raise MismatchError(f"min_frames must be 1 or more, not {self.min_frames}")

    @property
    def n_noise(self) -> int:
        """Number of frames that belong to no cluster."""
        self._done()
        return int((self.results.labels == NOISE).sum())

    def _assign(self, frames: NDArray[np.float32], n_threads: int) -> Labels:
        """Return the clusters of frames."""
        n_atoms, fewest = len(self.atoms), min(self.min_frames, int(_NOISE_OF_CORE))
        found = density_clusters(frames, n_atoms, self._weights, self.cutoff, fewest, MOST_PAIRS, n_threads)
        labels = numbered_by_size(np.where(found == _NOISE_OF_CORE, NOISE, found.astype(np.int64)))
        n_clusters = int(labels.max()) + 1
        places = np.where(labels == NOISE, _NOISE_OF_CORE, labels).astype(np.uint32)
        return labels, medoids(frames, n_atoms, self._weights, places, n_clusters, n_threads)
