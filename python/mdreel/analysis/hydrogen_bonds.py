"""Hydrogen bonds in each frame, and their lifetimes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, hydrogen_bonds
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.survival import survival
from mdreel.errors import MismatchError, SelectionError, UnsupportedError
from mdreel.execution.tally import Tally
from mdreel.foundation.unit_check import check_angle, check_length
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, Universe

_LEAST_DISTANCE = 1.0  # Å between donor and acceptor
_MOST_PAIRS = 32  # pairs in `between`, which take two bits each of a 64-bit mask


class HydrogenBondAnalysis(Analysis):
    """Hydrogen bonds in each frame, with their atoms, distance and angle.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The Universe.
    donors_sel, hydrogens_sel, acceptors_sel : str, optional
        The atoms, in MDAnalysis's selection language. By default MDAnalysis guesses hydrogens and acceptors from masses
        and charges, and donors from bonds.
    between : sequence of pairs of str, or a pair, optional
        Pairs of selections. Only hydrogen bonds between the two selections of a pair count.
    d_h_cutoff : float
        With `donors_sel`, the largest distance between a donor and its hydrogen in the current frame of the Universe,
        Å.
    d_a_cutoff : float
        Largest distance between donor and acceptor, Å.
    d_h_a_angle_cutoff : float
        Lower limit of the angle between donor, hydrogen and acceptor, degrees.
    update_selections : bool
        Must be False, because every frame needs the same atoms.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made from a topology alone is then enough,
        unless selections need positions.

    Attributes
    ----------
    results.hbonds : ndarray, shape (n_hbonds, 6), float64
        Frame; indices of donor, hydrogen and acceptor; distance between donor and acceptor (Å); angle (degrees). Rows
        are ordered by frame, then by donor and acceptor.

    Raises
    ------
    SelectionError
        If there are no donors, hydrogens or acceptors, or they cannot be guessed.
    MismatchError
        If a criterion is not a valid distance or angle, no hydrogen bond can meet it, or `between` has no pairs.
    UnsupportedError
        If `update_selections` is true, or `between` has more than 32 pairs.

    Notes
    -----
    Donor and acceptor are more than 1 Å and at most `d_a_cutoff` apart, and the angle at the hydrogen is larger than
    `d_h_a_angle_cutoff`, as in `MDAnalysis.analysis.hydrogenbonds.HydrogenBondAnalysis`. The shortest image is used if
    a frame has a cell. Arithmetic is float64; in the single precision of MDAnalysis, bonds at the cutoff may differ. A
    cell list finds the pairs, so the time for a frame grows linearly with the number of atoms.

    Memory: the results take 48 bytes for each hydrogen bond (twice that while they are assembled), and 16 bytes for
    number and time of each frame. `lifetime` takes about 50 bytes more for each bond. Results are bitwise identical
    for every executor and any number of workers and blocks.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> bonds = HydrogenBondAnalysis(u, "name N", "name HN", "name O").run(stop=10)
    >>> bonds.results.hbonds.shape[1], bonds.count_by_time().shape
    (6, (10,))
    """

    def __init__(
        self,
        universe: "Universe",
        donors_sel: str | None = None,
        hydrogens_sel: str | None = None,
        acceptors_sel: str | None = None,
        between: "Sequence[Sequence[str]] | Sequence[str] | None" = None,
        d_h_cutoff: float = 1.2,
        d_a_cutoff: float = 3.0,
        d_h_a_angle_cutoff: float = 150,
        update_selections: bool = False,
        *,
        trajectory: Trajectory | None = None,
    ) -> None:
        if update_selections:
            raise UnsupportedError("update_selections must be False: every frame needs the same atoms")
        if between is not None and not len(between):
            raise MismatchError("between has no pairs of selections")
        d_h_cutoff = check_length("d_h_cutoff", d_h_cutoff, empty=0.5, doubtful=0.9)
        criteria = (
            check_length("d_a_cutoff", d_a_cutoff, empty=_LEAST_DISTANCE, doubtful=2.0),
            check_angle("d_h_a_angle_cutoff", d_h_a_angle_cutoff),
        )
        found = _found(universe, donors_sel, hydrogens_sel, acceptors_sel, between, d_h_cutoff)
        # MDAnalysis has no public attributes for these groups.
        groups = (found._donors, found._hydrogens, found._acceptors)  # noqa: SLF001
        indices = [np.asarray(atoms.ix) for atoms in groups]
        self._masks = _masks_of(found.between_ags, indices[0], indices[2])
        if self._masks is not None:
            # Skip donors and acceptors without a possible partner.
            sides = zip(self._masks, self._masks[::-1], strict=True)
            of_donors, of_acceptors = ((own & np.bitwise_or.reduce(other)) != 0 for own, other in sides)
            indices = [indices[0][of_donors], indices[1][of_donors], indices[2][of_acceptors]]
            self._masks = self._masks[0][of_donors], self._masks[1][of_acceptors]
        for name, atoms in (("donors with hydrogens", indices[0]), ("acceptors", indices[2])):
            if not len(atoms):
                raise SelectionError(f"hydrogen bonds: there are no {name}")
        super().__init__(universe.atoms[np.unique(np.concatenate(indices))], trajectory)
        places = [np.searchsorted(self.atoms, each).astype(np.uint32) for each in indices]
        self._donors, self._acceptors = np.stack(places[:2], axis=1), places[2]
        self._criteria = criteria
        self._universe = universe

    @property
    def boundaries(self) -> Boundaries:
        """What the analysis requires of molecules that the cell boundary may cut."""
        return Boundaries("distances and angles are those of the shortest images")

    def computation(self, source: Source) -> Computation:
        """Return the computation that finds the hydrogen bonds of each frame."""
        return hydrogen_bonds(len(self.atoms), self._donors, self._acceptors, self._masks, *self._criteria)

    def conclude(self, tally: Tally) -> None:
        """Store the hydrogen bonds with the Universe indices of their atoms."""
        hbonds = tally.records
        hbonds[:, 1:4] = self.atoms[hbonds[:, 1:4].astype(np.intp)]
        self.results.hbonds = hbonds

    @property
    def interval(self) -> float:
        """Mean time between consecutive analysed frames, ps; 0 for a single frame."""
        times = self.times
        return float(times[-1] - times[0]) / max(len(times) - 1, 1)

    def count_by_time(self) -> NDArray[np.int64]:
        """Return the number of hydrogen bonds in each frame, shape (n_frames,), int64."""
        return np.bincount(self._places(), minlength=self.n_frames)

    def count_by_type(self) -> NDArray[np.str_]:
        """Return the number of hydrogen bonds for each type of donor and acceptor.

        Returns
        -------
        ndarray, shape (n_types, 3), str
            Residue name and atom type of the donor as ``name:type``, those of the acceptor, and the count.
        """
        sides = [self._universe.atoms[self.results.hbonds[:, side].astype(np.intp)] for side in (1, 3)]
        names = [np.char.add(np.char.add(_resnames(atoms), ":"), np.asarray(atoms.types, str)) for atoms in sides]
        types, counts = np.unique(np.stack(names, axis=1), axis=0, return_counts=True)
        return np.concatenate([types, counts[:, None].astype(str)], axis=1)

    def count_by_ids(self) -> NDArray[np.int64]:
        """Return the number of frames in which each hydrogen bond occurs.

        Returns
        -------
        ndarray, shape (n_bonds, 4), int64
            Identifiers of donor, hydrogen and acceptor, and the number of frames, most frequent first.
        """
        ids = np.asarray(self._universe.atoms.ids, np.int64)[self.results.hbonds[:, 1:4].astype(np.intp)]
        bonds, counts = np.unique(ids, axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return np.concatenate([bonds, counts[:, None]], axis=1)[order]

    def lifetime(self, tau_max: int = 20, window_step: int = 1, intermittency: int = 0) -> NDArray[np.float64]:
        """Return the survival function of the hydrogen bonds.

        Parameters
        ----------
        tau_max : int
            Longest window, in analysed frames.
        window_step : int
            Number of frames between the starts of consecutive windows.
        intermittency : int
            Largest number of consecutive frames in which a bond may be absent and still count as continuous.

        Returns
        -------
        ndarray, shape (2, tau_max + 1), float64
            Lags from 0 to `tau_max` in frames, and the fractions of surviving bonds, beginning with 1. The fraction is
            NaN if no window of this length contains a bond.

        Raises
        ------
        MismatchError
            If `tau_max` is larger than the number of frames, or a number is out of range.

        Notes
        -----
        The function is ``C(tau) = mean_t N(t, t + tau) / N(t)``, where N(t) is the number of bonds in frame t, and
        N(t, t + tau) the number of those that exist in all frames up to t + tau [1]_ [2]_. A bond is identified by its
        hydrogen and acceptor. Time and memory (about 50 bytes for each bond) grow with the number of bonds found, not
        with the number of pairs.

        References
        ----------
        .. [1] D. C. Rapaport, "Hydrogen bonds in water", Mol. Phys. 50 (1983) 1151-1162.
        .. [2] R. J. Gowers, P. Carbone, "A multiscale approach to model hydrogen bonding: The case of polyamide",
           J. Chem. Phys. 142 (2015) 224907.
        """
        places, n_atoms = self._places(), len(self._universe.atoms)
        hydrogens, acceptors = self.results.hbonds[:, 2:4].T.astype(np.int64)
        bonds = np.minimum(hydrogens, acceptors) * n_atoms + np.maximum(hydrogens, acceptors)
        return survival(places, bonds, self.n_frames, tau_max, window_step, intermittency)

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the number of hydrogen bonds over time."""
        from mdreel.results.figure import time_series

        counts = self.count_by_time().astype(np.float64)
        return time_series(self.times, counts, "Hydrogen bonds", title, ax, frames=self.frames)

    def plot_lifetime(
        self,
        tau_max: int = 20,
        window_step: int = 1,
        intermittency: int = 0,
        ax: "Axes | None" = None,
        title: str | None = None,
    ) -> "Figure":
        """Plot the survival function of the hydrogen bonds; see `lifetime` and `plot` for the parameters."""
        from mdreel.results.curves import curve

        taus, shares = self.lifetime(tau_max, window_step, intermittency)
        known = np.isfinite(shares)
        title = self._describe() if title is None else title
        times = taus[known] * self.interval
        return curve(times, shares[known], "Time (ps)", "Hydrogen bonds still there", title, ax)

    def _places(self) -> NDArray[np.int64]:
        """Return the index of the analysed frame of each hydrogen bond."""
        frames = self.frames
        order = np.argsort(frames)
        places: NDArray[np.int64] = order[np.searchsorted(frames, self.results.hbonds[:, 0], sorter=order)]
        return places


def _resnames(atoms: "AtomGroup") -> NDArray[np.str_]:
    return np.asarray(getattr(atoms, "resnames", ["None"] * len(atoms)), str)


def _found(
    universe: "Universe",
    donors: str | None,
    hydrogens: str | None,
    acceptors: str | None,
    between: Any,
    d_h_cutoff: float,
) -> Any:
    """Return MDAnalysis's analysis, which selects or guesses the atoms."""
    from MDAnalysis.analysis.hydrogenbonds.hbond_analysis import HydrogenBondAnalysis as Finder
    from MDAnalysis.exceptions import NoDataError
    from MDAnalysis.exceptions import SelectionError as Misunderstood

    needs_positions = donors is not None
    if not hasattr(universe, "trajectory"):
        if needs_positions:
            message = "donors_sel pairs donors and hydrogens by distance: load a structure into the Universe"
            raise MismatchError(message)
        universe = _with_trajectory(universe)
    try:
        return Finder(universe, donors, hydrogens, acceptors, between, d_h_cutoff=d_h_cutoff, update_selections=False)
    except (NoDataError, Misunderstood) as error:
        raise SelectionError(f"hydrogen bonds: {' '.join(str(error).split())}") from error


def _with_trajectory(universe: "Universe") -> "Universe":
    """Return the Universe with a dummy frame, which analyses of MDAnalysis require."""
    import MDAnalysis

    positions = np.zeros((1, len(universe.atoms), 3), np.float32)
    return MDAnalysis.Universe(universe._topology, positions)  # noqa: SLF001


def _masks_of(
    between: "Sequence[tuple[AtomGroup, AtomGroup]] | None",
    donors: NDArray[np.int64],
    acceptors: NDArray[np.int64],
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]] | None:
    """Return bit masks of donors and acceptors, which share a bit if they are on different sides of a pair."""
    if between is None:
        return None
    if len(between) > _MOST_PAIRS:
        raise UnsupportedError(f"between has {len(between)} pairs of selections: expected {_MOST_PAIRS} at most")
    of_donors, of_acceptors = np.zeros(len(donors), np.uint64), np.zeros(len(acceptors), np.uint64)
    for number, (first, second) in enumerate(between):
        for bit, (one, other) in enumerate(((first, second), (second, first)), 2 * number):
            of_donors |= np.isin(donors, one.ix).astype(np.uint64) << np.uint64(bit)
            of_acceptors |= np.isin(acceptors, other.ix).astype(np.uint64) << np.uint64(bit)
    return of_donors, of_acceptors
