"""Radial distribution functions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, radial_distribution
from mdreel.analysis.base.two_groups import TwoGroupAnalysis
from mdreel.analysis.choices import SharedGroup
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
from mdreel.errors import MdreelWarning, MismatchError, UnsupportedError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments_but, shown
from mdreel.foundation.stack_level import caller_level
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup

_OF_ATOMS = {"residue": "resindices", "segment": "segindices", "chain": "chainIDs"}


class InterRDF(TwoGroupAnalysis):
    """Compute the radial distribution function g(r) of two groups of atoms.

    Parameters
    ----------
    g1, g2 : MDAnalysis.AtomGroup or Universe
        The two groups, which can be identical. Note that if the groups share atoms, each pair of shared atoms is
        counted twice. A shared atom also forms a pair with itself at distance 0, unless you exclude it using
        `exclusion_block` or `exclude_same`.
    nbins : int
        Number of bins.
    range : tuple of float
        Lowest and highest distance in Å.
    norm : {"rdf", "density", "none"} or None
        Normalisation, in upper or lower case. All counts are divided by the number of frames. Use ``"density"`` to also
        divide them by the shell volumes, or ``"rdf"`` to divide them by the shell volumes and by the pair density in
        the cell. ``"none"`` is the same as None.
    exclusion_block : tuple of int, optional
        Number of atoms per molecule in each group, which is used to exclude pairs within a molecule. Use ``(1, 1)`` to
        exclude pairs of an atom with itself.
    exclude_same : {"residue", "segment", "chain"}, optional
        Exclude pairs within the same residue, segment or chain.
    backend : {"serial", "OpenMP", "distopia"}
        Accepted for compatibility with MDAnalysis, but not used. You can choose the executor in `run` instead.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.bins : ndarray, shape (nbins,), float64
        Centres of the bins in Å.
    results.edges : ndarray, shape (nbins + 1,), float64
        Edges of the bins in Å.
    results.count : ndarray, shape (nbins,), int64
        Number of pairs in each bin, summed over all frames. Pairs of atoms that are in both groups are counted twice.
    results.rdf : ndarray, shape (nbins,), float64
        g(r). If you use ``norm="density"``, these values are in Å^-3.
    results.volume_cum : float
        Sum of the cell volumes over all frames in Å^3. Only available with ``norm="rdf"``.
    g1, g2 : MDAnalysis.AtomGroup
        The groups.
    norm : str
        Normalisation, in lower case.
    exclusion_block, exclude_same, backend
        The given parameters.

    Raises
    ------
    SelectionError
        If a group has no atoms.
    MismatchError
        If your groups are in different Universes, or bins, exclusions, `norm` or `backend` are invalid. In `run`, if
        the cell of a frame has no volume or, with ``norm="rdf"``, a frame has no cell.

    Warns
    -----
    RangeWarning
        If the range extends beyond half of the shortest lattice vector of the cell in a frame. Beyond this distance, a
        pair has several images. Only the nearest is counted, so g(r) will be too low.

    Notes
    -----
    As in `MDAnalysis.analysis.rdf.InterRDF`, the function is ``count / (frames * shells * N / V)``. Here, ``shells``
    are the shell volumes, V is the mean volume of the cell, and N is the number of pairs that are not excluded by
    `exclusion_block`. Minimum images are computed in float64 for any range, including in triclinic cells. For ranges up
    to half of the shortest lattice vector, a cell list is used, so the run time grows linearly with the number of
    atoms. For larger ranges, the distances between all pairs have to be computed. As in `numpy.histogram`, the upper
    edge of a bin belongs to the next bin, but the last bin includes both edges.

    As counts are integers and the sum of volumes is exact, results are bitwise identical for every executor and any
    number of workers and blocks. Apart from 16 bytes per frame, the memory use does not depend on the number of frames.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> oxygens = mda.Universe(TPR, XTC).select_atoms("name OW")
    >>> rdf = mdreel.InterRDF(oxygens, oxygens, exclusion_block=(1, 1)).run(stop=2)
    >>> float(rdf.results.bins[rdf.results.rdf.argmax()].round(1))
    2.7
    """

    _moved_to_results = MOVED
    _may_change = True

    _result_dimensions = DIMENSIONS

    @checked_arguments_but("exclude_same", "exclusion_block", "norm")
    def __init__(
        self,
        g1: Atoms,
        g2: Atoms,
        nbins: int = 75,
        range: tuple[float, float] = (0.0, 15.0),  # noqa: A002 (MDAnalysis's name)
        norm: str | None = "rdf",
        exclusion_block: tuple[int, int] | None = None,
        exclude_same: SharedGroup | None = None,
        backend: str = "serial",
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(g1, g2, "g2", trajectory, first_name="g1", verbose=verbose)
        self.norm = norm_of(norm)
        self._units = units_of(self.norm)
        if exclusion_block is not None and exclude_same is not None:
            raise MismatchError(
                "The exclude_same argument to InterRDF cannot be used with exclusion_block: give one of them"
            )
        if exclude_same is not None and not (isinstance(exclude_same, str) and exclude_same in _OF_ATOMS):
            expected = f"must be one of {', '.join(_OF_ATOMS)}, or None"
            raise MismatchError(f"The exclude_same argument to InterRDF {expected}, not {exclude_same!r}")
        if exclusion_block is not None and not _is_block(exclusion_block):
            raise MismatchError(f"exclusion_block must be two numbers of atoms, not {shown(exclusion_block)}")
        if exclusion_block is not None and self.has_changing_groups:
            message = "exclusion_block needs a fixed order of atoms, which an UpdatingAtomGroup does not have"
            raise UnsupportedError(f"{message}: use exclude_same='residue'")
        self._edges = edges_of(nbins, range)
        self.rdf_settings = {"bins": nbins, "range": range}
        self.backend = checked_backend(backend)
        self.exclusion_block, self.exclude_same = exclusion_block, exclude_same
        self._labels = self._labels_of(exclude_same)

    @property
    def g1(self) -> AtomGroup:
        """The first group."""
        return self._first

    @property
    def g2(self) -> AtomGroup:
        """The second group."""
        return self._second

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
        """Return the computation that counts pairs in bins."""
        needs_cell = self.norm == "rdf"
        first, second = (one.members(self.atoms) for one in self._chosen)
        return radial_distribution(len(self.atoms), first, second, self._edges, self._labels, needs_cell)

    def conclude(self, tally: Tally) -> None:
        """Normalise the counts."""
        begin(self, self._edges)
        *_, n_all_pairs = tally.counts
        self.results.count = tally.counts[:-1].astype(np.int64)
        n_pairs = float(n_all_pairs) / tally.n_frames
        if self.exclusion_block is not None:
            n_pairs -= self.exclusion_block[0] * self.exclusion_block[1] * (len(self._from) / self.exclusion_block[0])
        divisor = divisor_of(self, self.norm, self._edges, tally, n_pairs)
        if n_all_pairs == 0:
            message = "the groups have no pairs in any frame, so g(r) is not a number: distances in selections are in Å"
            warnings.warn(message, MdreelWarning, stacklevel=caller_level())
        with np.errstate(invalid="ignore"):
            self.results.rdf = self.results.count / divisor
        warn_of_images(tally, self._edges)

    def columns(self) -> Sequence[Column]:
        """Return columns with the centre of each bin, the function and the number of pairs."""
        results, unit = self.results, self._units["rdf"]
        return [Column("r", "Å", results.bins), Column("rdf", unit, results.rdf), Column("count", "", results.count)]

    def _result_coordinates(self) -> list[LabelledArray]:
        return [*super()._result_coordinates(), bin_labels(self.results)]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the function, with a line at 1 for ``norm="rdf"``."""
        from mdreel.results.curves import curve

        level = 1.0 if self.norm == "rdf" else None
        return curve(self.results.bins, self.results.rdf, "Distance (Å)", LABELS[self.norm], title, ax, level=level)

    def _labels_of(self, same: SharedGroup | None) -> tuple[NDArray[np.uint32], NDArray[np.uint32]] | None:
        """Return a label for each atom of the groups. Pairs with equal labels are excluded."""
        if self.exclusion_block is not None:
            first, second = (
                np.arange(len(self._from)) // self.exclusion_block[0],
                np.arange(len(self._to)) // self.exclusion_block[1],
            )
        elif same is not None:
            every = self._first.universe.atoms
            values = [np.asarray(getattr(every[one.given], _OF_ATOMS[same])) for one in self._chosen]
            _, numbers = np.unique(np.concatenate(values), return_inverse=True)
            first, second = np.split(numbers, [len(self._from)])
        else:
            return None
        return first.astype(np.uint32), second.astype(np.uint32)


def _is_block(block: object) -> bool:
    """Return whether a value consists of two numbers of atoms."""
    if not isinstance(block, Sequence) or len(block) != 2:
        return False
    return all(isinstance(number, int | np.integer) and number >= 1 for number in block)
