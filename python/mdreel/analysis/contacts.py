"""Fraction of native contacts, and number of contacts."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, FrameSet, Source, contact_count, contacts_of, native_contacts
from mdreel.analysis.base.two_groups import TwoGroupAnalysis
from mdreel.analysis.choices import ContactMethod, PairsCounted
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.periodic.unique_range import warn_of_range
from mdreel.analysis.topology.matching import MASS_TOLERANCE, Matching
from mdreel.analysis.topology.reference import is_group
from mdreel.errors import MismatchError, SelectionError
from mdreel.execution.blocks import select_frames
from mdreel.execution.tally import Tally
from mdreel.foundation.unit_check import check_length
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, Universe

    Groups: TypeAlias = tuple[AtomGroup, AtomGroup]

_SOFT = {"beta": 5.0, "lambda_constant": 1.8}


class Contacts(TwoGroupAnalysis):
    """Fraction of native contacts Q between two groups, or the number of their contacts, over time.

    Parameters
    ----------
    u : MDAnalysis.Universe
        The Universe.
    select : tuple of two str or MDAnalysis.AtomGroup
        The groups.
    refgroup : tuple of two MDAnalysis.AtomGroup, sequence of such tuples, or int, optional
        The groups in one or several references, each at the current frame of its Universe, with as many atoms as
        `select`; or the number of a frame of the trajectory. Required unless `method` is ``"count"``.
    method : {"hard_cut", "soft_cut", "radius_cut", "count"}
        Criterion for a contact of the reference. With ``"hard_cut"``, the atoms must not be farther apart than in the
        reference. With ``"soft_cut"``, the contact is weighted with a smooth function of the distance. With
        ``"radius_cut"``, the atoms must not be farther apart than `radius`. With ``"count"``, all pairs within
        `radius` are counted, and no reference is needed.
    radius : float
        Largest distance between two atoms in contact in the reference, Å.
    pbc : bool, optional
        Whether to use the shortest images. With True, every frame and reference must have a cell. By default, the
        shortest images are used where there is a cell, as in MDAnalysis.
    pairs : {"unique", "all"}
        Pairs of atoms that can be contacts. With ``"unique"``, each pair of different atoms counts once. With
        ``"all"``, each entry of the distance matrix counts, as in MDAnalysis: if the groups share atoms, these are in
        contact with themselves, and each pair of them counts twice.
    kwargs : mapping, optional
        Parameters of ``"soft_cut"``: ``beta`` (default 5, in Å^-1) and ``lambda_constant`` (default 1.8).
    tol_mass : float
        Largest difference between the masses of two corresponding atoms, amu.
    match_atoms : bool
        Whether the atoms of `refgroup` must correspond to those of `select`: same masses, and names and residues in
        the same order. With False, the atoms are compared in the given order without this check.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made from a topology alone is then enough.

    Attributes
    ----------
    results.timeseries : ndarray, shape (n_frames, 1 + n_references), float64
        Frame, and Q for each reference. With ``"count"``: frame, and number of contacts.
    n_initial_contacts : int
        Number of contacts of the first reference. If the reference is a frame, this is known after `run`.

    Raises
    ------
    SelectionError
        If a group has no atoms, or a selection is not valid.
    MismatchError
        If the radius is not a valid length or the method is unknown. If a reference has another number of atoms, atoms
        that do not correspond to those of the groups, or no contacts. With ``pbc=True``, if a reference or (in `run`) a
        frame has no periodic cell. Unless `pbc` is false, if a cell has no volume.

    Warns
    -----
    RangeWarning
        If contacts are counted beyond half the shortest lattice vector of the cell in a frame. There, a pair of atoms
        counts once although several of its images may be in contact.

    Notes
    -----
    Q is the fraction of the contacts of a reference that exist in a frame. With ``"soft_cut"`` it is the mean of
    ``1 / (1 + exp(beta (r - lambda r0)))`` (Best, Hummer, Eaton, PNAS 110 (2013) 17874), as in
    `MDAnalysis.analysis.contacts.Contacts`. If the groups share atoms, Q of MDAnalysis includes more contacts: each
    shared atom is always in contact with itself (1/2 with ``"soft_cut"``), and pairs of shared atoms count twice. Use
    ``pairs="all"`` for this definition. For groups without shared atoms, both definitions agree. Arithmetic is float64;
    in the single precision of MDAnalysis, contacts at the cutoff may differ. Only pairs that are in contact in a
    reference are evaluated; for counts, a cell list finds the pairs.

    Memory: the results take 8 bytes for each frame and column, and 16 bytes for number and time of each frame. Each
    contact of a reference takes 16 bytes.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> acidic = u.select_atoms("(resname ASP GLU) and name OE* OD*")
    >>> basic = u.select_atoms("(resname ARG LYS) and name NH* NZ")
    >>> contacts = Contacts(u, (acidic, basic), (acidic, basic), radius=6.0).run()
    >>> contacts.results.timeseries[:2]
    array([[0.        , 1.        ],
           [1.        , 0.58252427]])
    """

    def __init__(
        self,
        u: "Universe",
        select: "tuple[str | AtomGroup, str | AtomGroup]",
        refgroup: "Groups | Sequence[Groups] | int | None" = None,
        method: ContactMethod = "hard_cut",
        radius: float = 4.5,
        pbc: bool | None = None,
        kwargs: Mapping[str, float] | None = None,
        *,
        pairs: PairsCounted = "unique",
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
        trajectory: Trajectory | None = None,
    ) -> None:
        if pairs not in ("unique", "all"):
            raise MismatchError(f"pairs must be 'unique' or 'all', not {pairs!r}")
        if method not in ("hard_cut", "soft_cut", "radius_cut", "count"):
            raise MismatchError(f"method must be 'hard_cut', 'soft_cut', 'radius_cut' or 'count', not {method!r}")
        if (refgroup is None) != (method == "count"):
            raise MismatchError(f"method {method!r} needs {'no' if method == 'count' else 'a'} refgroup")
        unknown = set(kwargs or ()) - set(_SOFT if method == "soft_cut" else ())
        if unknown:
            raise MismatchError(f"method {method!r} has no parameter {', '.join(sorted(unknown))}")
        first, second = (_group_of(u, group) for group in select)
        super().__init__(first, second, "the second group", trajectory)
        self._method = method
        self._is_unique = pairs == "unique"
        self._matching = Matching(tol_mass, match_atoms)
        self._radius = check_length("radius", radius, empty=0.0, doubtful=2.0)
        self._pbc = pbc
        self._soft = {**_SOFT, **(kwargs or {})}
        self._frame = refgroup if isinstance(refgroup, int) else None
        self._contacts = [] if isinstance(refgroup, int) else [self._contacts_of(groups) for groups in _each(refgroup)]

    @property
    def quantity(self) -> str:
        """Computed quantity: ``q`` or ``contacts``."""
        return "contacts" if self._method == "count" else "q"

    @property
    def n_initial_contacts(self) -> int:
        """Number of contacts of the first reference."""
        return len(self._contacts[0][0]) if self._contacts else 0

    @property
    def boundaries(self) -> Boundaries:
        """What the analysis requires of molecules that the cell boundary may cut."""
        return Boundaries(
            "distances are those of the shortest images, or with pbc=False of the atoms as they lie",
            whole=self._pbc is False,
        )

    def computation(self, source: Source) -> Computation:
        """Return the computation that finds the contacts of each frame."""
        n_atoms = len(self.atoms)
        if self._method == "count":
            return contact_count(n_atoms, self._from, self._to, self._radius, self._pbc, self._is_unique)
        if self._frame is not None:
            self._contacts = [self._contacts_at(self._frame, source)]
        measures: dict[str, tuple[float, ...]] = {
            "hard_cut": (),
            "radius_cut": (self._radius,),
            "soft_cut": (self._soft["beta"], self._soft["lambda_constant"]),
        }
        return native_contacts(n_atoms, self._contacts, measures[self._method], self._pbc)

    def conclude(self, tally: Tally) -> None:
        """Store frame numbers and values, and warn of distances beyond the range of unique images."""
        self.results.timeseries = np.delete(tally.rows, 1, axis=1)
        if self._method == "count":
            what = "contacts were counted up to {}: there may be more of them than pairs of atoms"
            warn_of_range(tally, self._radius, what, "Use a radius of {0} Å at most")

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw Q of the first reference, or the number of contacts, over time."""
        from mdreel.results.figure import time_series

        frames, values = self.results.timeseries[:, :2].T
        label = "Contacts" if self._method == "count" else "Native contacts Q"
        return time_series(self.times, values, label, title, ax, frames=frames.astype(np.int64))

    def _contacts_of(self, groups: "Groups") -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """Return the contacts of a reference: indices into the atoms read, shape (n, 2), and distances, Å."""
        sizes = [len(Selection.of(group, "refgroup").places) for group in groups]
        if sizes != [len(self._from), len(self._to)]:
            raise MismatchError(f"refgroup has {sizes} atoms, the groups have {[len(self._from), len(self._to)]}")
        for name, own, theirs in zip(("first", "second"), (self._first, self._second), groups, strict=True):
            self._matching.check(own, theirs, f"the {name} group of refgroup")
        dimensions = groups[0].universe.dimensions
        cell = None if dimensions is None else np.asarray(dimensions, np.float32)
        first, second = (np.asarray(group.positions, np.float64) for group in groups)
        return self._near(first, second, cell, [group.ix for group in groups])

    def _contacts_at(self, frame: int, source: Source) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """Return the contacts of a frame of the trajectory; see `_contacts_of`."""
        will_come = source.is_growing and frame >= 0
        listed = None if will_come else select_frames(source, frames=[frame])
        read = source.read(listed or FrameSet.range(frame, 1, 1), self.atoms)
        positions = read.positions[0].astype(np.float64)
        cell = read.dimensions[0] if read.has_cell[0] else None
        return self._near(positions[self._from], positions[self._to], cell, [self._from, self._to])

    def _near(
        self,
        first: NDArray[np.float64],
        second: NDArray[np.float64],
        cell: NDArray[np.float32] | None,
        atoms: Sequence[NDArray[np.integer]],
    ) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """Return the pairs of atoms in contact, and their distances, Å; see `_contacts_of`.

        Parameters
        ----------
        first, second : ndarray, shape (n_first, 3) and (n_second, 3), float64
            Positions of the groups in the reference, Å.
        cell : ndarray, shape (6,), float32, or None
            Cell of the reference.
        atoms : two ndarrays, shape (n_first,) and (n_second,), int
            Atom indices of the groups in the reference.
        """
        if self._pbc and cell is None:
            raise MismatchError("the reference has no periodic cell: there are no shortest images")
        places, distances = contacts_of(first, second, None if self._pbc is False else cell, self._radius)
        contacts = np.stack([self._from[places[:, 0]], self._to[places[:, 1]]], axis=1)
        if self._is_unique and _can_repeat(self._from, self._to):
            kept = _unique(contacts, np.stack([atoms[0][places[:, 0]], atoms[1][places[:, 1]]], axis=1))
            contacts, distances = contacts[kept], distances[kept]
        if not len(contacts):
            raise MismatchError(f"the reference has no contacts up to {self._radius:g} Å")
        return contacts, distances


def _can_repeat(first: NDArray[np.uint32], second: NDArray[np.uint32]) -> bool:
    """Return whether a pair of the groups can be an atom with itself, or can occur twice."""
    n_atoms = sum(len(np.unique(group)) for group in (first, second))
    return n_atoms < len(first) + len(second) or len(np.union1d(first, second)) < n_atoms


def _unique(pairs: NDArray[np.uint32], of_reference: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the indices of the distinct pairs of different atoms, ascending; the order within a pair is ignored.

    Two pairs are the same only if they also have the same atoms in the reference, whose groups may share other atoms.
    """
    is_turned = (pairs[:, 0] > pairs[:, 1])[:, None]
    sides = [np.where(is_turned, each[:, ::-1], each) for each in (pairs, of_reference)]
    _, kept = np.unique(np.concatenate(sides, axis=1), axis=0, return_index=True)
    kept = np.sort(kept)
    different: NDArray[np.intp] = kept[pairs[kept, 0] != pairs[kept, 1]]
    return different


def _group_of(universe: "Universe", group: "str | AtomGroup") -> "AtomGroup":
    if not isinstance(group, str):
        return group
    from MDAnalysis.exceptions import SelectionError as Misunderstood

    try:
        return universe.select_atoms(group)
    except Misunderstood as error:
        raise SelectionError(f"{group!r}: {error}") from error


def _each(refgroup: "Groups | Sequence[Groups] | None") -> "Sequence[Groups]":
    """Return the references as a sequence, also if there is only one."""
    if refgroup is None:
        return ()
    first, *others = refgroup
    return [(first, *others)] if is_group(first) else refgroup
