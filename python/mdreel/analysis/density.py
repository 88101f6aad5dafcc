"""Density of atoms on a grid."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, Source, density
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.current_frame import current_frame, read_one_frame
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.errors import MdreelWarning, MismatchError, SelectionError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments_but
from mdreel.foundation.size_check import check_size
from mdreel.foundation.stack_level import caller_level
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PADDING = 2.0


class DensityAnalysis(Analysis):
    """Compute the mean density of atoms on a three-dimensional grid.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup or Universe
        The atoms to count. No atom can occur twice.
    delta : float
        Width of a bin in Å.
    metadata : mapping, optional
        Entries to add to ``results.density.metadata``.
    padding : float
        Distance in Å by which the grid extends beyond the atoms. The grid is based on the positions in the current
        frame of the Universe when you create the analysis. If you pass a `trajectory`, its first frame will be used
        instead.
    gridcenter : array_like, shape (3,), float64, optional
        Centre of a user-defined grid in Å. You can use it together with `xdim`, `ydim` and `zdim` to replace the grid
        around the atoms.
    xdim, ydim, zdim : float, optional
        Length of the grid along each axis in Å.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.counts : ndarray, shape (n_x, n_y, n_z), int64
        Number of atoms in each bin, summed over all frames. Atoms outside the grid are not counted.
    results.density : MDAnalysis.analysis.density.Density
        Mean number density in Å^-3, with ``.grid``, ``.edges``, ``.convert_density("nm^{-3}")`` and
        ``.export("density.dx")``.

    Raises
    ------
    SelectionError
        If your group is empty, or contains an atom more than once.
    MismatchError
        If a width, a length or the centre is invalid, or the grid is too fine.

    Warns
    -----
    MdreelWarning
        When you use `padding` together with a user-defined grid, where it is not needed. After a run, when atoms were
        outside a user-defined grid.

    Notes
    -----
    You will always get the same grid and counts as with `MDAnalysis.analysis.density.DensityAnalysis`. Each bin
    includes its lower edge but not its upper edge, except for the last bin, which includes both. If you want to see the
    surroundings of a molecule, you should centre it (``run(transformations=...)``) or use a superposed trajectory. You
    need 8 bytes of memory per bin, and the same amount for each worker, regardless of the number of frames.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> found = mdreel.DensityAnalysis(mda.Universe(PSF, DCD).select_atoms("name CA"), delta=2.0).run().results
    >>> found.counts.shape == found.density.grid.shape
    True
    """

    _moved_to_results: ClassVar = {"density": "density"}
    _may_change = True

    _result_dimensions = MappingProxyType({"counts": ("x", "y", "z")})

    @checked_arguments_but("gridcenter", "xdim", "ydim", "zdim")
    def __init__(
        self,
        atomgroup: Atoms,
        delta: float = 1.0,
        metadata: Mapping[str, Any] | None = None,
        padding: float = _PADDING,
        gridcenter: ArrayLike | None = None,
        xdim: float | None = None,
        ydim: float | None = None,
        zdim: float | None = None,
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(atomgroup, trajectory, verbose=verbose)
        if self._selection.has_repetitions:
            raise SelectionError("atomgroup has an atom more than once, which would count several times: use .unique")
        if not (np.isfinite(delta) and delta > 0):
            raise MismatchError(f"delta must be more than 0 Å, not {delta}")
        if not (np.isfinite(padding) and padding >= 0):
            raise MismatchError(f"padding must be 0 Å or more, not {padding}")
        self._delta, self._padding = delta, padding
        self._metadata = None if metadata is None else dict(metadata)
        self._frame = current_frame(self._atomgroup)
        self._extent = _extent_of(gridcenter, (xdim, ydim, zdim))
        if self._extent is not None and padding not in (0.0, _PADDING):
            message = f"padding={padding:g} has no effect, because gridcenter, xdim, ydim and zdim define the grid"
            warnings.warn(message, MdreelWarning, stacklevel=caller_level())

    @property
    def delta(self) -> float:
        """Width of a bin in Å."""
        return self._delta

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("atoms are counted one by one at their positions")

    def computation(self, source: Source) -> Computation:
        """Define the grid from the positions in one frame and return the computation that counts the atoms."""
        if self._extent is not None:
            low, high = self._extent
        else:
            # MDAnalysis also computes the limits in float32, so the edges are the same.
            positions = self._positions_in(source, self._frame if self._given_trajectory is None else 0)
            low = (positions.min(axis=0) - np.float32(self._padding)).astype(np.float64)
            high = (positions.max(axis=0) + np.float32(self._padding)).astype(np.float64)
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (high > low).all()):
            raise MismatchError(f"a grid from {low.tolist()} to {high.tolist()} Å has no volume: give a larger padding")
        sides = np.ceil((high - low) / self._delta)
        total = float(np.prod(sides))
        check_size(f"the grid is too fine: {total:.3g} bins", 8 * total, "give a larger delta, or a smaller grid")
        n_bins = sides.astype(int)
        more = (n_bins * self._delta - (high - low)) / 2
        x, y, z = (np.linspace(*edge) for edge in zip(low - more, high + more, n_bins + 1, strict=True))
        return density(len(self.atoms), self._selection.members(), x, y, z)

    def _positions_in(self, source: Source, frame: int) -> NDArray[np.float32]:
        """Return the positions of the group in one frame.

        Raises
        ------
        SelectionError
            If no atom is selected in this frame.
        """
        read = read_one_frame(source, frame, self.atoms)
        positions: NDArray[np.float32] = read.positions[0]
        if self._selection.changing is None:
            return positions
        found = self._selection.changing.among(self.atoms).find(
            positions, read.dimensions[0] if read.has_cell[0] else None
        )
        if not len(found):
            message = f"the group has no atoms in frame {frame}, so mdreel cannot place the grid"
            raise SelectionError(f"{message}: give gridcenter, xdim, ydim and zdim")
        selected: NDArray[np.float32] = positions[np.searchsorted(self.atoms, found)]
        return selected

    def conclude(self, tally: Tally) -> None:
        """Divide the counts by the number of frames and the volume of a bin."""
        from MDAnalysis.analysis.density import Density

        _, _, *edges = tally.arguments
        counts = tally.counts[:-1].reshape([len(axis) - 1 for axis in edges])
        self.results.counts = counts.astype(np.int64)
        units, parameters = {"length": "Angstrom"}, {"isDensity": False}
        grid = counts / tally.n_frames
        found = Density(grid=grid, edges=edges, metadata=self._metadata, units=units, parameters=parameters)
        found.make_density()
        self.results.density = found
        n_seen = int(tally.counts[-1])
        n_outside = n_seen - int(counts.sum())
        if self._extent is not None and n_outside:
            message = f"{n_outside:,} of {n_seen:,} positions of atoms lie outside the grid and are not counted"
            message += ": define a larger grid if you want them"
            warnings.warn(message, MdreelWarning, stacklevel=caller_level())

    def columns(self) -> Sequence[Column]:
        """Return columns with the centre of each bin, the number of atoms in the bin and their density."""
        middles = np.meshgrid(*self._middles(), indexing="ij")
        return [
            *(Column(axis, "Å", middle.ravel()) for axis, middle in zip("xyz", middles, strict=True)),
            Column("count", "", self.results.counts.ravel()),
            Column("density", "Å^-3", self.results.density.grid.ravel()),
        ]

    def _result_arrays(self) -> list[LabelledArray]:
        density = LabelledArray("density", ("x", "y", "z"), "Å^-3", self.results.density.grid)
        return [*super()._result_arrays(), density]

    def _result_coordinates(self) -> list[LabelledArray]:
        middles = zip("xyz", self._middles(), strict=True)
        return [*super()._result_coordinates(), *(LabelledArray(axis, (axis,), "Å", one) for axis, one in middles)]

    def _middles(self) -> list[NDArray[np.float64]]:
        """Return the centres of the bins along each axis in Å."""
        return [(edges[1:] + edges[:-1]) / 2 for edges in self.results.density.edges]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the density averaged along the z axis."""
        from mdreel.results.maps import grid_map

        found = self.results.density
        return grid_map(found.grid.mean(axis=2), found.edges[0], found.edges[1], "Mean density (Å⁻³)", title, ax)


def _extent_of(
    center: ArrayLike | None, lengths: tuple[Any, Any, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the limits of a user-defined grid, or None if there is no user-defined grid.

    Raises
    ------
    MismatchError
        If a parameter of the grid is missing or invalid.
    """
    given = [center, *lengths]
    if all(one is None for one in given):
        return None
    if any(one is None for one in given):
        missing = "a grid of your own needs all of gridcenter, xdim, ydim and zdim"
        raise MismatchError(f"Gridcenter or grid dimensions are not provided: {missing}")
    try:
        middle = np.asarray(center, np.float64)
    except (TypeError, ValueError, OverflowError):
        middle = np.empty(0)
    if middle.shape != (3,):
        raise MismatchError(f"Gridcenter must be a 3D coordinate, in Å, not {center!r}")
    try:
        sides = np.array(lengths, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise MismatchError(f"xdim, ydim, and zdim must be numbers, not {lengths!r}") from None
    if np.isnan(middle).any() or np.isnan(sides).any():
        raise MismatchError("Gridcenter or grid dimensions have NaN element: give numbers in Å")
    if not (np.isfinite(middle).all() and np.isfinite(sides).all() and (sides > 0).all()):
        raise MismatchError(f"the grid must be finite and longer than 0 Å, not {sides.tolist()}")
    return middle - sides / 2, middle + sides / 2
