"""Radius of gyration."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from mdreel._core import Computation, Source, gyration
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.weights import weights_of
from mdreel.execution.tally import Tally
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


class Rg(Analysis):
    """Radius of gyration of each frame, and the radii about the axes of coordinates.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms; one that is in the group more than once counts as often.
    weights : {"mass", None} or array_like, shape (n_atoms,), float64
        How much each atom counts; their sum does not matter. None: all alike.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results.rgyr : ndarray, shape (n_frames, 6), float64
        Frame, time in ps, radius of gyration, and those about x, y and z, Å.

    Raises
    ------
    SelectionError
        If there are no atoms, or they have no masses.
    MismatchError
        If weights do not fit the atoms.

    Notes
    -----
    ``sqrt(sum_i w_i |x_i - c|^2 / sum_i w_i)`` with the weighted centre c; about the x axis only y and z count, and so
    on. These are the columns of ``gmx gyrate``, in Å. Coordinates are taken as they are: make molecules whole before,
    if the engine broke them. Memory: the result takes 48 bytes for each frame.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> rg = Rg(mda.Universe(PSF, DCD).select_atoms("protein")).run()
    >>> rg.results.rgyr.shape
    (98, 6)
    """

    _units: ClassVar[Mapping[str, str]] = {"rgyr": "Å"}

    def __init__(
        self,
        atomgroup: "AtomGroup",
        weights: Literal["mass"] | ArrayLike | None = "mass",
        *,
        trajectory: Trajectory | None = None,
    ) -> None:
        super().__init__(atomgroup, trajectory)
        self._weights = self._selection.add_up(weights_of(atomgroup, weights))

    @property
    def boundaries(self) -> Boundaries:
        """What it requires of molecules that the boundary of the cell may cut."""
        return Boundaries("distances from the centre are those of the atoms as they lie", whole=True)

    def computation(self, source: Source) -> Computation:
        """Return what computes the radii of a frame."""
        return gyration(len(self.atoms), self._weights)

    def conclude(self, tally: Tally) -> None:
        """Take the rows as they are."""
        self.results.rgyr = tally.rows

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the radius of gyration over time."""
        from mdreel.results.figure import time_series

        radii = np.ascontiguousarray(self.results.rgyr[:, 2])
        return time_series(self.times, radii, "Radius of gyration (Å)", title, ax, frames=self.frames, from_zero=False)
