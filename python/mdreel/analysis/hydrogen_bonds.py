"""Hydrogen bonds by distance and angle."""

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

_LEAST_DISTANCE = 1.0  # Å: no nearer acceptor counts
_MOST_PAIRS = 32  # of groups in `between`: two bits of 64 each


class HydrogenBondAnalysis(Analysis):
    """Hydrogen bonds of each frame: donor, hydrogen and acceptor, their distance and angle.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The Universe.
    donors_sel, hydrogens_sel, acceptors_sel : str, optional
        The atoms, in MDAnalysis's selection language. What is not given is found as MDAnalysis finds it: hydrogens and
        acceptors by masses and charges, donors by bonds.
    between : sequence of pairs of str, or a pair, optional
        Only hydrogen bonds between the two selections of a pair.
    d_h_cutoff : float
        With `donors_sel`, donor and hydrogen belong together up to this distance, Å, in the current frame of the
        Universe.
    d_a_cutoff : float
        The longest distance of donor and acceptor, Å.
    d_h_a_angle_cutoff : float
        What the angle of donor, hydrogen and acceptor exceeds, degrees.
    update_selections : bool
        Must be False: every frame needs the same atoms.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then, unless
        selections need positions.

    Attributes
    ----------
    results.hbonds : ndarray, shape (n_hbonds, 6), float64
        Frame; indices of donor, hydrogen and acceptor; distance of donor and acceptor (Å); angle (degrees). In the
        order of the frames; within a frame, in that of donors and acceptors.

    Raises
    ------
    SelectionError
        If there are no donors, hydrogens or acceptors, or they cannot be found.
    MismatchError
        If a criterion is no distance or angle, or no hydrogen bond can meet it, or `between` has no pairs.
    UnsupportedError
        If selections are to be updated, or `between` has more than 32 pairs.

    Notes
    -----
    Donor and acceptor are more than 1 Å and at most `d_a_cutoff` apart, and the angle at the hydrogen is larger than
    `d_h_a_angle_cutoff`, as of `MDAnalysis.analysis.hydrogenbonds.HydrogenBondAnalysis`. The shortest image counts
    where a frame has a cell, in float64; the peer computes distances in single precision, and may see a bond on the
    edge on the other side of it. Atoms are sorted into cells: a frame takes time for each atom and what is near it.

    Memory: the result takes 48 bytes for each hydrogen bond, twice while it is put together, and 16 for number and time
    of each frame; it has the same bits whichever the executor, with however many workers and blocks. `lifetime` takes
    about 50 for each bond beside.

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
            raise UnsupportedError("selections cannot be updated: every frame needs the same atoms")
        if between is not None and not len(between):
            raise MismatchError("between has no pairs of selections")
        d_h_cutoff = check_length("d_h_cutoff", d_h_cutoff, empty=0.5, doubtful=0.9)
        criteria = (
            check_length("d_a_cutoff", d_a_cutoff, empty=_LEAST_DISTANCE, doubtful=2.0),
            check_angle("d_h_a_angle_cutoff", d_h_a_angle_cutoff),
        )
        found = _found(universe, donors_sel, hydrogens_sel, acceptors_sel, between, d_h_cutoff)
        # It says what it has found in no other way.
        groups = (found._donors, found._hydrogens, found._acceptors)  # noqa: SLF001
        indices = [np.asarray(atoms.ix) for atoms in groups]
        self._masks = _masks_of(found.between_ags, indices[0], indices[2])
        if self._masks is not None:
            # Who has nobody on the other side is not read.
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
        """What it requires of molecules that the boundary of the cell may cut."""
        return Boundaries("distances and angles are those of the shortest images")

    def computation(self, source: Source) -> Computation:
        """Return what looks for hydrogen bonds in a frame."""
        return hydrogen_bonds(len(self.atoms), self._donors, self._acceptors, self._masks, *self._criteria)

    def conclude(self, tally: Tally) -> None:
        """Give atoms their indices in the Universe."""
        hbonds = tally.records
        hbonds[:, 1:4] = self.atoms[hbonds[:, 1:4].astype(np.intp)]
        self.results.hbonds = hbonds

    @property
    def interval(self) -> float:
        """Mean time from one of the frames that were analysed to the next, ps; 0 of a single frame."""
        times = self.times
        return float(times[-1] - times[0]) / max(len(times) - 1, 1)

    def count_by_time(self) -> NDArray[np.int64]:
        """Return the number of hydrogen bonds of each frame, shape (n_frames,), int64."""
        return np.bincount(self._places(), minlength=self.n_frames)

    def count_by_type(self) -> NDArray[np.str_]:
        """Return how often each kind of donor and acceptor is bonded.

        Returns
        -------
        ndarray, shape (n_types, 3), str
            Residue and type of the donor, ``name:type``, those of the acceptor, and the number.
        """
        sides = [self._universe.atoms[self.results.hbonds[:, side].astype(np.intp)] for side in (1, 3)]
        names = [np.char.add(np.char.add(_resnames(atoms), ":"), np.asarray(atoms.types, str)) for atoms in sides]
        types, counts = np.unique(np.stack(names, axis=1), axis=0, return_counts=True)
        return np.concatenate([types, counts[:, None].astype(str)], axis=1)

    def count_by_ids(self) -> NDArray[np.int64]:
        """Return how often each hydrogen bond is there.

        Returns
        -------
        ndarray, shape (n_bonds, 4), int64
            Identifiers of donor, hydrogen and acceptor, and the number of frames; the most frequent first.
        """
        ids = np.asarray(self._universe.atoms.ids, np.int64)[self.results.hbonds[:, 1:4].astype(np.intp)]
        bonds, counts = np.unique(ids, axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return np.concatenate([bonds, counts[:, None]], axis=1)[order]

    def lifetime(self, tau_max: int = 20, window_step: int = 1, intermittency: int = 0) -> NDArray[np.float64]:
        """Compute which share of the hydrogen bonds of a frame is there in all frames up to a later one.

        Parameters
        ----------
        tau_max : int
            Most frames from the first to the last of a window; frames are those that were analysed.
        window_step : int
            Frames from the beginning of a window to that of the next.
        intermittency : int
            For how many frames in a row a bond may be away that comes back.

        Returns
        -------
        ndarray, shape (2, tau_max + 1), float64
            Frames between, from 0 to `tau_max`, and the shares, the first of which is 1; NaN where no window is as
            long that has a bond in it.

        Raises
        ------
        MismatchError
            If `tau_max` is more than the number of frames, or a number means nothing.

        Notes
        -----
        ``C(tau) = mean_t N(t, t + tau) / N(t)``: of N(t) bonds of frame t those that are in all frames up to t + tau
        [1]_ [2]_. Bonds are the same while hydrogen and acceptor are. Time grows with the number of bonds that were
        found, not with that of pairs; about 50 bytes for each are taken meanwhile.

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
        """Draw which share of the hydrogen bonds is still there after a time; parameters as of `lifetime`, `plot`."""
        from mdreel.results.curve import curve

        taus, shares = self.lifetime(tau_max, window_step, intermittency)
        known = np.isfinite(shares)
        title = self._describe() if title is None else title
        times = taus[known] * self.interval
        return curve(times, shares[known], "Time (ps)", "Hydrogen bonds still there", title, ax)

    def _places(self) -> NDArray[np.int64]:
        """Return which of the frames that were analysed each hydrogen bond is in, from 0."""
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
    """Have MDAnalysis find the atoms."""
    from MDAnalysis.analysis.hydrogenbonds.hbond_analysis import HydrogenBondAnalysis as Finder
    from MDAnalysis.exceptions import NoDataError
    from MDAnalysis.exceptions import SelectionError as Misunderstood

    needs_positions = donors is not None
    if not hasattr(universe, "trajectory"):
        if needs_positions:
            message = "donors_sel pairs donors and hydrogens by distance: load a structure into the Universe for that"
            raise MismatchError(message)
        universe = _with_trajectory(universe)
    try:
        return Finder(universe, donors, hydrogens, acceptors, between, d_h_cutoff=d_h_cutoff, update_selections=False)
    except (NoDataError, Misunderstood) as error:
        raise SelectionError(f"hydrogen bonds: {' '.join(str(error).split())}") from error


def _with_trajectory(universe: "Universe") -> "Universe":
    """Return the Universe with a frame, which MDAnalysis's analyses ask for."""
    import MDAnalysis

    positions = np.zeros((1, len(universe.atoms), 3), np.float32)
    return MDAnalysis.Universe(universe._topology, positions)  # noqa: SLF001


def _masks_of(
    between: "Sequence[tuple[AtomGroup, AtomGroup]] | None",
    donors: NDArray[np.int64],
    acceptors: NDArray[np.int64],
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]] | None:
    """Return masks of donors and acceptors that share a bit where they are on two sides of a pair."""
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
