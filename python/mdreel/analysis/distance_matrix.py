"""RMSD between all pairs of frames."""

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
    """RMSD of each frame from each other frame ("2D RMSD"), by default after optimal superposition of each pair.

    Parameters
    ----------
    universe : MDAnalysis.Universe or AtomGroup
        The system.
    select : str
        Atoms, in MDAnalysis's selection language.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        How much each atom counts, both in the superposition and in the mean; their sum does not matter.
    superposition : bool
        Whether one frame of each pair is moved and rotated onto the other first.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results.dist_matrix : ndarray, shape (n_frames, n_frames), float64
        RMSD of each pair of frames, Å; symmetric, 0 on the diagonal.

    Raises
    ------
    SelectionError
        If there are no atoms, or the selection cannot be understood.
    MismatchError
        If weights do not fit the atoms; in `run`, if a coordinate is not finite.

    Notes
    -----
    One pass reads the atoms of all frames; then each pair is compared once, with as many threads as the run had workers
    here, as `mdreel.RMSD` compares a frame with its reference (QCP): the entry of frames i < j has the bits of the RMSD
    of frame i from frame j, whichever the executor. Ctrl-C ends it.

    Memory: 8 bytes for each pair of frames, and 12 for each atom of each frame, four times while they are brought into
    order: 10,000 frames take 0.8 GB, and 214 atoms of them another 0.1 GB. Take fewer frames with `step`.

    MDAnalysis's `DistanceMatrix` compares frames as they are, unless its `metric` superposes them.

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
        """Return nothing: each frame has a value for each other frame."""
        return []

    @property
    def boundaries(self) -> Boundaries:
        """What it requires of molecules that the boundary of the cell may cut."""
        return Boundaries("frames are compared as their atoms lie", whole=True, paths=not self._superposition)

    def computation(self, source: Source) -> Computation:
        """Return what keeps the positions of a frame."""
        return kept_positions(len(self.atoms))

    def conclude(self, tally: Tally) -> None:
        """Compare each frame with each."""
        n_frames, n_atoms = tally.n_frames, len(self.atoms)
        # The core keeps two float32 in a number of a row.
        positions = tally.values.view(np.float32)[:, : 3 * n_atoms].reshape(n_frames, n_atoms, 3)
        workers = np.unique(self._done().spans["worker"])
        n_workers = min(int((workers != COORDINATOR).sum()), Threads(None).n_workers)
        matrix = distance_matrix(positions, self._weights, self._superposition, max(n_workers, 1))
        self.results.dist_matrix = matrix.reshape(n_frames, n_frames)

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the matrix as a map over time."""
        from mdreel.results.frame_map import frame_map

        return frame_map(self.times, self.results.dist_matrix, "RMSD (Å)", title, ax)
