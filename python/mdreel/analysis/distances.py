"""Distance arrays between groups of atoms, and statistics of them."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, Source, distances
from mdreel.analysis.base.two_groups import OfTwoGroups
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.reference import is_group, positions_at
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.unit_check import check_length
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


class DistanceArray(OfTwoGroups):
    """Distances of all atoms to all others, in each frame, or their mean, variance and contact frequency.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms from which distances are measured.
    other : MDAnalysis.AtomGroup, optional
        The atoms to which they are measured, in the same frame; by default the same. If the groups share atoms, the
        array has the distance 0 of each to itself, and each pair of these twice.
    reference : MDAnalysis.AtomGroup or array_like, shape (n_other, 3), float64, optional
        Instead of `other`, a structure that does not move: the positions of a group at `ref_frame`, or positions in Å.
    ref_frame : int
        Frame of the reference's trajectory, 0-based.
    cutoff : float, optional
        Distance in Å below which two atoms are in contact. With it no single distance is kept: memory does not grow
        with the number of frames.
    pbc : bool
        Whether the shortest image counts: every frame must have a cell then.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results.distances : ndarray, shape (n_frames, n_atoms, n_other), float64
        Without a cutoff: distances in the order of the groups, Å. They take 8 bytes for each pair and frame.
    results.mean : ndarray, shape (n_atoms, n_other), float64
        With a cutoff: mean distance, Å.
    results.variance : ndarray, shape (n_atoms, n_other), float64
        With a cutoff: variance (of all frames, not of a sample), Å^2.
    results.contact_frequency : ndarray, shape (n_atoms, n_other), float64
        With a cutoff: share of the frames in which the distance is below it.

    Raises
    ------
    SelectionError
        If a group has no atoms.
    MismatchError
        If the cutoff is no length. If the other group is of another Universe, positions are no positions, or both
        `other` and `reference` are given. When it is run: with ``pbc=True``, if a frame has no periodic cell.

    Notes
    -----
    ``|x_i - y_j|`` in float64. The distance array of Khoshlessan et al. (2017) is that of Cα atoms to their own
    positions in the first frame: ``DistanceArray(ca, reference=ca)``. Sums are exact, in steps of 2^-36 Å and
    2^-27 Å^2: means and variances have the same bits whichever the executor, with however many workers and blocks.

    Memory: distances take 8 bytes for each pair and frame, which is the result. With a cutoff it does not grow with the
    number of frames, beyond 16 bytes for number and time of each: 40 bytes for each pair, and 24 more for each worker.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> ca = mda.Universe(PSF, DCD).select_atoms("name CA and resid 1:10")
    >>> DistanceArray(ca, reference=ca).run().results.distances.shape
    (98, 10, 10)
    >>> DistanceArray(ca, cutoff=8.0).run().results.contact_frequency.shape
    (10, 10)
    """

    def __init__(
        self,
        atomgroup: "AtomGroup",
        other: "AtomGroup | None" = None,
        *,
        reference: "AtomGroup | ArrayLike | None" = None,
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
    def other(self) -> "AtomGroup":
        """The atoms to which they are measured, where that is no reference."""
        return self._second

    @property
    def boundaries(self) -> Boundaries:
        """What it requires of molecules that the boundary of the cell may cut."""
        return Boundaries(
            "distances are those of the atoms as they lie, or with pbc=True of the shortest images",
            whole=not self._pbc,
            paths=not self._pbc and self._reference is not None,
        )

    def computation(self, source: Source) -> Computation:
        """Return what measures distances in a frame; the reference is read now."""
        to: NDArray[np.uint32] | NDArray[np.float64] = self._to
        if self._reference is not None:
            to = self._reference_positions(source)
        return distances(len(self.atoms), self._from, to, self._pbc, self._cutoff)

    def conclude(self, tally: Tally) -> None:
        """Bring values, or sums, into the shape of the groups."""
        _, first, second, _, cutoff = tally.arguments
        shape = (len(first), len(second))
        if cutoff is None:
            self.results.distances = tally.values.reshape(-1, *shape)
            return
        mean, square = (tally.sums.reshape(-1, 2).T / tally.n_frames).reshape(2, *shape)
        self.results.mean = mean
        self.results.variance = np.maximum(square - mean**2, 0.0)
        self.results.contact_frequency = (tally.counts / tally.n_frames).reshape(shape)

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the mean distances as a map."""
        from mdreel.results.pair_map import pair_map

        results = self.results
        mean = results.mean if self._cutoff is not None else results.distances.mean(axis=0)
        return pair_map(mean, "Mean distance (Å)", title, ax)

    def _reference_positions(self, source: Source) -> NDArray[np.float64]:
        """Read the reference, shape (n_other, 3), Å."""
        if is_group(self._reference):
            is_of_source = self._reference.universe is self._first.universe and (
                self._trajectory is None or self._reference == self._first
            )
            return positions_at(self._reference, self._ref_frame, source if is_of_source else None)
        positions = np.asarray(self._reference, np.float64)
        if positions.ndim != 2 or positions.shape[1] != 3 or not len(positions):
            raise MismatchError(f"reference must have the shape (n, 3), got {positions.shape}")
        if not np.isfinite(positions).all():
            raise MismatchError("reference has coordinates that are not finite")
        return positions
