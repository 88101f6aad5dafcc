"""Matrix of the RMSD between all pairs of frames."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from mdreel._core import Computation, Source, distance_matrix, kept_positions
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.weights import weights_of
from mdreel.execution.executors.local.threads import Threads
from mdreel.execution.tally import Tally
from mdreel.results.column import Column
from mdreel.timing.spans import COORDINATOR
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import selected

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, Universe


class DistanceMatrix(Analysis):
    """RMSD between all pairs of frames ("2D RMSD"), by default after optimal superposition of each pair.

    Parameters
    ----------
    universe : MDAnalysis.Universe or AtomGroup
        The system.
    select : str
        The atoms, in MDAnalysis's selection language.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        Weight of each atom in the superposition and in the mean. Weights are normalised.
    superposition : bool
        Whether to superpose one frame of each pair on the other first.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made from a topology alone is then enough.

    Attributes
    ----------
    results.dist_matrix : ndarray, shape (n_frames, n_frames), float64
        RMSD of each pair of frames, Å; symmetric, 0 on the diagonal.

    Raises
    ------
    SelectionError
        If there are no atoms, or the selection is not valid.
    MismatchError
        If weights do not fit the atoms. In `run`, if a coordinate is not finite.

    Notes
    -----
    One pass reads the atoms of all frames. Then threads on this machine compare each pair once, with the same algorithm
    as `mdreel.RMSD` (QCP). The number of threads is that of the local workers of the run. For i < j, the entry is
    bitwise identical to the RMSD of frame i from frame j, for every executor. Ctrl-C interrupts the comparison.

    Memory: 8 bytes for each pair of frames. Positions take 12 bytes for each atom and frame, and four times that while
    they are sorted. For example, 10,000 frames take 0.8 GB, and 214 atoms add 0.1 GB. Use `step` for fewer frames.

    `DistanceMatrix` of MDAnalysis does not superpose frames, unless its `metric` does.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> matrix = DistanceMatrix(mda.Universe(PSF, DCD), select="name CA").run()
    >>> matrix.results.dist_matrix.shape
    (98, 98)
    """

    def __init__(
        self,
        universe: "Universe | AtomGroup",
        select: str = "all",
        weights: Literal["mass"] | ArrayLike | None = None,
        superposition: bool = True,
        *,
        trajectory: Trajectory | None = None,
    ) -> None:
        atoms = selected(universe, select)
        super().__init__(atoms, trajectory)
        self._weights = self._selection.add_up(weights_of(atoms, weights))
        self._superposition = superposition

    def columns(self) -> Sequence[Column]:
        """Return no columns, because a frame has a value for each other frame."""
        return []

    @property
    def boundaries(self) -> Boundaries:
        """What the analysis requires of molecules that the cell boundary may cut."""
        return Boundaries("frames are compared as their atoms lie", whole=True, paths=not self._superposition)

    def computation(self, source: Source) -> Computation:
        """Return the computation that keeps the positions of each frame."""
        return kept_positions(len(self.atoms))

    def conclude(self, tally: Tally) -> None:
        """Compute the RMSD of all pairs of frames."""
        n_frames, n_atoms = tally.n_frames, len(self.atoms)
        # The core packs two float32 into each float64 of a row.
        positions = tally.values.view(np.float32)[:, : 3 * n_atoms].reshape(n_frames, n_atoms, 3)
        workers = np.unique(self._done().spans["worker"])
        n_workers = min(int((workers != COORDINATOR).sum()), Threads(None).n_workers)
        matrix = distance_matrix(positions, self._weights, self._superposition, max(n_workers, 1))
        self.results.dist_matrix = matrix.reshape(n_frames, n_frames)

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the matrix as a map over time."""
        from mdreel.results.maps import frame_map

        return frame_map(self.times, self.results.dist_matrix, "RMSD (Å)", title, ax)
