"""Density of atoms on a grid."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, FrameSet, Source, density
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


class DensityAnalysis(Analysis):
    """Counts of atoms in the bins of a grid, and their mean density.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms; each counts once.
    delta : float
        Width of a bin, Å.
    padding : float
        Margin of the grid around the atoms in the first frame of the trajectory, Å.
    gridcenter : array_like, shape (3,), float64, optional
        Centre of the grid, Å. Together with `xdim`, `ydim` and `zdim`, this replaces the grid around the atoms.
    xdim, ydim, zdim : float, optional
        Length of the grid along each axis, Å.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made from a topology alone is then enough.

    Attributes
    ----------
    results.counts : ndarray, shape (n_x, n_y, n_z), int64
        Number of atoms in each bin, summed over all frames. Atoms outside the grid are not counted.
    results.density : MDAnalysis.analysis.density.Density
        Mean number density in each bin, Å^-3; it has ``.grid``, ``.edges`` and ``.export("density.dx")``.

    Raises
    ------
    SelectionError
        If there are no atoms.
    MismatchError
        If widths, lengths or the centre are not valid, or the grid is too fine.

    Notes
    -----
    Grid and counts equal those of `MDAnalysis.analysis.density.DensityAnalysis` for a Universe at its first frame. A
    bin includes its lower edge; the last bin also includes its upper edge. To keep a molecule in place, centre it
    (``run(transformations=...)``), or use a superposed trajectory. Memory does not grow with the number of frames: it
    takes 8 bytes for each bin, and the same for each worker.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> found = DensityAnalysis(mda.Universe(PSF, DCD).select_atoms("name CA"), delta=2.0).run().results
    >>> found.counts.shape == found.density.grid.shape
    True
    """

    def __init__(
        self,
        atomgroup: "AtomGroup",
        delta: float = 1.0,
        padding: float = 2.0,
        gridcenter: ArrayLike | None = None,
        xdim: float | None = None,
        ydim: float | None = None,
        zdim: float | None = None,
        *,
        trajectory: Trajectory | None = None,
    ) -> None:
        super().__init__(atomgroup, trajectory)
        if not (np.isfinite(delta) and delta > 0):
            raise MismatchError(f"delta must be more than 0 Å, not {delta}")
        if not (np.isfinite(padding) and padding >= 0):
            raise MismatchError(f"padding must be 0 Å or more, not {padding}")
        given = [gridcenter, xdim, ydim, zdim]
        if any(one is not None for one in given) and any(one is None for one in given):
            raise MismatchError("a user-defined grid needs all of gridcenter, xdim, ydim and zdim")
        self._delta, self._padding = delta, padding
        self._extent: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        if gridcenter is not None:
            center, lengths = np.asarray(gridcenter, np.float64), np.array([xdim, ydim, zdim], np.float64)
            if center.shape != (3,) or not (np.isfinite(center).all() and (lengths > 0).all()):
                raise MismatchError("gridcenter must have three coordinates, and the grid must be longer than 0 Å")
            self._extent = (center - lengths / 2, center + lengths / 2)

    @property
    def delta(self) -> float:
        """Width of a bin, Å."""
        return self._delta

    @property
    def boundaries(self) -> Boundaries:
        """What the analysis requires of molecules that the cell boundary may cut."""
        return Boundaries("atoms are counted where they lie, each on its own")

    def computation(self, source: Source) -> Computation:
        """Return the computation that counts atoms, after laying the grid around the atoms of the first frame."""
        if self._extent is not None:
            low, high = self._extent
        else:
            # MDAnalysis also computes the limits in float32, so the edges are the same.
            first = source.read(FrameSet.range(0, 1, 1), self.atoms).positions[0]
            low = (first.min(axis=0) - np.float32(self._padding)).astype(np.float64)
            high = (first.max(axis=0) + np.float32(self._padding)).astype(np.float64)
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (high > low).all()):
            raise MismatchError(f"a grid from {low.tolist()} to {high.tolist()} Å has no volume: give a larger padding")
        n_bins = np.ceil((high - low) / self._delta).astype(int)
        more = (n_bins * self._delta - (high - low)) / 2
        x, y, z = (np.linspace(*edge) for edge in zip(low - more, high + more, n_bins + 1, strict=True))
        return density(len(self.atoms), x, y, z)

    def conclude(self, tally: Tally) -> None:
        """Divide the counts by the number of frames and the volume of a bin."""
        from MDAnalysis.analysis.density import Density

        _, *edges = tally.arguments
        counts = tally.counts.reshape([len(axis) - 1 for axis in edges])
        self.results.counts = counts.astype(np.int64)
        units, parameters = {"length": "Angstrom"}, {"isDensity": False}
        found = Density(grid=counts / tally.n_frames, edges=edges, units=units, parameters=parameters)
        found.make_density()
        self.results.density = found

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the density averaged along the z axis."""
        from mdreel.results.maps import grid_map

        found = self.results.density
        return grid_map(found.grid.mean(axis=2), found.edges[0], found.edges[1], "Mean density (Å⁻³)", title, ax)
