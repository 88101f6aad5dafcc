"""Clusters of frames that are found while the frames arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from mdreel._core import Computation, Source, online_clusters
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.clustering.cutoff import checked_cutoff
from mdreel.analysis.clustering.frame_clusters import FrameClusters, transitions_of
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe


class OnlineClustering(FrameClusters):
    """Cluster frames by their RMSD after superposition, in a single pass, for example while a simulation is running.

    Parameters
    ----------
    universe, select, weights, trajectory, verbose
        The system, the atoms, their weights and the trajectory, which may be a `Channel`. See `GromosClustering`.
    cutoff : float
        Largest RMSD of a frame from the leader of its cluster in Å.

    Attributes
    ----------
    results.labels : ndarray, shape (n_frames,), int64
        Cluster of each frame. As clusters are numbered from 0 in the order in which they were found, later frames will
        never change the labels of earlier ones.
    results.sizes, results.transitions : ndarray, int64
        Number of frames in each cluster, and transition counts. See `GromosClustering`.
    results.centers : ndarray, shape (n_clusters,), int64
        Number of the frame that leads each cluster. This is always the first frame of the cluster.
    results.positions : ndarray, shape (n_clusters, n_atoms, 3), float32
        Positions of the atoms in the leaders, as stored in the trajectory, in Å.

    Raises
    ------
    MismatchError
        When the cutoff is negative or not finite, or your weights do not match the atoms. In `run`, when a coordinate
        is not finite.
    SelectionError, UnsupportedError
        When the atoms cannot be used. See `GromosClustering`.

    Warns
    -----
    UnitWarning
        If the cutoff was probably given in nm.

    Notes
    -----
    This is the leader algorithm (J. A. Hartigan, Clustering Algorithms, Wiley, 1975). The first frame becomes the
    leader of the first cluster. Each further frame is added to the cluster of the nearest leader if its minimum RMSD
    from this leader is at most `cutoff`. (If several leaders are equally near, the first of them is used.) If no leader
    is near enough, the frame becomes the leader of a new cluster. As a result, leaders are never within `cutoff` of
    each other, but each frame is within `cutoff` of the leader of its cluster.

    Note that the result depends on the order of the frames, but not on the executor or the number of workers. Workers
    compare their frames to the leaders that are known at that time. The calling thread then compares these frames to
    the leaders that have been found in the meantime, and assigns the frames to clusters in order. If the workers are
    separate processes, all comparisons are made in the calling thread.

    Only the positions of the leaders and of the frames that are being processed are kept in memory. You will need about
    70 bytes per atom of each leader, and 28 bytes per frame. If you want to follow the results while the simulation is
    running, you can use `mdreel.live.stream_results` or ``mdreel cluster-frames --method online`` on a channel.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> from mdreel.analysis import OnlineClustering
    >>> clusters = OnlineClustering(mda.Universe(PSF, DCD), "name CA", cutoff=2).run()
    >>> clusters.n_clusters
    5
    """

    @checked_arguments
    def __init__(
        self,
        universe: Universe | AtomGroup,
        select: str | None = "all",
        cutoff: float = 1.0,
        weights: Literal["mass"] | ArrayLike | None = None,
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(universe, select, weights, trajectory, verbose)
        self.cutoff = checked_cutoff(cutoff)

    def result_bytes(self, n_frames: int, n_columns: int) -> int:
        """Return the minimum memory for the results of a run: the label of each frame."""
        return Analysis.result_bytes(self, n_frames, n_columns) + 12 * n_frames

    def computation(self, source: Source) -> Computation:
        """Return the computation that assigns the frames."""
        return online_clusters(len(self.atoms), self._weights, self.cutoff)

    def conclude(self, tally: Tally) -> None:
        """Store the clusters of the frames."""
        labels, leaders, positions = tally.own
        n_clusters, found = len(leaders), self.results
        found.labels = labels.astype(np.int64)
        found.sizes = np.bincount(found.labels, minlength=n_clusters).astype(np.int64)
        found.centers = self.frames[leaders.astype(np.int64)]
        found.transitions = transitions_of(found.labels, n_clusters)
        positions = positions.reshape(n_clusters, len(self.atoms), 3)
        found.positions = positions if self._selection.is_in_order else positions[:, self._selection.places]
