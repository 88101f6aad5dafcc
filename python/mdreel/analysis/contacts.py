"""Fraction of native contacts, and number of contacts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, FrameSet, Source, contact_count, contacts_of, fold, native_contacts
from mdreel.analysis.base.frame_columns import wide_columns
from mdreel.analysis.base.two_groups import TwoGroupAnalysis
from mdreel.analysis.choices import ContactMethod, PairsCounted
from mdreel.analysis.contact_fractions import hard_cut_q, radius_cut_q, soft_cut_q
from mdreel.analysis.contact_reference import (
    REFGROUP,
    GroupTypeError,
    Reference,
    UpdatingGroupError,
    can_repeat,
    each_reference,
    unique_pairs,
    warn_of_no_atoms,
    warn_of_repetitions,
)
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.periodic.unique_range import warn_of_range
from mdreel.analysis.topology.matching import MASS_TOLERANCE, Matching
from mdreel.analysis.user.fraction_fold import FractionFold, distances_between
from mdreel.analysis.user.user_functions import value_or_raise
from mdreel.errors import ArgumentError, MismatchError
from mdreel.execution.blocks import select_frames
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments_but, shown
from mdreel.foundation.unit_check import check_length
from mdreel.results.column import Column
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import atoms_of, selected
from mdreel.trajectory.universe import cell_before_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, Universe

    from mdreel.analysis.contact_reference import Groups

_OPTIONS: dict[str, dict[str, float]] = {
    "hard_cut": {},
    "soft_cut": {"beta": 5.0, "lambda_constant": 1.8},
    "radius_cut": {"radius": 4.5},
    "count": {},
}
"""Parameters of the methods with their default values. The default of ``radius`` is the argument `radius`."""


class Contacts(TwoGroupAnalysis):
    """Compute the fraction of native contacts Q between two groups, or count their contacts, over time.

    Parameters
    ----------
    u : MDAnalysis.Universe
        The Universe.
    select : tuple of two str or MDAnalysis.AtomGroup
        The two groups. If you use ``method="count"``, a group can be an UpdatingAtomGroup, which is evaluated in each
        frame.
    refgroup : tuple of two MDAnalysis.AtomGroup, sequence of such tuples, int, or None
        The two groups in one or more references, with as many atoms as in `select`. We use their positions in the
        current frame of their Universe. Alternatively, you can pass the number of a frame of the trajectory. If
        `method` is ``"count"``, this should be None.
    method : {"hard_cut", "soft_cut", "radius_cut", "count"} or callable
        Criterion for counting a contact of the reference. In ``"hard_cut"``, the atoms must not be farther apart than
        in the reference, and in ``"radius_cut"``, not farther than `radius`. ``"soft_cut"`` weights contacts by a
        smooth function of the distance. ``"count"`` counts all pairs within `radius`, and needs no reference. You can
        also pass a function that returns a number. It will be called with `kwargs` and the distances of the contacts in
        the frame and in the reference, both in Å and of shape (n_contacts,).
    radius : float
        Largest distance between two atoms that are in contact in the reference, in Å.
    pbc : bool
        Whether to use the minimum image convention if the frame or the reference has a cell.
    kwargs : mapping, optional
        Parameters of the method. For ``"soft_cut"``, you can set ``beta`` (default 5 Å^-1) and ``lambda_constant``
        (default 1.8). For ``"radius_cut"``, you can set ``radius`` (default: `radius`), which does not affect the
        contacts of the reference.
    pairs : {"unique", "all"}, optional
        Pairs of atoms to consider. Use ``"unique"`` to count each pair of different atoms once, or ``"all"`` to count
        all entries of the distance matrix, as in MDAnalysis. If the groups share atoms, these will then be in contact
        with themselves, and pairs of them are counted twice. The default is ``"unique"`` for ``method="count"``, and
        otherwise ``"all"`` with a warning if this makes a difference.
    require_cell : bool
        Whether to require a cell in every frame and reference if `pbc` is true.
    tol_mass : float
        Largest difference in amu that is allowed between the masses of corresponding atoms.
    match_atoms : bool
        Whether to check that the atoms of `refgroup` correspond to the atoms of `select`. This means that they have the
        same masses, and the same names and residues in the same order.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.timeseries : ndarray, shape (n_frames, 1 + n_references), float64
        The frame number, followed by Q for each reference or, with ``"count"``, by the number of contacts.
    grA, grB : MDAnalysis.AtomGroup
        The groups.
    n_initial_contacts : int
        Number of contacts in the first reference. If the reference is a frame number, this attribute and the next two
        are only available after `run`.
    initial_contacts : list of ndarray, shape (n_first, n_second), bool
        Contacts of each reference.
    r0 : list of ndarray, shape (n_first, n_second), float64
        Distances in each reference in Å.
    fraction_contacts : callable
        The function that computes Q from the distances and the reference distances.
    fraction_kwargs : dict
        The parameters of this function, taken from `kwargs`.

    Raises
    ------
    SelectionError
        When your selection is empty or not valid. However, one group may be empty if `refgroup` consists of groups. If
        a group is neither a string nor an AtomGroup, this error is also a TypeError.
    UnsupportedError
        When you use an UpdatingAtomGroup and `method` is not ``"count"``. This error is also a TypeError.
    MismatchError
        When the radius is not a valid length, the method is unknown, or the atoms of a reference do not correspond to
        those of your groups. In `run`, when a reference has no contacts, or your function does not return a number.
        When a reference or (in `run`) a frame has no periodic cell, and you use ``require_cell=True``. When a cell has
        no volume, and you use ``pbc=True``.

    Warns
    -----
    MdreelWarning
        When pairs of atoms are counted twice because your groups share atoms or contain an atom twice, and you did not
        pass `pairs`. You will also be warned if a group is empty, as `run` then raises a MismatchError for lack of
        contacts.
    RangeWarning
        When contacts are counted beyond half of the shortest lattice vector. A pair of atoms can then only be counted
        once, although several of its images may be in contact.

    Notes
    -----
    Q is the fraction of the contacts in a reference that also exist in a frame. For ``"soft_cut"``, it is the mean of
    ``1 / (1 + exp(beta (r - lambda r0)))`` (Best, Hummer, Eaton, PNAS 110 (2013) 17874), as in
    `MDAnalysis.analysis.contacts.Contacts`. Note that if the groups share atoms, some contacts are spurious: a shared
    atom is in contact with itself (1/2 with ``"soft_cut"``) and pairs of shared atoms are counted twice. To avoid this,
    use ``pairs="unique"``. Calculations use float64, so contacts at the cutoff may differ from those in MDAnalysis,
    which uses single precision. Only pairs that are in contact in a reference are evaluated. If `method` is a function,
    all distances are computed. For ``"count"``, pairs are found using a cell list.

    You will need 8 bytes of memory per frame and column, 16 bytes per frame, and 16 bytes per reference contact.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> charged = "(resname ASP GLU) and name OE* OD*", "(resname ARG LYS) and name NH* NZ"
    >>> acidic, basic = map(u.select_atoms, charged)
    >>> contacts = mdreel.Contacts(u, (acidic, basic), (acidic, basic), radius=6.0).run()
    >>> contacts.results.timeseries[:2]
    array([[0.        , 1.        ],
           [1.        , 0.58252427]])
    """

    _moved_to_results: ClassVar = {"timeseries": "timeseries"}
    _may_change = True
    _result_heads = MappingProxyType({"timeseries": 1})
    _result_dimensions = MappingProxyType({"timeseries": ("frame", "reference")})

    @checked_arguments_but("select")
    def __init__(
        self,
        u: Universe,
        select: tuple[str | AtomGroup, str | AtomGroup],
        refgroup: Groups | Sequence[Groups] | int | None,
        method: ContactMethod | Callable[..., Any] = "hard_cut",
        radius: float = 4.5,
        pbc: bool = True,
        kwargs: Mapping[str, Any] | None = None,
        *,
        pairs: PairsCounted | None = None,
        require_cell: bool = False,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        if pairs not in ("unique", "all", None):
            raise MismatchError(f"pairs must be 'unique' or 'all', not {pairs!r}")
        if not callable(method) and method not in _OPTIONS:
            raise MismatchError(
                f"method must be 'hard_cut', 'soft_cut', 'radius_cut', 'count' or a function, not {method!r}"
            )
        if (refgroup is None) != (method == "count"):
            raise MismatchError(f"method {method!r} needs {'no' if method == 'count' else 'a'} refgroup")
        if not isinstance(pbc, bool | np.bool_):
            raise MismatchError(f"pbc must be True or False, not {pbc!r}")
        self.fraction_kwargs: dict[str, Any] = dict(kwargs or {})
        unknown = set() if callable(method) else set(self.fraction_kwargs) - set(_OPTIONS[method])
        if unknown:
            raise MismatchError(f"method {method!r} has no parameter {', '.join(sorted(unknown))}")
        if not isinstance(select, Sequence) or isinstance(select, str) or len(select) != 2:
            raise ArgumentError(f"select must be a pair of texts or AtomGroups, not {shown(select)}")
        may_be_empty = refgroup is not None and not isinstance(refgroup, int)
        counts = method == "count"
        first, second = (self._get_atomgroup(u, group, may_be_empty, may_change=counts) for group in select)
        super().__init__(first, second, "the second group", trajectory, may_be_empty=may_be_empty, verbose=verbose)
        if not counts and not (len(first) and len(second)):
            warn_of_no_atoms("first" if not len(first) else "second")
        self.u, self.select, self.pbc = u, select, bool(pbc)
        self._method = method
        self._is_periodic = (True if require_cell else None) if pbc else False
        self._is_unique = pairs == "unique" or (pairs is None and method == "count")
        if pairs is None and method != "count" and can_repeat(self._from, self._to):
            warn_of_repetitions()
        self._matching = Matching(tol_mass, match_atoms)
        self._radius = check_length("radius", radius, empty=0.0, doubtful=2.0)
        self._frame = refgroup if isinstance(refgroup, int) else None
        self._references: list[Reference] = []
        if not isinstance(refgroup, int):
            self._references = [self._reference_of(groups) for groups in each_reference(refgroup)]

    @property
    def grA(self) -> AtomGroup:  # noqa: N802 (MDAnalysis's name)
        """The first group."""
        return self._first

    @property
    def grB(self) -> AtomGroup:  # noqa: N802 (MDAnalysis's name)
        """The second group."""
        return self._second

    @property
    def fraction_contacts(self) -> Callable[..., Any]:
        """The function that computes Q from distances, reference distances and `fraction_kwargs`."""
        if self._method == "count":
            raise AttributeError("method 'count' computes no fraction of contacts")
        if callable(self._method):
            return self._method
        cut = functools.partial(radius_cut_q, radius=self._radius)
        functions: dict[str, Callable[..., Any]] = {"hard_cut": hard_cut_q, "soft_cut": soft_cut_q}
        return functions.get(self._method, cut)

    @property
    def initial_contacts(self) -> list[NDArray[np.bool_]]:
        """Contacts of each reference, shape (n_first, n_second)."""
        found = [np.zeros((len(self._from), len(self._to)), bool) for _ in self._references]
        for is_contact, reference in zip(found, self._references, strict=True):
            is_contact[reference.places[:, 0], reference.places[:, 1]] = True
        return found

    @property
    def r0(self) -> list[NDArray[np.float64]]:
        """Distances of all pairs in each reference, shape (n_first, n_second), float64, in Å."""
        return [distances_between(one.first, one.second, one.cell) for one in self._references]

    @property
    def quantity(self) -> str:
        """Computed quantity: ``q`` or ``contacts``."""
        return "contacts" if self._method == "count" else "q"

    @property
    def n_initial_contacts(self) -> int:
        """Number of contacts in the first reference."""
        return len(self._references[0].places) if self._references else 0

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        why = "distances use minimum images, or with pbc=False no images"
        return Boundaries(why, whole=not self.pbc)

    def computation(self, source: Source) -> Computation:
        """Return the computation that finds the contacts of each frame."""
        n_atoms = len(self.atoms)
        if self._method == "count":
            first, second = (one.members(self.atoms) for one in self._chosen)
            return contact_count(n_atoms, first, second, self._radius, self._is_periodic, self._is_unique)
        if self._frame is not None:
            self._references = [self._reference_at(self._frame, source)]
        for reference in self._references:
            if not len(reference.places):
                why = ": raise the radius" if len(self._from) and len(self._to) else ", because a group has no atoms"
                raise MismatchError(f"the reference has no contacts up to {self._radius:g} Å{why}")
        if callable(self._method):
            references = [(reference.places, reference.distances) for reference in self._references]
            groups = (self._from, self._to)
            own = FractionFold(self._method, self.fraction_kwargs, groups, references, self._is_periodic)
            own.check()
            return fold(own, n_atoms, np.arange(n_atoms, dtype=np.uint32))
        values = {**_OPTIONS[self._method], "radius": self._radius, **self.fraction_kwargs}
        measure = tuple(float(values[name]) for name in _OPTIONS[self._method])
        contacts = [
            (np.stack([self._from[places[:, 0]], self._to[places[:, 1]]], axis=1), distances)
            for places, distances in ((one.places, one.distances) for one in self._references)
        ]
        return native_contacts(n_atoms, contacts, measure, self._is_periodic)

    def conclude(self, tally: Tally) -> None:
        """Store frame numbers and values, and warn if a pair of atoms can have several images within the radius."""
        if callable(self._method):
            values = np.concatenate(value_or_raise(tally.own))
            self.results.timeseries = np.column_stack([tally.rows[:, 0], values])
            return
        self.results.timeseries = np.delete(tally.rows, 1, axis=1)
        if self._method == "count":
            what = "contacts were counted up to {}, where a pair of atoms can have several contacts"
            warn_of_range(tally, self._radius, what, "Use a radius of {0} Å at most")

    def columns(self) -> Sequence[Column]:
        """Return columns with the frame, the time, and Q for each reference or the number of contacts."""
        values = self.results.timeseries[:, 1:]
        return wide_columns(self.frames, self.times, values, [self.quantity] * values.shape[1], "")

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw Q for the first reference, or the number of contacts, over time."""
        from mdreel.results.figure import time_series

        frames, values = self.results.timeseries[:, :2].T
        label = "Contacts" if self._method == "count" else "Native contacts Q"
        return time_series(self.times, values, label, title, ax, frames=frames.astype(np.int64))

    def _reference_of(self, groups: Groups) -> Reference:
        """Return the reference for groups in the current frame of their Universe."""
        if not isinstance(groups, Sequence) or len(groups) != 2:
            raise MismatchError(f"{REFGROUP}, not {shown(groups)}")
        sizes = [len(atoms_of(group, name="refgroup")) for group in groups]
        if sizes != [len(self._from), len(self._to)]:
            raise MismatchError(f"refgroup has {sizes} atoms, the groups have {[len(self._from), len(self._to)]}")
        for name, own, theirs in zip(("first", "second"), (self._first, self._second), groups, strict=True):
            self._matching.check(own, theirs, f"the {name} group of refgroup")
        universe = groups[0].universe
        is_opened = universe is self._first.universe and self._given_trajectory is None
        cell = cell_before_run(universe, is_opened) if self.pbc else None
        first, second = (np.asarray(group.positions, np.float64) for group in groups)
        return self._near(first, second, cell, [group.ix for group in groups])

    def _reference_at(self, frame: int, source: Source) -> Reference:
        """Return a frame of the trajectory as the reference."""
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
    ) -> Reference:
        """Return a reference with the pairs of atoms that are in contact in it.

        Parameters
        ----------
        first, second : ndarray, shape (n_first, 3) and (n_second, 3), float64
            Positions of the groups in the reference in Å.
        cell : ndarray, shape (6,), float32, or None
            Cell of the reference.
        atoms : two ndarrays, shape (n_first,) and (n_second,), int
            Atom indices of the groups in the reference.
        """
        if self._is_periodic and cell is None:
            raise MismatchError("the reference has no periodic cell: there are no shortest images")
        used = cell if self.pbc else None
        if not len(first) or not len(second):
            return Reference(first, second, used, np.empty((0, 2), np.uint32), np.empty(0))
        places, distances = contacts_of(first, second, used, self._radius)
        if self._is_unique and can_repeat(self._from, self._to):
            contacts = np.stack([self._from[places[:, 0]], self._to[places[:, 1]]], axis=1)
            kept = unique_pairs(contacts, np.stack([atoms[0][places[:, 0]], atoms[1][places[:, 1]]], axis=1))
            places, distances = places[kept], distances[kept]
        return Reference(first, second, used, places, distances)

    @staticmethod
    def _get_atomgroup(
        u: Universe, sel: str | AtomGroup, may_be_empty: bool = False, *, may_change: bool = False
    ) -> AtomGroup:
        """Return the group that a selection string or an AtomGroup specifies."""
        if isinstance(sel, str):
            return selected(u, sel, may_be_empty=may_be_empty)
        # Compares names of classes, because importing MDAnalysis takes longer than most analyses.
        kinds = {kind.__name__ for kind in type(sel).__mro__}
        if "UpdatingAtomGroup" in kinds and not may_change:
            message = "must be either string or a static AtomGroup, not an UpdatingAtomGroup, whose atoms change"
            remedy = "select them without updating=True, or count contacts by method='count' and refgroup=None"
            raise UpdatingGroupError(f"a group of select {message}: {remedy}")
        if "AtomGroup" not in kinds:
            message = f"must be either string or a static AtomGroup, not {type(sel).__name__}"
            raise GroupTypeError(f"a group of select {message}")
        return sel
