"""Clusters of frames by the GROMOS method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import gromos_clusters
from mdreel.analysis.clustering.cutoff import MOST_PAIRS, checked_cutoff
from mdreel.analysis.clustering.frame_clusters import FrameClusters, Labels
from mdreel.foundation.arguments import checked_arguments
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe


class GromosClustering(FrameClusters):
    """Cluster frames by their RMSD after superposition, using the GROMOS method of Daura et al.

    Parameters
    ----------
    universe : MDAnalysis.Universe or AtomGroup
        The system.
    select : str, optional
        The atoms, in MDAnalysis's selection language. Use None for all atoms of `universe` in the given order,
        including repeated atoms.
    cutoff : float
        Largest RMSD of two neighbours in Å. The default is that of GROMACS.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        Weight of each atom in the superposition and in the RMSD.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of that of the Universe. In this case, the Universe only needs a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.labels : ndarray, shape (n_frames,), int64
        Cluster of each frame. Clusters are numbered from 0 in the order of decreasing size.
    results.sizes : ndarray, shape (n_clusters,), int64
        Number of frames in each cluster.
    results.centers : ndarray, shape (n_clusters,), int64
        Number of the frame in the centre of each cluster, which represents the cluster.
    results.positions : ndarray, shape (n_clusters, n_atoms, 3), float32
        Positions of the atoms in these frames, as stored in the trajectory, in Å.
    results.transitions : ndarray, shape (n_transitions, 3), int64
        Transition counts. Each row contains the cluster of an analysed frame, the cluster of the next analysed frame,
        and the number of times that this pair occurs. Pairs of frames in the same cluster are included.

    Raises
    ------
    SelectionError
        When your selection is empty or not valid.
    MismatchError
        When the cutoff is negative or not finite, or your weights do not match the atoms. In `run`, when a coordinate
        is not finite.
    UnsupportedError
        When `universe` is an UpdatingAtomGroup.

    Warns
    -----
    UnitWarning
        If the cutoff was probably given in nm.

    Notes
    -----
    Two frames are considered neighbours if their minimum RMSD is at most `cutoff`. The frame with the most neighbours
    becomes the centre of a cluster, which consists of this frame and its neighbours. In case of a tie, the frame that
    comes first is chosen. The frames of the cluster are then removed, and the procedure is repeated until no frame is
    left (X. Daura et al., Angew. Chem. Int. Ed. 38, 236, 1999). If you apply this method to the matrix from
    `mdreel.DistanceMatrix`, you will get exactly the same clusters. Both classes use the later frame of a pair as the
    reference for the RMSD.

    First, the trajectory is read in a single pass. Threads on the local machine (one for each local worker of the run)
    then search for neighbours. For most pairs of frames, it is enough to compute a lower bound of the RMSD, or the RMSD
    in single precision with a margin for all rounding errors. Only the remaining pairs have to be compared in double
    precision. The results are bitwise identical for every executor and any number of workers.

    Memory use does not grow with the number of pairs of frames. You will need 12 bytes per atom and frame for the
    positions (twice as much while frames are compared), and about 300 bytes per frame. Each pair of neighbours needs
    another 8 bytes. If there are more than 33.5 million such pairs (268 MB), they are not stored. In this case, the
    neighbours of a frame are searched for again when the frame is removed, which at most doubles the run time. For
    example, 100,000 frames of 214 atoms need 0.55 GB, and at most 0.27 GB for the pairs of neighbours.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> clusters = mdreel.analysis.GromosClustering(mda.Universe(PSF, DCD), "name CA", cutoff=1.5).run()
    >>> clusters.results.sizes
    array([44, 28, 13, 13])
    >>> clusters.results.centers
    array([68, 26,  1, 41])
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

    def _assign(self, frames: NDArray[np.float32], n_threads: int) -> Labels:
        """Return the clusters of frames."""
        labels, centers = gromos_clusters(frames, len(self.atoms), self._weights, self.cutoff, MOST_PAIRS, n_threads)
        return labels.astype(np.int64), centers
