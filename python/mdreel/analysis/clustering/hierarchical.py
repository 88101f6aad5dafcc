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
from mdreel.analysis.topology.weights import weights_of
from mdreel.errors import MismatchError
from mdreel.foundation.arguments import checked_arguments
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import atoms_of

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe


class HierarchicalClustering(FrameClusters):
    """Cluster frames by their RMSD after superposition with single, complete or average linkage.

    Parameters
    ----------
    universe : MDAnalysis.Universe or AtomGroup
        The system.
    select : str, optional
        The atoms, in MDAnalysis's selection language. If None, all atoms of `universe` are used in the given order,
        including repeated atoms.
    method : {"average", "complete", "single"}
        Distance of two clusters: the mean, the largest or the smallest RMSD between their frames.
    cutoff : float, optional
        Largest distance in Å at which two clusters merge.
    n_clusters : int, optional
        Number of clusters, instead of `cutoff`. If several clusters merge at the same distance, there may be fewer.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        Weight of each atom in the superposition and in the RMSD.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of that of the Universe. In this case, the Universe only needs a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.labels : ndarray, shape (n_frames,), int64
        Cluster of each frame. Clusters are numbered from 0, and their sizes never increase with their number.
    results.sizes : ndarray, shape (n_clusters,), int64
        Number of frames in each cluster.
    results.centers : ndarray, shape (n_clusters,), int64
        Number of the frame that represents each cluster: the one with the smallest mean RMSD from the others (medoid).
    results.positions : ndarray, shape (n_clusters, n_atoms, 3), float32
        Positions of the atoms in the centre of each cluster, as stored, in Å.
    results.transitions : ndarray, shape (n_transitions, 3), int64
        Number of steps from one analysed frame to the next for each pair of clusters that occurs: the cluster of the
        first frame, that of the second, and the number. Steps within a cluster are included.
    results.linkage : ndarray, shape (n_frames - 1, 4), float64
        The tree, as in `scipy.cluster.hierarchy.linkage`: two clusters that merge, their distance in Å, and the number
        of frames in both. The first n_frames clusters are the analysed frames, and each merge adds one.

    Raises
    ------
    SelectionError
        If there are no atoms, or the selection is not valid.
    MismatchError
        If not exactly one of `cutoff` and `n_clusters` is given, if one of them is not valid, or if the weights do not
        match the atoms. In `run`, if there are fewer frames than clusters, if the distances do not fit into memory, or
        if a coordinate is not finite.
    UnsupportedError
        If `universe` is an UpdatingAtomGroup.

    Warns
    -----
    UnitWarning
        If the cutoff was probably given in nm.

    Notes
    -----
    The two nearest clusters merge until all frames are in one cluster. The tree is computed with the nearest-neighbour
    chain (F. Murtagh, Comput. J. 26, 354, 1983) from the RMSDs of `mdreel.DistanceMatrix`, in place. SciPy cuts it
    (`scipy.cluster.hierarchy.fcluster`).

    First, the atoms of all frames are read in a single pass. Then, threads on the local machine compare all pairs of
    frames, and once more those within each cluster to find its centre. There are as many threads as local workers in
    the run. The tree is computed by a single thread. The results are bitwise identical for every executor and any
    number of workers.

    The distances need 4 bytes of memory for the square of the number of frames (0.4 GB for 10,000 frames), half as much
    as the matrix. Positions need 12 bytes per atom and frame, and twice as much while frames are compared.

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
        super().__init__(atoms_of(universe, select, "universe"), trajectory, verbose=verbose)
        if method not in get_args(LinkageMethod):
            raise MismatchError(f"method must be 'single', 'complete' or 'average', not {method!r}")
        if (cutoff is None) == (n_clusters is None):
            raise MismatchError("give either cutoff, in Å, or n_clusters")
        self.method: LinkageMethod = method
        self.cutoff = None if cutoff is None else checked_cutoff(cutoff)
        self._n_wanted = None if n_clusters is None else index(n_clusters)
        if self._n_wanted is not None and self._n_wanted < 1:
            raise MismatchError(f"n_clusters must be 1 or more, not {self._n_wanted}")
        self._weights = self._selection.add_up(weights_of(self._atomgroup, weights))

    def result_bytes(self, n_frames: int, n_columns: int) -> int:
        """Return the least memory of the results of a run: positions of all frames, and the distances of all pairs."""
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
