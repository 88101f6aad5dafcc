"""Contacts between residues in each frame, with frequencies and lifetimes."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, Source, residue_contacts
from mdreel.analysis.choices import ContactScheme
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.residue_contact_maps import ContactMaps
from mdreel.analysis.topology.contact_atoms import contact_atoms, sequence_positions
from mdreel.analysis.topology.residue_labels import residue_names
from mdreel.errors import MismatchError, SelectionError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.unit_check import check_length
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, Selection, atoms_of

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

_ONE_GROUP, _TWO_GROUPS = 3, 1  # defaults of min_separation
_BETA, _SMALL_BETA = 200.0, 30.0  # Å; the default in nm is below the second
_Units = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]


class ResidueContacts(ContactMaps):
    r"""Find the pairs of residues that are in contact, and compute the frequencies and lifetimes of these contacts.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup or Universe
        Atoms of the residues. Atoms outside the group are not considered.
    other : MDAnalysis.AtomGroup or Universe, optional
        Atoms of other residues, such as a ligand. You can use these to look only for pairs of a residue in `atomgroup`
        and a residue in `other`. If residues belong to both groups, pairs of these will only be counted once.
    pairs : array_like, shape (n_pairs, 2), int, optional
        Universe indices (``resindex``) of the two residues in each pair to consider. By default, all pairs are
        considered.
    scheme : {"closest-heavy", "closest", "ca", "cb", "sidechain", "sidechain-heavy"}
        Atoms of the residues that are used for the distances. ``"closest-heavy"`` and ``"sidechain-heavy"`` exclude
        hydrogens. For glycine, ``"cb"`` uses the alpha carbon, and ``"sidechain-heavy"`` uses the hydrogens.
    cutoff : float
        Largest distance in Å between two residues that are in contact. This is the smallest distance between their
        atoms.
    min_separation : int, optional
        Smallest difference between the indices of residues in the same chain that can form a pair. By default, we use 3
        within `atomgroup`, as in mdtraj, and 1 for pairs with `other`. This is not applied to `pairs`.
    soft_min : bool
        Whether to use the soft minimum of the distances between all atoms of two residues in contact, instead of the
        smallest distance.
    soft_min_beta : float, optional
        Parameter of the soft minimum in Å. The default is 200 Å, the 20 nm of mdtraj.
    series : bool
        Whether to keep the contacts in each frame in addition to the statistics of the pairs.
    pbc : bool
        Whether to use the minimum image convention in frames that have a cell.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.pairs : ndarray, shape (n_pairs, 2), int64
        Universe indices of the two residues in each pair that was ever in contact, in ascending order. If you pass
        `other`, the first residue belongs to `atomgroup`.
    results.frequency : ndarray, shape (n_pairs,), float64
        Fraction of the frames in which a pair is in contact.
    results.mean : ndarray, shape (n_pairs,), float64
        Mean distance while in contact, in Å.
    results.minimum : ndarray, shape (n_pairs,), float64
        Smallest distance in Å.
    results.events : ndarray, shape (n_pairs,), int64
        Number of uninterrupted contacts, including contacts that already exist in the first frame or still exist in the
        last frame.
    results.duration : ndarray, shape (n_pairs,), float64
        Mean length of an uninterrupted contact, in analysed frames.
    results.lifetime : ndarray, shape (n_pairs,), float64
        Mean length of an uninterrupted contact in ps, which is `duration` times `interval`.
    results.first_frame : ndarray, shape (n_pairs,), int64
        First frame in which a pair is in contact.
    results.counts : ndarray, shape (n_frames,), int64
        Number of contacts in each frame.
    results.contacts : ndarray, shape (n_contacts,), uint16 or uint32
        Row of each contact in `results.pairs`, one frame after the other, in ascending order within a frame. The type
        is uint16 for up to 65,536 rows in `results.pairs`, and uint32 for more. Convert the rows to int64 before you
        compute with them, because NumPy does not report overflows. Only available with ``series=True``.
    results.distances : ndarray, shape (n_contacts,), float32
        Distance of each contact in Å. Only available with ``series=True``.
    results.offsets : ndarray, shape (n_frames + 1,), int64
        Offsets into `results.contacts`: the contacts in frame ``i`` are ``contacts[offsets[i]:offsets[i + 1]]``. Only
        available with ``series=True``.

    Raises
    ------
    SelectionError
        When a group is empty, or the scheme uses none of its atoms or none of the atoms of a residue in `pairs`.
    MismatchError
        When no pairs are left, or `pairs` is not an array of pairs of different residues. When the cutoff is not a
        valid length, or your groups are in different Universes. In `run`, when the cutoff exceeds half of the shortest
        lattice vector.
    UnsupportedError
        When a group is an UpdatingAtomGroup. This error is also a TypeError.

    Warns
    -----
    MdreelWarning
        If residues are omitted because they have no atoms that the scheme uses.

    Notes
    -----
    The distance between two residues is the smallest distance between their atoms, as in mdtraj's `compute_contacts`.
    Chains can be distinguished by segment and chain identifier. `min_separation` is not applied to residues in
    different chains. Most pairs can be excluded using bounding boxes around the atoms, so the run time does not grow
    with the number of pairs of atoms. Calculations use float64.

    If you use ``soft_min=True``, the distance of two residues is

    .. math:: \beta / \ln \sum_{a, b} e^{\beta / d_{ab}} ,

    where the sum runs over all pairs of atoms of the scheme, including those farther apart than the cutoff. It is a
    smooth function of the positions, at most as large as the smallest distance, and it approaches this distance if beta
    is large. However, the smallest distance is still used to decide which residues are in contact, so you will find the
    same pairs. These are also the values of mdtraj's ``compute_contacts(soft_min=True)``, which has beta in nm.
    However, mdtraj uses float32 and returns 0 for distances below beta / 88.7 (2.3 Å for the default).

    You will need about 80 bytes of memory for each pair that has ever been in contact, and 24 bytes per frame. For
    ``series=True``, another 6 bytes per contact in each frame are needed, or 8 bytes if more than 65,536 pairs have
    ever been in contact. On systems that cannot extend memory in place (Linux can), twice as much is needed while
    blocks are merged. The results are bitwise identical for every executor and any number of workers and blocks.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> contacts = mdreel.ResidueContacts(mda.Universe(PSF, DCD)).run()
    >>> contacts.results.counts[:3]
    array([570, 558, 571])
    >>> contacts.contact_map().shape
    (214, 214)
    """

    _units = MappingProxyType({"mean": "Å", "minimum": "Å", "distances": "Å", "lifetime": "ps", "counts": ""})
    _result_dimensions = MappingProxyType(
        {
            "pairs": ("pair", "side"),
            **dict.fromkeys(
                ("frequency", "mean", "minimum", "events", "duration", "lifetime", "first_frame"), ("pair",)
            ),
            "counts": ("frame",),
            "contacts": ("contact",),
            "distances": ("contact",),
            "offsets": ("edge",),
        }
    )

    @checked_arguments
    def __init__(
        self,
        atomgroup: Atoms,
        other: Atoms | None = None,
        pairs: ArrayLike | None = None,
        scheme: ContactScheme = "closest-heavy",
        cutoff: float = 4.5,
        min_separation: int | None = None,
        *,
        soft_min: bool = False,
        soft_min_beta: float | None = None,
        series: bool = True,
        pbc: bool = True,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        if scheme not in get_args(ContactScheme):
            names = ", ".join(repr(name) for name in get_args(ContactScheme))
            raise MismatchError(f"scheme must be one of {names}, not {scheme!r}")
        if other is not None and pairs is not None:
            raise MismatchError("other and pairs both choose the pairs: give one of them")
        if min_separation is not None and min_separation < 1:
            raise MismatchError(f"min_separation must be 1 or more residues, not {min_separation}")
        self._cutoff = check_length("cutoff", cutoff, empty=0.0, doubtful=1.5)
        self._beta = _checked_beta(soft_min, soft_min_beta)
        first = atoms_of(atomgroup, name="atomgroup")
        Selection.of(first, "atomgroup")
        groups = [contact_atoms(first, scheme, "atomgroup")]
        if other is not None:
            second = atoms_of(other, name="other")
            Selection.of(second, "other")
            if second.universe is not first.universe:
                raise MismatchError("other is in another Universe: both groups must be in the same one")
            groups.append(contact_atoms(second, scheme, "other"))
        default = _ONE_GROUP if other is None else _TWO_GROUPS
        self._separation = default if min_separation is None else min_separation
        self._keeps_series, self._pbc = bool(series), bool(pbc)
        listed = None if pairs is None else _checked_pairs(pairs, groups[0])
        if listed is not None:
            groups = [groups[0][np.isin(groups[0].resindices, listed)]]
        self._groups = groups
        atoms = first.universe.atoms[np.unique(np.concatenate([one.ix for one in groups]))]
        super().__init__(atoms, trajectory, verbose=verbose)
        self._number_residues(listed)

    def _number_residues(self, listed: NDArray[np.int64] | None) -> None:
        """Number the residues of all groups in the order of their sequences."""
        residues = np.unique(np.concatenate([one.resindices for one in self._groups])).astype(np.int64)
        positions = sequence_positions(self._atomgroup.universe, residues, self._separation)
        order = np.argsort(positions)
        self._numbered, self._positions = residues[order], positions[order]
        ranks = np.empty(len(order), np.uint32)
        ranks[order] = np.arange(len(order), dtype=np.uint32)
        self._listed = None if listed is None else ranks[np.searchsorted(residues, listed)]
        if self._listed is not None:
            self._listed = np.unique(np.sort(self._listed, axis=1), axis=0)
        self._ranks = ranks[np.searchsorted(residues, np.concatenate([one.resindices for one in self._groups]))]
        if self._listed is None and not self._has_pairs():
            message = f"no two residues are {self._separation} or more apart in the sequence"
            raise MismatchError(f"there are no pairs: {message}: select more residues, or lower min_separation")

    def _has_pairs(self) -> bool:
        """Return whether two residues are far enough apart in the sequence."""
        n_first = len(self._groups[0])
        ends = [self._positions[ranks] for ranks in (self._ranks[:n_first], self._ranks[n_first:]) if len(ranks)]
        first, second = ends[0], ends[-1]
        return bool(max(second.max() - first.min(), first.max() - second.min()) >= self._separation)

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("distances use minimum images, or with pbc=False no images", whole=not self._pbc)

    def computation(self, source: Source) -> Computation:
        """Return the computation that finds the contacts of each frame."""
        n_first = len(self._groups[0])
        bounds = [slice(0, n_first), slice(n_first, None)][: len(self._groups)]
        units = [self._units_of(group, self._ranks[part]) for group, part in zip(self._groups, bounds, strict=True)]
        second = units[1] if len(units) > 1 else None
        is_periodic = None if self._pbc else False
        listed, rest = self._listed, (self._cutoff, is_periodic, self._keeps_series, self._beta)
        return residue_contacts(len(self.atoms), units[0], second, self._positions, self._separation, listed, *rest)

    def _units_of(self, group: AtomGroup, ranks: NDArray[np.uint32]) -> _Units:
        """Return the number of each residue, the offset of its first atom, and the positions of its atoms."""
        order = np.lexsort([group.ix, ranks])
        numbers, starts = np.unique(ranks[order], return_index=True)
        places = np.searchsorted(self.atoms, group.ix[order])
        return numbers, np.append(starts, len(order)).astype(np.uint32), places.astype(np.uint32)

    def conclude(self, tally: Tally) -> None:
        """Store the contacts with the indices of their residues in the Universe."""
        numbers, n_frames, events, first, _, sums, minimum, series = tally.own
        pairs, order, ranks = self._in_universe_order(numbers)
        found = self.results
        duration = n_frames / np.maximum(events, 1)
        found.pairs = pairs
        found.frequency, found.mean = (n_frames / max(tally.n_frames, 1))[order], (sums / n_frames)[order]
        found.minimum, found.events = minimum[order], events[order].astype(np.int64)
        found.duration, found.lifetime = duration[order], duration[order] * self.interval
        found.first_frame = self.frames[first[order].astype(np.intp)]
        found.counts = tally.values[:, 0].astype(np.int64)
        if series is not None:
            found.contacts, found.distances = series
            found.offsets = np.concatenate([[0], np.cumsum(found.counts)])
            if (order != np.arange(len(order))).any():
                self._sort_series(ranks)

    def _in_universe_order(
        self, numbers: NDArray[np.uint32]
    ) -> tuple[NDArray[np.int64], NDArray[np.intp], NDArray[np.uint32]]:
        """Return the pairs in ascending order, their previous positions, and their new positions."""
        pairs = self._numbered[numbers.astype(np.intp)].reshape(-1, 2)
        in_both = np.isin(pairs, self.residues.ix).all(axis=1) & np.isin(pairs, self.other_residues.ix).all(axis=1)
        pairs[in_both] = np.sort(pairs[in_both], axis=1)
        order = np.lexsort(pairs.T[::-1])
        ranks = np.empty(len(order), np.uint32)
        ranks[order] = np.arange(len(order), dtype=np.uint32)
        return pairs[order], order, ranks

    def _sort_series(self, ranks: NDArray[np.uint32]) -> None:
        """Replace the rows of the pairs in the contacts with the new rows, in ascending order within each frame."""
        found = self.results
        for start, end in zip(found.offsets[:-1], found.offsets[1:], strict=True):
            rows, distances = ranks[found.contacts[start:end]], found.distances[start:end]
            order = np.argsort(rows)
            found.contacts[start:end], distances[:] = rows[order], distances[order]

    def _describe(self) -> str:
        residues = f"{len(self.residues):,} residues"
        if len(self._groups) > 1:
            residues += f" and {len(self.other_residues):,} others"
        return f"{residues}, {self.n_frames:,} frames" if self._outcome is not None else f"{residues}, not run"


def _checked_beta(soft_min: bool, beta: float | None) -> float | None:
    """Return the parameter of the soft minimum in Å, or None for the smallest distance."""
    if not soft_min:
        if beta is not None:
            raise MismatchError("soft_min_beta is for soft_min=True: set soft_min, or leave soft_min_beta out")
        return None
    if beta is None:
        return _BETA
    beta = check_length("soft_min_beta", beta, empty=0.0, doubtful=_SMALL_BETA)
    if not math.isfinite(beta):
        raise MismatchError(f"soft_min_beta must be a finite length in Å, not {beta}")
    return beta


def _checked_pairs(pairs: Any, atoms: AtomGroup) -> NDArray[np.int64]:
    """Check and return the pairs of residues given by the user."""
    given = np.asarray(pairs)
    if given.ndim != 2 or given.shape[1] != 2 or not len(given) or given.dtype.kind not in "iu":
        message = "pairs must be residue indices of shape (n_pairs, 2), int"
        raise MismatchError(f"{message}, not {given.dtype} of shape {given.shape}")
    n_residues = len(atoms.universe.residues)
    if given.min() < 0 or given.max() >= n_residues:
        wrong = int(given.min() if given.min() < 0 else given.max())
        raise MismatchError(f"pairs has the residue index {wrong}: the Universe has {n_residues:,} residues, from 0")
    if (given[:, 0] == given[:, 1]).any():
        row = int(np.flatnonzero(given[:, 0] == given[:, 1])[0])
        raise MismatchError(f"pair {row} is residue {given[row, 0]} with itself: give two different residues")
    missing = np.setdiff1d(given, atoms.resindices)
    if len(missing):
        named = residue_names(atoms.universe.residues[missing])
        message = f"pairs names residues that have no atom in atomgroup that the scheme uses ({named})"
        raise SelectionError(f"{message}: remove these pairs, or use another scheme")
    return given.astype(np.int64)
