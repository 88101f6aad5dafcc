"""Eigenvalues of distance matrices, which describe the shape and the arrangement of helices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from mdreel._core import Computation, Source, helix_eigenvalues
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.base.frame_columns import wide_columns
from mdreel.analysis.dssp import DSSP
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.group_names import column_names, group_label, split_group_names
from mdreel.errors import MismatchError, SelectionError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.size_check import check_size
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Selection, atoms_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


class HelixEigenvalues(Analysis):
    """Compute the largest eigenvalue of the distance matrix of each segment, or of each pair of segments.

    Parameters
    ----------
    segments : sequence of MDAnalysis.AtomGroup, or mapping of str to MDAnalysis.AtomGroup
        The segments, such as the Cα atoms of helices. You need at least two atoms per segment, all in the same
        Universe. If you are looking for the helices of a protein, you can use `helices_of`. You can also pass a
        mapping, whose keys are used as the names of the segments in plots and tables.
    pairs : bool
        Whether to use the distances between the segments of each pair instead of those within each segment.
    squared : bool
        Whether to use squared distances.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.

    Attributes
    ----------
    results.eigenvalues : ndarray, shape (n_frames, n_segments) or (n_frames, n_pairs), float64
        Eigenvalues in the order of the segments or of `pairs`, in Å, or in Å^2 if you use `squared`.
    pairs : list of (int, int)
        The two segments that belong to each column. If you do not use `pairs`, the same segment is listed twice.

    Raises
    ------
    SelectionError
        When there are no segments.
    MismatchError
        When a segment has only one atom, your segments are in different Universes, or you use `pairs` for a single
        segment.

    Notes
    -----
    For one segment, the matrix contains all distances ``M_ij = |x_i - x_j|`` or their squares. The matrix of squares
    can be written as ``n 1' + 1 n' - 2 X X'`` with ``n_i = |x_i|^2``. As its rank is at most 5, its eigenvalues can be
    found from a 5 x 5 matrix in O(n) operations. For two segments, we use the bipartite matrix ``[[0, D], [D', 0]]``,
    whose largest eigenvalue is the largest singular value of D [1]_.

    You need 8 bytes of memory per frame for each segment or pair. The frame number and the time take another 16 bytes
    per frame. In addition, each worker needs up to 16 bytes per pair of atoms. With ``squared=True``, this memory is
    only needed for pairs of segments.

    References
    ----------
    .. [1] T. Johnston, B. Zhang, A. Liwo, S. Crivelli, M. Taufer, "In situ data analytics and indexing of protein
       trajectories", J. Comput. Chem. 38 (2017) 1419-1430.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> helices = [u.select_atoms(f"name CA and resid {r}") for r in ("13:24", "31:40", "50:54")]
    >>> mdreel.HelixEigenvalues(helices, pairs=True).run().results.eigenvalues.shape
    (98, 3)
    """

    _result_dimensions = MappingProxyType({"eigenvalues": ("frame", "segment")})

    @checked_arguments
    def __init__(
        self,
        segments: Sequence[AtomGroup] | Mapping[str, AtomGroup],
        *,
        pairs: bool = False,
        squared: bool = False,
        trajectory: Trajectory | None = None,
    ) -> None:
        if len(segments) == 0:
            raise SelectionError("there is no segment: give at least one")
        self._names, given = split_group_names(segments, "segments")
        labels = [group_label(self._names, i) for i in range(len(given))]
        segments = [atoms_of(segment, name=f"segment {label}") for label, segment in zip(labels, given, strict=True)]
        for label, segment in zip(labels, segments, strict=True):
            Selection.of(segment, f"segment {label}")
            if segment.universe is not segments[0].universe:
                message = f"segment {label} is in another Universe than segment {labels[0]}"
                raise MismatchError(f"{message}: all segments must be in the same one")
        every = segments[0].universe.atoms[np.concatenate([segment.ix for segment in segments])]
        super().__init__(every, trajectory)
        ends = np.cumsum([len(segment) for segment in segments])[:-1]
        self._segments = np.split(self._selection.places.astype(np.uint32), ends)
        self._of_pairs = pairs
        self._squared = squared
        self._units = {"eigenvalues": "Å^2" if squared else "Å"}

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The two segments that belong to each column."""
        numbers = range(len(self._segments))
        return list(combinations(numbers, 2)) if self._of_pairs else [(i, i) for i in numbers]

    @property
    def squared(self) -> bool:
        """Whether squared distances are used."""
        return self._squared

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("distances within and between segments use no periodic images", whole=True)

    def computation(self, source: Source) -> Computation:
        """Return the computation that determines the eigenvalues in each frame."""
        if self._of_pairs or not self._squared:  # one segment with squared distances has no matrix
            lengths = [len(segment) for segment in self._segments]
            n_distances = max((lengths[i] * lengths[j] for i, j in self.pairs), default=0)
            check_size(
                "the distances between the atoms of segments",
                16 * n_distances,
                "select fewer atoms, or give squared=True",
            )
        return helix_eigenvalues(len(self.atoms), self._segments, self._of_pairs, self._squared)

    def conclude(self, tally: Tally) -> None:
        """Store the eigenvalues."""
        self.results.eigenvalues = tally.values

    def columns(self) -> Sequence[Column]:
        """Return columns with the frame, the time and the eigenvalue of each segment or pair."""
        names = column_names("helix", self._segment_names())
        return wide_columns(self.frames, self.times, self.results.eigenvalues, names, self._units["eigenvalues"])

    def _segment_names(self) -> list[str]:
        """Return the name or number of each segment, or those of each pair. Numbers start from 1."""
        names = self._names or [str(i + 1) for i in range(len(self._segments))]
        return [names[i] if i == j else f"{names[i]}_{names[j]}" for i, j in self.pairs]

    def _result_coordinates(self) -> list[LabelledArray]:
        segments = LabelledArray("segment", ("segment",), "", np.array(self._segment_names()))
        return [*super()._result_coordinates(), segments]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw each eigenvalue over time."""
        from mdreel.results.curves import lines

        labels = self._names or [str(i + 1) for i in range(len(self._segments))]
        names = [labels[i] if i == j else f"{labels[i]}, {labels[j]}" for i, j in self.pairs]
        label = f"Largest eigenvalue ({'Å²' if self._squared else 'Å'})"
        return lines(self.times, self.results.eigenvalues, names, label, title, ax, kind="Segments")

    def _describe(self) -> str:
        segments = f"{len(self._segments):,} segments"
        return f"{segments}, {self.n_frames:,} frames" if self._outcome is not None else f"{segments}, not run"


def helices_of(atomgroup: AtomGroup, least: int = 4) -> list[AtomGroup]:
    """Find the helices of a protein in the current frame of its Universe.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        A protein with its backbone.
    least : int
        Smallest number of residues in a helix.

    Returns
    -------
    list of MDAnalysis.AtomGroup
        The Cα atoms of the helices, which consist of consecutive residues in the helix state.

    Raises
    ------
    SelectionError
        If no helix was found.
    MismatchError
        If the backbone of a residue is incomplete.
    UnsupportedError
        If the trajectory of the Universe cannot be read.

    Notes
    -----
    To assign the states, we use the three-state method of `mdreel.DSSP` [1]_.

    References
    ----------
    .. [1] W. Kabsch, C. Sander, "Dictionary of protein secondary structure", Biopolymers 22 (1983) 2577-2637.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from mdreel.analysis.helices import helices_of
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> helices = helices_of(mda.Universe(PSF, DCD).select_atoms("protein"))
    >>> all(helix.n_atoms >= 4 for helix in helices)
    True
    """
    dssp = DSSP(atomgroup).run(frames=[atomgroup.universe.trajectory.frame], backend="serial")
    alpha, is_helix = dssp.alphas, dssp.results.dssp[0] == "H"
    goes_on = np.diff(alpha.resindices) == 1
    ends = np.flatnonzero(~(is_helix[1:] & is_helix[:-1] & goes_on)) + 1
    helices = [run for run in np.split(np.arange(len(alpha)), ends) if is_helix[run[0]] and len(run) >= least]
    if not helices:
        raise SelectionError(f"no helix of {least} residues or more is in the {len(atomgroup):,} atoms")
    return [alpha[run] for run in helices]
