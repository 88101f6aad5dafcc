"""Projection of frames onto principal components."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, projection
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.base.frame_columns import wide_columns
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


class Projection(Analysis):
    """Compute the displacement of each frame from a structure along given directions. See `mdreel.PCA.projection`.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms.
    origin : ndarray, shape (n_atoms, 3), float64
        Positions of the structure in Å, in the order of the group.
    directions : ndarray, shape (n_components, n_atoms, 3), float64
        The directions, in the order of the group.
    fit_to : ndarray, shape (n_atoms, 3), float64, optional
        Positions in Å, in the order of the group. If given, frames are first superposed on them with equal weights.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory.

    Attributes
    ----------
    results.projection : ndarray, shape (n_frames, n_components), float64
        Displacements along each direction in Å.

    Notes
    -----
    The results need 8 bytes of memory per direction and frame (twice as much while they are assembled), and 16 bytes
    per frame for the frame number and the time.
    """

    _units = MappingProxyType({"projection": "Å"})
    _result_dimensions = MappingProxyType({"projection": ("frame", "component")})

    def __init__(
        self,
        atomgroup: "AtomGroup",
        origin: NDArray[np.float64],
        directions: NDArray[np.float64],
        fit_to: NDArray[np.float64] | None = None,
        trajectory: Trajectory | None = None,
        *,
        verbose: bool = False,
    ) -> None:
        super().__init__(atomgroup, trajectory, verbose=verbose)
        if self._selection.n_given != len(origin):
            raise MismatchError(
                f"the components have {len(origin)} atoms, atomgroup has {self._selection.n_given}: select the same"
            )
        n_atoms, places = len(self.atoms), self._selection.places
        # Atoms are read once each and in ascending order: the directions of a repeated atom add up.
        self._origin, summed = np.empty((n_atoms, 3)), np.zeros((n_atoms, len(directions), 3))
        self._origin[places] = origin
        np.add.at(summed, places, directions.swapaxes(0, 1))
        self._directions = np.ascontiguousarray(summed.swapaxes(0, 1))
        self._offsets = np.tensordot(directions, self._origin[places] - origin, 2)
        self._fitted: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64] | None] | None = None
        if fit_to is not None:
            weights = self._selection.add_up(None)
            gathered = self._selection.gather(fit_to, "the reference of the components")
            self._fitted = np.arange(n_atoms, dtype=np.uint32), gathered, weights

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("displacements use no periodic images", whole=True, paths=self._fitted is None)

    def computation(self, source: Source) -> Computation:
        """Return the computation that projects each frame."""
        return projection(self._origin, self._directions, self._fitted)

    def conclude(self, tally: Tally) -> None:
        """Store the projections."""
        self.results.projection = tally.values + self._offsets

    def columns(self) -> Sequence[Column]:
        """Return columns with the frame, the time and the displacement along each component, such as ``pc1``."""
        projections = self.results.projection
        names = [f"pc{number}" for number in range(1, projections.shape[1] + 1)]
        return wide_columns(self.frames, self.times, projections, names, "Å")

    def _result_coordinates(self) -> list[LabelledArray]:
        components = np.arange(1, self.results.projection.shape[1] + 1)
        return [*super()._result_coordinates(), LabelledArray("component", ("component",), "", components)]

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the frames in the plane of the first two directions, coloured by time."""
        from mdreel.results.maps import component_plane

        return component_plane(self.times, self.results.projection, title, ax)
