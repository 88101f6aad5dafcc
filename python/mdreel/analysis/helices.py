"""Eigenvalues of the distance matrices of helices."""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from mdreel._core import Computation, Source, helix_eigenvalues
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.dssp import DSSP
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.errors import MismatchError, SelectionError
from mdreel.execution.tally import Tally
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


class HelixEigenvalues(Analysis):
    """Largest eigenvalue of the distance matrix of each of several segments, or of each pair of them.

    Parameters
    ----------
    segments : sequence of MDAnalysis.AtomGroup
        The segments, such as the Cα atoms of helices: two atoms at least in each, all of one Universe. `helices_of`
        finds those of a protein.
    pairs : bool
        Whether the distances from one segment to another are taken, for all pairs, instead of those within each.
    squared : bool
        Whether distances are squared.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results.eigenvalues : ndarray, shape (n_frames, n_segments) or (n_frames, n_pairs), float64
        In the order of the segments, or of `pairs`: Å, or Å^2 if distances are squared.
    pairs : list of (int, int)
        Which segments each column is of: of one segment twice, or of two.

    Raises
    ------
    SelectionError
        If there is no segment.
    MismatchError
        If a segment has one atom only, segments are of several Universes, or there is one segment for pairs.

    Notes
    -----
    Of one segment, the matrix is that of all distances ``M_ij = |x_i - x_j|``, or of their squares: the latter is
    ``n 1' + 1 n' - 2 X X'`` with ``n_i = |x_i|^2``, of rank 5 at most, so that its eigenvalues are those of a matrix of
    5 x 5, found in O(n) operations. Of two segments, it is the bipartite matrix ``[[0, D], [D', 0]]``, whose largest
    eigenvalue is the largest singular value of D [1]_.

    Memory: the result takes 8 bytes for each segment, or pair, and frame, and 16 for number and time of each frame.

    References
    ----------
    .. [1] T. Johnston, B. Zhang, A. Liwo, S. Crivelli, M. Taufer, "In situ data analytics and indexing of protein
       trajectories", J. Comput. Chem. 38 (2017) 1419-1430.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> helices = [u.select_atoms(f"name CA and resid {r}") for r in ("13:24", "31:40", "50:54")]
    >>> HelixEigenvalues(helices, pairs=True).run().results.eigenvalues.shape
    (98, 3)
    """

    def __init__(
        self,
        segments: Sequence["AtomGroup"],
        *,
        pairs: bool = False,
        squared: bool = False,
        trajectory: Trajectory | None = None,
    ) -> None:
        if len(segments) == 0:
            raise SelectionError("there is no segment")
        for i, segment in enumerate(segments):
            if segment.universe is not segments[0].universe:
                raise MismatchError(f"segment {i} is of another Universe than segment 0")
        every = segments[0].universe.atoms[np.concatenate([segment.ix for segment in segments])]
        super().__init__(every, trajectory)
        ends = np.cumsum([len(segment) for segment in segments])[:-1]
        self._segments = np.split(self._selection.places.astype(np.uint32), ends)
        self._of_pairs = pairs
        self._squared = squared

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Which segments each column is of."""
        numbers = range(len(self._segments))
        return list(combinations(numbers, 2)) if self._of_pairs else [(i, i) for i in numbers]

    @property
    def squared(self) -> bool:
        """Whether distances are squared."""
        return self._squared

    @property
    def boundaries(self) -> Boundaries:
        """What it requires of molecules that the boundary of the cell may cut."""
        return Boundaries("distances within and between segments are those of the atoms as they lie", whole=True)

    def computation(self, source: Source) -> Computation:
        """Return what computes the eigenvalues of a frame."""
        return helix_eigenvalues(len(self.atoms), self._segments, self._of_pairs, self._squared)

    def conclude(self, tally: Tally) -> None:
        """Take the values as they are."""
        self.results.eigenvalues = tally.values

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw each eigenvalue over time."""
        from mdreel.results.lines import lines

        names = [f"{i + 1}" if i == j else f"{i + 1}, {j + 1}" for i, j in self.pairs]
        label = f"Largest eigenvalue ({'Å²' if self._squared else 'Å'})"
        return lines(self.times, self.results.eigenvalues, names, label, title, ax, kind="Segments")

    def _describe(self) -> str:
        segments = f"{len(self._segments):,} segments"
        return f"{segments}, {self.n_frames:,} frames" if self._outcome is not None else f"{segments}, not run"


def helices_of(atomgroup: "AtomGroup", least: int = 4) -> list["AtomGroup"]:
    """Find the helices of a protein at the current frame of its Universe.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        A protein, with its backbone.
    least : int
        Residues that a helix has at least.

    Returns
    -------
    list of MDAnalysis.AtomGroup
        The Cα atoms of each helix: of consecutive residues that DSSP calls a helix.

    Raises
    ------
    SelectionError
        If there is none.
    MismatchError
        If a residue has no whole backbone.
    UnsupportedError
        If the trajectory of the Universe cannot be read by mdreel.

    Notes
    -----
    By `mdreel.DSSP`, of three states [1]_.

    References
    ----------
    .. [1] W. Kabsch, C. Sander, "Dictionary of protein secondary structure", Biopolymers 22 (1983) 2577-2637.
    """
    dssp = DSSP(atomgroup).run(frames=[atomgroup.universe.trajectory.frame], backend="serial")
    alpha, is_helix = dssp.alphas, dssp.results.dssp[0] == "H"
    goes_on = np.diff(alpha.resindices) == 1
    ends = np.flatnonzero(~(is_helix[1:] & is_helix[:-1] & goes_on)) + 1
    helices = [run for run in np.split(np.arange(len(alpha)), ends) if is_helix[run[0]] and len(run) >= least]
    if not helices:
        raise SelectionError(f"no helix of {least} residues or more is in the {len(atomgroup):,} atoms")
    return [alpha[run] for run in helices]
