"""Results that every method of clustering frames has in common."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, FrameSet, Source, kept_positions
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.base.frame_columns import frame_columns
from mdreel.analysis.clustering.structures import check_structures, write_structures
from mdreel.analysis.comparison_threads import comparison_threads
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.weights import weights_of
from mdreel.errors import MismatchError, SelectionError, UnsupportedError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.results.column import Column
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, atoms_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, Universe

NOISE = -1
"""Label of frames that belong to no cluster."""

Labels = tuple[NDArray[np.int64], NDArray[np.uint32]]
"""Label of each frame, and place of the frame in the centre of each cluster among the analysed frames."""


class FrameClusters(Analysis):
    """Clusters of frames with similar shapes; subclasses define the method.

    Parameters
    ----------
    universe, select, weights, trajectory, verbose
        See `GromosClustering`.
    """

    _units = MappingProxyType({"positions": "Å"})
    _result_dimensions = MappingProxyType(
        {
            "labels": ("frame",),
            "sizes": ("cluster",),
            "centers": ("cluster",),
            "transitions": ("transition", "column"),
            "positions": ("cluster", "atom", "axis"),
        }
    )

    def __init__(
        self,
        universe: Universe | AtomGroup,
        select: str | None,
        weights: Literal["mass"] | ArrayLike | None,
        trajectory: Trajectory | None,
        verbose: bool,
    ) -> None:
        super().__init__(atoms_of(universe, select, "universe"), trajectory, verbose=verbose)
        self._weights = self._selection.add_up(weights_of(self._atomgroup, weights))

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        self._done()
        return len(self.results.sizes)

    @property
    def boundaries(self) -> Boundaries:
        """Requirements of the analysis for molecules that cross the periodic boundary."""
        return Boundaries("frames are compared without periodic images", whole=True)

    def result_bytes(self, n_frames: int, n_columns: int) -> int:
        """Return the minimum memory for the results of a run: two copies of the positions of all frames."""
        return super().result_bytes(n_frames, n_columns) + (8 + 12 * len(self.atoms)) * n_frames

    def computation(self, source: Source) -> Computation:
        """Return the computation that keeps the positions of each frame."""
        return kept_positions(len(self.atoms))

    def conclude(self, tally: Tally) -> None:
        """Find the clusters of all frames."""
        # The core packs two float32 into each float64 of a row.
        frames = tally.values.view(np.float32)
        labels, centers = self._assign(frames, comparison_threads(self._done()))
        n_atoms, found = len(self.atoms), self.results
        found.labels = labels
        found.sizes = np.bincount(labels[labels != NOISE], minlength=len(centers)).astype(np.int64)
        found.centers = self.frames[centers]
        found.transitions = transitions_of(found.labels, len(centers))
        positions = frames[centers, : 3 * n_atoms].reshape(len(centers), n_atoms, 3)
        found.positions = positions if self._selection.is_in_order else positions[:, self._selection.places]

    def _assign(self, frames: NDArray[np.float32], n_threads: int) -> Labels:
        """Return the clusters of frames. Each row of `frames` contains x, y and z of each atom in turn, in Å."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _assign()")

    def columns(self) -> Sequence[Column]:
        """Return columns of frame, time and the cluster of each frame."""
        return [*frame_columns(self.frames, self.times, {}, {}), Column("cluster", "", self.results.labels)]

    def cluster_columns(self) -> Sequence[Column]:
        """Return a row per cluster: its size, its share of all frames, and the frame and time of its centre."""
        self._check_results()
        sizes, centers = self.results.sizes, self.results.centers
        times = dict(zip(self.frames.tolist(), self.times.tolist(), strict=True))
        return [
            Column("cluster", "", np.arange(len(sizes))),
            Column("size", "", sizes),
            Column("population", "", sizes / len(self.results.labels)),
            Column("center_frame", "", centers),
            Column("center_time", "ps", np.array([times[frame] for frame in centers.tolist()])),
        ]

    def transition_columns(self) -> Sequence[Column]:
        """Return a row per pair of clusters of consecutive frames: both clusters and the number of such frames."""
        self._check_results()
        names = ("from_cluster", "to_cluster", "count")
        return [Column(name, "", self.results.transitions[:, i].copy()) for i, name in enumerate(names)]

    @checked_arguments
    def save_structures(
        self,
        path: str | PathLike[str],
        atoms: Atoms | None = None,
        n_clusters: int | None = None,
        force: bool = False,
    ) -> Path:
        """Write the structures in the centres of the clusters, one after the other, the largest cluster first.

        Parameters
        ----------
        path : path
            The file. Its extension selects a format that MDAnalysis can write, such as ``.pdb``, ``.gro`` or ``.xtc``.
        atoms : MDAnalysis.AtomGroup or Universe, optional
            Atoms of the same Universe to write. They are read from the trajectory again, as it is stored. The default
            is the selected atoms with the positions that the run has read.
        n_clusters : int, optional
            Number of clusters, the largest first. The default is all.
        force : bool
            Whether to replace an existing file.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        AttributeError
            If the analysis has not been run yet.
        SelectionError
            If `atoms` are not atoms, or an empty group.
        MismatchError
            If `atoms` are in another Universe, or `n_clusters` is not a number of clusters.
        UnsupportedError
            If MDAnalysis does not support the extension, the format cannot store several structures, or the trajectory
            cannot be read again.
        OSError
            If the file exists and `force` is false, or if it cannot be written.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> clusters = mdreel.analysis.GromosClustering(mda.Universe(PSF, DCD), "name CA", 1.5).run()
        >>> clusters.save_structures("centers.pdb").name
        'centers.pdb'
        """
        self._done()
        if not self.n_clusters:
            raise MismatchError(
                "there are no structures to write, because no cluster was found: raise the cutoff, or lower min_frames"
            )
        n_written = self.n_clusters if n_clusters is None else n_clusters
        if not 1 <= n_written <= self.n_clusters:
            raise MismatchError(f"n_clusters must be 1 to {self.n_clusters} (the clusters found), not {n_written}")
        path = check_structures(Path(path), n_written, force)
        largest = np.argsort(-self.results.sizes, kind="stable")[:n_written]
        if atoms is None:
            return write_structures(self.atomgroup, self.results.positions[largest], path, force)
        written = atoms_of(atoms, name="atoms")
        if written.universe is not self.atomgroup.universe:
            raise MismatchError("atoms are in another Universe: give atoms of the analysed one")
        if not len(written):
            raise SelectionError("atoms is an empty group: select the atoms to write")
        return write_structures(written, self._read_again(written, self.results.centers[largest]), path, force)

    def _read_again(self, atoms: AtomGroup, frames: NDArray[np.int64]) -> Iterator[NDArray[np.float32]]:
        """Yield the positions of atoms in some frames."""
        source = self.open()
        if source.is_growing:
            raise UnsupportedError("the frames of a running simulation cannot be read again: write the selected atoms")
        indices, places = np.unique(atoms.ix, return_inverse=True)
        reader = source.reader(indices.astype(np.uint32))
        for frame in frames.tolist():
            yield reader.read(FrameSet.range(frame, 1, 1)).positions[0][places]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the cluster of each frame over time."""
        from mdreel.results.cluster_plot import clusters_over_time

        return clusters_over_time(self.times, self.results.labels, title, ax)


def numbered_by_size(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return labels that number the clusters by decreasing size, and clusters of equal size by their first frame.

    Parameters
    ----------
    labels : ndarray, shape (n_frames,), int64
        Any labels, and `NOISE`.

    Returns
    -------
    ndarray, shape (n_frames,), int64
        Labels from 0, and `NOISE`.
    """
    found, kept = labels.copy(), labels != NOISE
    _, first, places, sizes = np.unique(labels[kept], return_index=True, return_inverse=True, return_counts=True)
    numbers = np.empty(len(sizes), np.int64)
    numbers[np.lexsort([first, -sizes])] = np.arange(len(sizes))
    found[kept] = numbers[places]
    return found


def transitions_of(labels: NDArray[np.int64], n_clusters: int) -> NDArray[np.int64]:
    """Return clusters of consecutive frames and how often each pair occurs, shape (n_transitions, 3), ascending."""
    n_labels, places = n_clusters + 1, labels - NOISE
    pairs, counts = np.unique(places[:-1] * n_labels + places[1:], return_counts=True)
    return np.stack([pairs // n_labels + NOISE, pairs % n_labels + NOISE, counts], axis=1).astype(np.int64)
