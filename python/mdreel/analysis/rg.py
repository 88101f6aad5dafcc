"""Radius of gyration."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from mdreel._core import Computation, Source, changing_gyration, gyration
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.weights import weights_of
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.results.series import series_columns
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


class Rg(Analysis):
    """Compute the radius of gyration over a trajectory, and the radii about the x, y and z axes.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup or UpdatingAtomGroup
        The atoms. If your group contains an atom more than once, it will also be counted more than once. You can also
        use an UpdatingAtomGroup, for which the radius is NaN in frames in which no atom is selected.
    weights : {"mass", None} or array_like, shape (n_atoms,), float64
        Weights of the atoms, which will be normalised. If None, all weights are equal.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.

    Attributes
    ----------
    results.rgyr : ndarray, shape (n_frames, 6), float64
        The columns are the frame, the time in ps, the radius of gyration, and the radii about x, y and z in Å.

    Raises
    ------
    SelectionError
        If your group is empty, or your topology does not contain masses.
    MismatchError
        If the weights do not match the atoms.

    Notes
    -----
    The radius is ``sqrt(sum_i w_i |x_i - c|^2 / sum_i w_i)``, where c is the weighted centre. The radius about the x
    axis only uses the y and z coordinates, and likewise for the other axes. The radii are the same as those in the
    output of ``gmx gyrate``, but in Å. If molecules are broken across the periodic boundary, you should make them whole
    first. You will need 48 bytes of memory per frame.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> rg = mdreel.Rg(mda.Universe(PSF, DCD).select_atoms("protein")).run()
    >>> rg.results.rgyr.shape
    (98, 6)
    """

    _units = MappingProxyType({"rgyr": "Å"})
    _may_change = True
    _result_heads = MappingProxyType({"rgyr": 2})
    _result_dimensions = MappingProxyType({"rgyr": ("frame", "radius")})

    @checked_arguments
    def __init__(
        self,
        atomgroup: AtomGroup,
        weights: Literal["mass"] | ArrayLike | None = "mass",
        *,
        trajectory: Trajectory | None = None,
    ) -> None:
        super().__init__(atomgroup, trajectory)
        if self._selection.changing is None:
            self._weights = self._selection.add_up(weights_of(self._atomgroup, weights))
        else:
            if not (weights is None or (isinstance(weights, str) and weights == "mass")):
                raise MismatchError("weights of atoms that change from frame to frame must be 'mass' or None")
            possible = self._atomgroup.universe.atoms[self._selection.given]
            given = weights_of(possible, weights)
            self._changing_weights = np.ones(len(possible)) if given is None else given

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("distances from the centre use no periodic images", whole=True)

    def computation(self, source: Source) -> Computation:
        """Return the computation that determines the radii in each frame."""
        if self._selection.changing is not None:
            return changing_gyration(len(self.atoms), self._selection.members(), self._changing_weights)
        return gyration(len(self.atoms), self._weights)

    def conclude(self, tally: Tally) -> None:
        """Store the radii."""
        self.results.rgyr = tally.rows

    def columns(self) -> Sequence[Column]:
        """Return columns with the frame, the time, the radius of gyration and the radii about the axes."""
        frame, time, *radii = self.results.rgyr.T
        names = ("rg", "rg_x", "rg_y", "rg_z")
        return [
            *series_columns(frame, time),
            *(Column(name, "Å", values) for name, values in zip(names, radii, strict=True)),
        ]

    def _result_coordinates(self) -> list[LabelledArray]:
        radii = np.array(["all", "about x", "about y", "about z"])
        return [*super()._result_coordinates(), LabelledArray("radius", ("radius",), "", radii)]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the radius of gyration over time."""
        from mdreel.results.figure import time_series

        radii = np.ascontiguousarray(self.results.rgyr[:, 2])
        return time_series(self.times, radii, "Radius of gyration (Å)", title, ax, frames=self.frames, from_zero=False)
