"""Number density on a grid."""

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
    """How many atoms are in each bin of a grid, over all frames, and their density.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms, each once.
    delta : float
        Width of a bin, Å.
    padding : float
        How far the grid reaches beyond the atoms of the first frame of the trajectory, Å.
    gridcenter : array_like, shape (3,), float64, optional
        The middle of the grid, Å, instead of one around the atoms; with `xdim`, `ydim` and `zdim`.
    xdim, ydim, zdim : float, optional
        How long the grid is along each axis, Å.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results.counts : ndarray, shape (n_x, n_y, n_z), int64
        Atoms in each bin, over all frames. Atoms outside of the grid are not counted.
    results.density : MDAnalysis.analysis.density.Density
        Mean number of atoms in each bin by its volume, Å^-3: ``.grid``, ``.edges``, ``.export("density.dx")``.

    Raises
    ------
    SelectionError
        If there are no atoms.
    MismatchError
        If widths, lengths or middle mean nothing, or the grid is too fine.

    Notes
    -----
    The grid is that of `MDAnalysis.analysis.density.DensityAnalysis`, made where a Universe is at its first frame, and
    counts are equal: they are integers. Bins begin with their lower edge; the last ends with its upper edge as well. To
    have a molecule in one place, centre it (``run(transformations=...)``), or give a trajectory that was superposed.
    Memory does not grow with the number of frames: 8 bytes for each bin, and as many for each worker.

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
            raise MismatchError("a grid of one's own needs gridcenter, xdim, ydim and zdim")
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
        """What it requires of molecules that the boundary of the cell may cut."""
        return Boundaries("atoms are counted where they lie, each on its own")

    def computation(self, source: Source) -> Computation:
        """Return what counts; the grid is laid around the atoms now."""
        if self._extent is not None:
            low, high = self._extent
        else:
            # float32 up to here, as in MDAnalysis, so that the edges are the same.
            first = source.read(FrameSet.range(0, 1, 1), self.atoms).positions[0]
            low = (first.min(axis=0) - np.float32(self._padding)).astype(np.float64)
            high = (first.max(axis=0) + np.float32(self._padding)).astype(np.float64)
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (high > low).all()):
            raise MismatchError(f"there is no grid from {low.tolist()} to {high.tolist()} Å: give it some padding")
        n_bins = np.ceil((high - low) / self._delta).astype(int)
        more = (n_bins * self._delta - (high - low)) / 2
        x, y, z = (np.linspace(*edge) for edge in zip(low - more, high + more, n_bins + 1, strict=True))
        return density(len(self.atoms), x, y, z)

    def conclude(self, tally: Tally) -> None:
        """Divide counts by frames and volume."""
        from MDAnalysis.analysis.density import Density

        _, *edges = tally.arguments
        counts = tally.counts.reshape([len(axis) - 1 for axis in edges])
        self.results.counts = counts.astype(np.int64)
        units, parameters = {"length": "Angstrom"}, {"isDensity": False}
        found = Density(grid=counts / tally.n_frames, edges=edges, units=units, parameters=parameters)
        found.make_density()
        self.results.density = found

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the density as it is seen along the z axis: the mean of all bins that lie behind one another."""
        from mdreel.results.grid_map import grid_map

        found = self.results.density
        return grid_map(found.grid.mean(axis=2), found.edges[0], found.edges[1], "Mean density (Å⁻³)", title, ax)
