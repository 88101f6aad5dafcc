"""Radial distribution functions of individual pairs of atoms."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, site_distribution
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.pair_distribution import (
    DIMENSIONS,
    LABELS,
    MOVED,
    begin,
    bin_labels,
    checked_backend,
    divisor_of,
    edges_of,
    norm_of,
    units_of,
    warn_of_images,
)
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.site_tables import site_arrays, site_columns, site_coordinates
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments, checked_arguments_but
from mdreel.foundation.size_check import check_size
from mdreel.foundation.stack_level import caller_level
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, Universe


class InterRDF_s(Analysis):  # noqa: N801 (MDAnalysis's name)
    """Compute the radial distribution functions of individual pairs of atoms.

    Parameters
    ----------
    u : MDAnalysis.Universe
        The Universe that contains the groups.
    ags : sequence of pairs of MDAnalysis.AtomGroup
        Pairs of groups. All atoms of the first group form pairs with all atoms of the second group.
    nbins : int
        Number of bins.
    range : tuple of float
        Lowest and highest distance in Å.
    norm : {"rdf", "density", "none"} or None
        Normalisation, in upper or lower case. All counts are divided by the number of frames. Use ``"density"`` to also
        divide them by the shell volumes, or ``"rdf"`` to divide them by the shell volumes and by the density of one
        atom in the cell. ``"none"`` is the same as None.
    density : bool
        Deprecated, as in MDAnalysis. True is the same as ``norm="density"``.
    backend : {"serial", "OpenMP", "distopia"}
        Accepted for compatibility with MDAnalysis, but not used.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.bins, results.edges : ndarray, shape (nbins,) and (nbins + 1,), float64
        Centres and edges of the bins in Å.
    results.count : list of ndarray, shape (n_first, n_second, nbins), int64
        Number of frames in which the distance of a pair lies in each bin.
    results.rdf : list of ndarray, shape (n_first, n_second, nbins), float64
        g(r) of each pair. If you use ``norm="density"``, these values are in Å^-3.
    results.cdf : list of ndarray, shape (n_first, n_second, nbins), float64
        Fraction of frames in which the distance does not exceed the upper edge of each bin. To compute it, call
        `get_cdf`.
    results.indices : list of lists of ndarray, shape (n_first,) and (n_second,), int64
        Indices of the atoms.
    results.volume_cum : float
        Sum of the cell volumes over all frames in Å^3. Only available with ``norm="rdf"``.
    ags : list of lists of MDAnalysis.AtomGroup
        The pairs of groups.
    norm : str
        Normalisation, in lower case.

    Raises
    ------
    SelectionError
        If a group has no atoms.
    MismatchError
        If you passed no groups, or groups that do not belong to `u`, or bins, `norm` or `backend` are invalid. In
        `run`, if the cell of a frame has no volume or, with ``norm="rdf"``, a frame has no cell.

    Warns
    -----
    RangeWarning
        If the range extends beyond half of the shortest lattice vector of the cell in a frame. Beyond this distance, a
        pair has several images. Only the nearest is counted, so g(r) will be too low.

    Notes
    -----
    See `InterRDF`. Each worker needs 8 bytes of memory for every bin of each pair. Apart from 16 bytes per frame, the
    memory use does not depend on the number of frames.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> u = mda.Universe(TPR, XTC)
    >>> pair = u.select_atoms("name CA and resid 1:2"), u.select_atoms("name CA and resid 5:7")
    >>> rdf = mdreel.InterRDF_s(u, [pair]).run()
    >>> rdf.get_cdf()[0].shape
    (2, 3, 75)
    """

    _moved_to_results = MOVED | {"cdf": "cdf"}

    _result_dimensions = DIMENSIONS

    @checked_arguments_but("norm")
    def __init__(
        self,
        u: Universe,
        ags: Sequence[Sequence[AtomGroup]],
        nbins: int = 75,
        range: tuple[float, float] = (0.0, 15.0),  # noqa: A002 (MDAnalysis's name)
        norm: str | None = "rdf",
        density: bool = False,
        backend: str = "serial",
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        if not len(ags) or any(len(pair) != 2 for pair in ags):
            raise MismatchError("ags must contain at least one pair of groups, and nothing else")
        self.norm = norm_of(norm)
        if density:
            message = "density=True is deprecated: use norm='density'"
            warnings.warn(message, DeprecationWarning, stacklevel=caller_level())
            self.norm = "density"
        self._units = units_of(self.norm)
        groups = [group for pair in ags for group in pair]
        for i, group in enumerate(groups):
            name = f"ags[{i // 2}][{i % 2}]"
            Selection.of(group, name)
            if group.universe is not u:
                raise MismatchError(f"{name} is in another Universe than u: all groups must be in u")
        atoms = u.atoms[np.concatenate([group.ix for group in groups])]
        super().__init__(atoms, trajectory, verbose=verbose)
        self.ags = [list(pair) for pair in ags]
        self._edges = edges_of(nbins, range)
        self.rdf_settings = {"bins": nbins, "range": range}
        self.backend = checked_backend(backend)

    @property
    def volume_cum(self) -> float:
        """Sum of the cell volumes over all frames of the last run in Å^3, if the normalisation is "rdf"."""
        volume: float = self.results.volume_cum
        return volume

    @property
    def without_cell(self) -> str:
        """Advice on how to handle frames without a periodic cell, for error messages."""
        return 'give norm="none" for counts'

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("distances use minimum images")

    def computation(self, source: Source) -> Computation:
        """Return the computation that counts the frames in each distance bin, for each pair."""
        n_pairs = sum(len(first) * len(second) for first, second in self.ags)
        n_bytes = 8 * n_pairs * (len(self._edges) - 1)
        check_size("counts for all pairs of atoms", n_bytes, "select fewer atoms, or give a smaller nbins")
        pairs = [
            np.stack(np.meshgrid(*(np.searchsorted(self.atoms, group.ix) for group in pair), indexing="ij"), axis=-1)
            for pair in self.ags
        ]
        rows = np.concatenate([pair.reshape(-1, 2) for pair in pairs]).astype(np.uint32)
        return site_distribution(len(self.atoms), rows, self._edges, self.norm == "rdf")

    def conclude(self, tally: Tally) -> None:
        """Normalise the counts of each pair."""
        begin(self, self._edges)
        shapes = [(len(first), len(second), len(self.results.bins)) for first, second in self.ags]
        ends = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
        counts = np.split(tally.counts.astype(np.int64), ends)
        self.results.count = [count.reshape(shape) for count, shape in zip(counts, shapes, strict=True)]
        divisor = divisor_of(self, self.norm, self._edges, tally, 1)
        self.results.rdf = [count / divisor for count in self.results.count]
        self.results.indices = [[first.ix, second.ix] for first, second in self.ags]
        warn_of_images(tally, self._edges)

    @checked_arguments
    def get_cdf(self) -> list[NDArray[np.float64]]:
        """Return the cumulative distribution of each pair, and store it in the results."""
        n_frames = self.n_frames
        self.results.cdf = [np.cumsum(count, axis=2) / n_frames for count in self.results.count]
        cdf: list[NDArray[np.float64]] = self.results.cdf
        return cdf

    def columns(self) -> Sequence[Column]:
        """Return columns with the bins, and with the function and counts of each pair of atoms, such as ``rdf_0_5``."""
        return site_columns(self.ags, self.results, self._units["rdf"])

    def _result_arrays(self) -> list[LabelledArray]:
        return [*super()._result_arrays(), *site_arrays(self.results, self._units)]

    def _result_coordinates(self) -> list[LabelledArray]:
        return [*super()._result_coordinates(), bin_labels(self.results), *site_coordinates(self.results)]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the mean over all pairs."""
        from mdreel.results.curves import curve

        mean = np.concatenate([rdf.reshape(-1, len(self.results.bins)) for rdf in self.results.rdf]).mean(axis=0)
        return curve(self.results.bins, mean, "Distance (Å)", LABELS[self.norm], title, ax)
