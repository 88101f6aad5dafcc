"""Distances between all atoms of two groups, or from atoms to a reference."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, Source, distances
from mdreel.analysis.base.frame_columns import wide_columns
from mdreel.analysis.base.two_groups import TwoGroupAnalysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.reference import is_group, positions_at
from mdreel.analysis.topology.residue_labels import atom_coordinates
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.size_check import check_size
from mdreel.foundation.unit_check import check_length
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup

_PAIR_BYTES = 40
"""Memory in bytes that a worker needs for the sums and the count of a pair of atoms."""


class DistanceArray(TwoGroupAnalysis):
    """Compute the distances between all atoms of two groups, or average them over a trajectory.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The first group.
    other : MDAnalysis.AtomGroup, optional
        The second group. The default is the first group. Note that if the groups share atoms, the array contains the
        distance of a shared atom to itself, which is 0, and pairs of shared atoms twice.
    reference : MDAnalysis.AtomGroup or array_like, shape (n_other, 3), float64, optional
        A static structure to use instead of `other`. You can pass a group, whose positions in `ref_frame` will be used,
        or an array of positions in Å.
    ref_frame : int
        Frame number in the reference trajectory, starting from 0.
    cutoff : float, optional
        Distance in Å below which two atoms are in contact. If given, only averages are kept, so that the memory use
        does not depend on the number of frames.
    pbc : bool
        Whether to use the minimum image convention, which requires a cell in every frame.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.

    Attributes
    ----------
    results.distances : ndarray, shape (n_frames, n_atoms, n_other), float64
        Distances in Å, in the order of the groups. These are not available if you use a cutoff.
    results.mean : ndarray, shape (n_atoms, n_other), float64
        Mean distances in Å, which are only available if you use a cutoff.
    results.variance : ndarray, shape (n_atoms, n_other), float64
        Population variances of the distances in Å^2, which are only available if you use a cutoff.
    results.contact_frequency : ndarray, shape (n_atoms, n_other), float64
        Fraction of frames in which the distance is below the cutoff, if you use one.

    Raises
    ------
    SelectionError
        If a group has no atoms.
    MismatchError
        If the cutoff is not a valid length, or your groups are in different Universes. If the reference positions have
        the wrong shape, or you use both `other` and `reference`. In `run` with ``pbc=True``, if a frame has no periodic
        cell.

    Notes
    -----
    Distances ``|x_i - y_j|`` are float64. To compute the distance array of Khoshlessan et al. (2017), from Cα atoms to
    their positions in the first frame, use ``DistanceArray(ca, reference=ca)``. Sums are exact, in steps of 2^-36 Å and
    2^-27 Å^2. Means and variances are therefore bitwise identical for every executor and any number of workers and
    blocks.

    Without a cutoff, you will need 8 bytes of memory per pair and frame. With a cutoff, you will only need 40 bytes per
    pair, another 24 bytes per pair for each worker, and 16 bytes per frame.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> ca = mda.Universe(PSF, DCD).select_atoms("name CA and resid 1:10")
    >>> mdreel.DistanceArray(ca, reference=ca).run().results.distances.shape
    (98, 10, 10)
    >>> mdreel.DistanceArray(ca, cutoff=8.0).run().results.contact_frequency.shape
    (10, 10)
    """

    _units = MappingProxyType({"distances": "Å", "mean": "Å", "variance": "Å^2"})
    _result_dimensions = MappingProxyType(
        {
            "distances": ("frame", "atom", "other"),
            **dict.fromkeys(("mean", "variance", "contact_frequency"), ("atom", "other")),
        }
    )

    @checked_arguments
    def __init__(
        self,
        atomgroup: AtomGroup,
        other: AtomGroup | None = None,
        *,
        reference: AtomGroup | ArrayLike | None = None,
        ref_frame: int = 0,
        cutoff: float | None = None,
        pbc: bool = False,
        trajectory: Trajectory | None = None,
    ) -> None:
        if other is not None and reference is not None:
            raise MismatchError("give either other atoms of the frame or a reference, not both")
        super().__init__(atomgroup, other, "other", trajectory)
        self._reference = reference
        self._ref_frame = ref_frame
        self._cutoff = None if cutoff is None else check_length("cutoff", cutoff, empty=0.0, doubtful=2.0)
        self._pbc = pbc

    @property
    def other(self) -> AtomGroup:
        """The second group. It is not used if there is a reference."""
        return self._second

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries(
            "distances use no periodic images, or with pbc=True minimum images",
            whole=not self._pbc,
            paths=not self._pbc and self._reference is not None,
        )

    @property
    def smaller_results(self) -> str:
        """Advice on how to obtain smaller results, for error messages."""
        return f"{super().smaller_results}, or averages over all frames, such as cutoff=8.0"

    @property
    def without_cell(self) -> str:
        """Advice on how to handle frames without a periodic cell, for error messages."""
        return "give pbc=False for distances without periodic images"

    def computation(self, source: Source) -> Computation:
        """Read the reference and return the computation that determines the distances in each frame."""
        if self._cutoff is not None:
            n_pairs = len(self._from) * len(self._second_numbers())
            check_size("sums for all pairs of atoms", _PAIR_BYTES * n_pairs, "select fewer atoms")
        to: NDArray[np.uint32] | NDArray[np.float64] = self._to
        if self._reference is not None:
            to = self._reference_positions(source)
        return distances(len(self.atoms), self._from, to, self._pbc, self._cutoff)

    def conclude(self, tally: Tally) -> None:
        """Reshape distances to the shape of the groups, or compute averages from sums."""
        _, first, second, _, cutoff = tally.arguments
        shape = (len(first), len(second))
        if cutoff is None:
            self.results.distances = tally.values.reshape(-1, *shape)
            return
        mean, square = (tally.sums.reshape(-1, 2).T / tally.n_frames).reshape(2, *shape)
        self.results.mean = mean
        self.results.variance = np.maximum(square - mean**2, 0.0)
        self.results.contact_frequency = (tally.counts / tally.n_frames).reshape(shape)

    def columns(self) -> Sequence[Column]:
        """Return one row per pair of atoms if there is a cutoff, or else one column per pair, such as ``distance_0_5``.

        The numbers in these names are the indices of the atoms in the Universe. If the reference is an array, the
        second number is the index of the position in this array.
        """
        first, second = self.atomgroup.ix, self._second_numbers()
        results = self.results
        if self._cutoff is None:
            names = [f"distance_{one}_{other}" for one in first.tolist() for other in second.tolist()]
            return wide_columns(self.frames, self.times, results.distances.reshape(self.n_frames, -1), names, "Å")
        return [
            Column("atom", "", np.repeat(first, len(second)).astype(np.int64)),
            Column("other", "", np.tile(second, len(first)).astype(np.int64)),
            Column("mean", "Å", results.mean.ravel()),
            Column("variance", "Å^2", results.variance.ravel()),
            Column("contact_frequency", "", results.contact_frequency.ravel()),
        ]

    def _result_coordinates(self) -> list[LabelledArray]:
        other = LabelledArray("other", ("other",), "", self._second_numbers())
        return [*super()._result_coordinates(), *atom_coordinates(self.atomgroup), other]

    def _second_numbers(self) -> NDArray[np.int64]:
        """Return the indices of the second atoms, or of the positions if they were given as an array."""
        if self._reference is None:
            return np.asarray(self.other.ix, np.int64)
        if is_group(self._reference):
            return np.asarray(self._reference.ix, np.int64)
        return np.arange(len(np.asarray(self._reference)))

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the mean distances as a map."""
        from mdreel.results.maps import pair_map

        results = self.results
        mean = results.mean if self._cutoff is not None else results.distances.mean(axis=0)
        return pair_map(mean, "Mean distance (Å)", title, ax)

    def _reference_positions(self, source: Source) -> NDArray[np.float64]:
        """Return the positions of the reference, shape (n_other, 3), in Å."""
        if is_group(self._reference):
            is_of_source = self._reference.universe is self._first.universe and (
                self._given_trajectory is None or self._reference == self._first
            )
            return positions_at(self._reference, self._ref_frame, source if is_of_source else None)
        positions = np.asarray(self._reference, np.float64)
        if positions.ndim != 2 or positions.shape[1] != 3 or not len(positions):
            raise MismatchError(f"reference must have the shape (n, 3), got {positions.shape}")
        if not np.isfinite(positions).all():
            raise MismatchError("reference must have finite coordinates")
        return positions
