"""RMSD of each frame, computed several times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdreel._core import Computation, Source, repeated
from mdreel.analysis.rmsd import RMSD

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel.trajectory.opener import Trajectory


class RepeatedRMSD(RMSD):
    """RMSD that is computed several times for each frame. Only the last result is kept and sent.

    The repetition makes a workload of any ratio of computing to reading, as in Khoshlessan et al. (2019).

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms.
    n_times : int
        Number of computations for each frame.
    trajectory : path, sequence of paths, or Source
        The trajectory.
    """

    def __init__(self, atomgroup: AtomGroup, n_times: int, *, trajectory: Trajectory) -> None:
        super().__init__(atomgroup, trajectory=trajectory)
        self.n_times = n_times

    def computation(self, source: Source) -> Computation:
        """Return the repeated computation."""
        return repeated(super().computation(source), self.n_times)
