"""Hydrogen bonds in each frame, and their lifetimes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, fold, hydrogen_bonds
from mdreel.analysis.hydrogen_bond_counts import BondCounts
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.hydrogen_bond_atoms import (
    bonded_pairs,
    both_ways,
    groups_between,
    guess_acceptors,
    guess_donors,
    guess_hydrogens,
    masks_between,
    may_change,
    pairs_within,
)
from mdreel.analysis.topology.hydrogen_bond_atoms import select as select_atoms
from mdreel.analysis.updated_bonds import BondRules, UpdatedBonds
from mdreel.analysis.user.user_functions import value_or_raise
from mdreel.errors import ArgumentError, MdreelWarning, MismatchError, SelectionError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments, shown
from mdreel.foundation.stack_level import caller_level
from mdreel.foundation.unit_check import check_angle, check_length
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Selection, members_of
from mdreel.trajectory.selection_tree import parsed_selection
from mdreel.trajectory.universe import cell_before_run

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

_LEAST_DISTANCE = 1.0  # Å between donor and acceptor


class HydrogenBondAnalysis(BondCounts):
    """Find hydrogen bonds over a trajectory, with their atoms, distances and angles.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The Universe.
    donors_sel, hydrogens_sel, acceptors_sel : str, optional
        Selections in MDAnalysis's selection language. By default, hydrogens and acceptors are guessed from masses and
        charges, and donors are the atoms to which the hydrogens are bonded.
    between : sequence of pairs of str, or a pair, optional
        Pairs of selections, which are applied to the current frame of the Universe. Only hydrogen bonds between the two
        selections of a pair will be found.
    d_h_cutoff : float
        Largest distance between a donor and its hydrogen in Å, which is only used if you set `donors_sel`.
    d_a_cutoff : float
        Largest distance between donor and acceptor in Å.
    d_h_a_angle_cutoff : float
        Lower limit for the angle between donor, hydrogen and acceptor, in degrees.
    update_selections : bool
        Whether to apply the selections again in each frame and, if you set `donors_sel`, to also pair donors and
        hydrogens in each frame. Otherwise, they are only applied to the current frame of the Universe. This is not
        needed if you do not set `donors_sel` and your selections do not depend on positions. In this case, the faster
        method is always used.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology,
        unless selections need positions and `update_selections` is False.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.hbonds : ndarray, shape (n_hbonds, 6), float64
        The columns are the frame, the indices of donor, hydrogen and acceptor, the distance between donor and acceptor
        (Å), and the angle (degrees). Rows are sorted by frame, then by donor and acceptor.
    donors_sel, hydrogens_sel, acceptors_sel : str
        The given or guessed selections. You can change these before `run`, as well as `d_h_cutoff`, `d_a_cutoff`,
        `d_h_a_angle` and `update_selections`.
    u : MDAnalysis.Universe
        The Universe.
    between_ags : list of tuple of MDAnalysis.AtomGroup, or None
        The groups selected by `between`.

    Raises
    ------
    SelectionError
        When your selection is invalid, or a hydrogen has no bond and you did not pass `donors_sel`.
    MissingDataError
        When your topology lacks data that is needed to guess atoms or find donors. This error is also a
        `SelectionError` and MDAnalysis's NoDataError.
    MismatchError
        When a criterion is not a valid distance or angle or cannot be met by any hydrogen bond, or `between` is empty.
    UnsupportedError
        When `between` contains more than 32 pairs.

    Warns
    -----
    MdreelWarning
        When no donors with hydrogens or no acceptors can be found. You will also be warned when the guess by charge
        misses nitrogens, oxygens or their hydrogens, as it does for the OPLS-AA and AMBER force fields.

    Notes
    -----
    To form a hydrogen bond, donor and acceptor must be more than 1 Å and at most `d_a_cutoff` apart, and the angle at
    the hydrogen must be larger than `d_h_a_angle_cutoff`. This is the definition of
    `MDAnalysis.analysis.hydrogenbonds.HydrogenBondAnalysis`. If a frame has a cell, the minimum image is used. Note
    that a bond between hydrogens, as in rigid water models, does not make them donors. Calculations use float64, so
    bonds at the cutoff may differ from those in MDAnalysis, which uses single precision. Pairs are found using a cell
    list, so the run time grows linearly with the number of atoms.

    You will need 48 bytes of memory per hydrogen bond (twice as much while the results are assembled), and 16 bytes per
    frame. `lifetime` needs about 50 bytes per bond. The results are bitwise identical for every executor and any number
    of workers.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> bonds = mdreel.HydrogenBondAnalysis(u, "name N", "name HN", "name O").run(stop=10)
    >>> bonds.results.hbonds.shape[1], bonds.count_by_time().shape
    (6, (10,))
    """

    _moved_to_results: ClassVar[Mapping[str, str]] = {"hbonds": "hbonds"}

    @checked_arguments
    def __init__(
        self,
        universe: Universe,
        donors_sel: str | None = None,
        hydrogens_sel: str | None = None,
        acceptors_sel: str | None = None,
        between: Sequence[Sequence[str]] | Sequence[str] | None = None,
        d_h_cutoff: float = 1.2,
        d_a_cutoff: float = 3.0,
        d_h_a_angle_cutoff: float = 150,
        update_selections: bool = True,
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        if "Universe" not in {kind.__name__ for kind in type(universe).__mro__}:
            raise SelectionError(f"universe must be an MDAnalysis Universe, not {type(universe).__name__}")
        super().__init__(universe.atoms[:1], trajectory, verbose=verbose)
        self.u = universe
        self.d_h_cutoff, self.d_a_cutoff, self.d_h_a_angle = d_h_cutoff, d_a_cutoff, d_h_a_angle_cutoff
        self.update_selections = update_selections
        self._given_criteria = self._checked_criteria = (np.nan, np.nan, np.nan)
        self._criteria()
        self.between_ags = groups_between(universe, between)
        self._selections: dict[str, str | None] = {}
        self.donors_sel, self.hydrogens_sel, self.acceptors_sel = donors_sel, hydrogens_sel, acceptors_sel
        self._ready_for: tuple[Any, ...] = ()
        self._rules: BondRules | None = None
        self._make_ready()

    @property
    def donors_sel(self) -> str | None:
        """Selection of the donors. None if they are determined from bonds."""
        return self._selections["donors_sel"]

    @donors_sel.setter
    def donors_sel(self, selection: str | None) -> None:
        self._selections["donors_sel"] = _stripped(selection, "donors_sel")

    @property
    def hydrogens_sel(self) -> str:
        """Selection of the hydrogens. By default, it is guessed."""
        return self._selections["hydrogens_sel"] or ""

    @hydrogens_sel.setter
    def hydrogens_sel(self, selection: str | None) -> None:
        self._selections["hydrogens_sel"] = (
            self.guess_hydrogens() if selection is None else _stripped(selection, "hydrogens_sel")
        )

    @property
    def acceptors_sel(self) -> str:
        """Selection of the acceptors. By default, it is guessed."""
        return self._selections["acceptors_sel"] or ""

    @acceptors_sel.setter
    def acceptors_sel(self, selection: str | None) -> None:
        self._selections["acceptors_sel"] = (
            self.guess_acceptors() if selection is None else _stripped(selection, "acceptors_sel")
        )

    @checked_arguments
    def guess_hydrogens(
        self, select: str = "all", max_mass: float = 1.1, min_charge: float = 0.3, min_mass: float = 0.9
    ) -> str:
        """Return a selection of polar hydrogens.

        Parameters
        ----------
        select : str
            Selection of the atoms to consider.
        max_mass, min_mass : float
            Upper and lower limits (exclusive) for the mass of a hydrogen, in amu.
        min_charge : float
            Lower limit (exclusive) for the charge, in e.

        Returns
        -------
        str
            Selection by residue and atom names, or by types if your topology does not contain names. This is an empty
            string if no atoms can be found.

        Raises
        ------
        MismatchError
            When no mass can lie between the limits.
        MissingDataError
            When your topology lacks masses, charges or names. This error is also a `SelectionError` and MDAnalysis's
            NoDataError.
        """
        return guess_hydrogens(self.u, select, (min_mass, max_mass), min_charge, self.between_ags)

    @checked_arguments
    def guess_donors(self, select: str = "all", max_charge: float = -0.5) -> str:
        """Return a selection of donors that are bonded to hydrogens. See `guess_hydrogens` for the results and errors.

        If the topology has no bonds, atoms within `d_h_cutoff` of a hydrogen in the current frame will be considered
        bonded.

        Parameters
        ----------
        select : str
            Selection of the atoms to consider.
        max_charge : float
            Upper limit (exclusive) for the charge, in e.
        """
        hydrogens = select_atoms(self.u, self.hydrogens_sel, "hydrogens_sel")
        return guess_donors(self.u, select, max_charge, hydrogens, self.d_h_cutoff, self.between_ags)

    @checked_arguments
    def guess_acceptors(self, select: str = "all", max_charge: float = -0.5) -> str:
        """Return a selection of acceptors: atoms whose charge in e is below `max_charge`. See `guess_hydrogens`."""
        return guess_acceptors(self.u, select, max_charge, self.between_ags)

    @property
    def atoms(self) -> NDArray[np.uint32]:
        """Indices of the atoms that the computation receives, in ascending order."""
        self._make_ready()
        return self._selection.atoms

    @property
    def has_candidates(self) -> bool:
        """Whether there are donors with hydrogens and acceptors, or selections that may find some in later frames."""
        self._make_ready()
        return self._is_open or bool(len(self._pairs) and len(self._acceptors))

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("distances and angles use minimum images")

    def computation(self, source: Source) -> Computation:
        """Return the computation that finds the hydrogen bonds of each frame."""
        atoms, (_, distance, angle) = self.atoms, self._criteria()
        if self._rules is not None:
            places = np.arange(len(atoms), dtype=np.uint32)
            return fold(UpdatedBonds(self._rules, atoms, len(self.u.atoms)), len(atoms), places)
        donors, hydrogens, acceptors = (
            np.searchsorted(atoms, each).astype(np.uint32) for each in (*self._pairs.T, self._acceptors.ix)
        )
        masks = masks_between(self.between_ags, self._pairs[:, 0], self._acceptors.ix)
        of_hydrogens, of_acceptors = self._changing
        # A donor belongs to its hydrogen, which is what is selected.
        from_donors = members_of(donors, of_hydrogens, atoms, self._pairs[:, 1])
        to_acceptors = members_of(acceptors, of_acceptors, atoms, self._acceptors.ix)
        return hydrogen_bonds(len(atoms), from_donors, hydrogens, to_acceptors, masks, distance, angle)

    def conclude(self, tally: Tally) -> None:
        """Store the hydrogen bonds with the Universe indices of their atoms."""
        if self._rules is not None:
            found = value_or_raise(tally.own)
            frames = np.repeat(tally.rows[:, 0], [len(each) for each in found])
            self.results.hbonds = np.column_stack([frames, np.concatenate(found)])
            return
        hbonds = tally.records
        hbonds[:, 1:4] = self.atoms[hbonds[:, 1:4].astype(np.intp)]
        self.results.hbonds = hbonds

    def _criteria(self) -> tuple[float, float, float]:
        """Check and return the largest distances of hydrogen and acceptor from the donor, and the angle."""
        given = (self.d_h_cutoff, self.d_a_cutoff, self.d_h_a_angle)
        if given != self._given_criteria:  # a value in another unit warns once
            self._checked_criteria = (
                check_length("d_h_cutoff", self.d_h_cutoff, empty=0.5, doubtful=0.9),
                check_length("d_a_cutoff", self.d_a_cutoff, empty=_LEAST_DISTANCE, doubtful=2.0),
                check_angle("d_h_a_angle_cutoff", self.d_h_a_angle),
            )
            self._given_criteria = given
        return self._checked_criteria

    def _make_ready(self) -> None:
        """Find the atoms for the current parameters, unless they have already been found."""
        criteria = self._criteria()
        strings = (self.donors_sel, self.hydrogens_sel, self.acceptors_sel)
        ready_for = (*strings, self.update_selections, *criteria)
        if ready_for == self._ready_for:
            return
        changing = [bool(each and may_change(each)) for each in strings]
        has_positions = hasattr(self.u, "trajectory")
        is_updated = self.update_selections and (any(changing) or bool(self.donors_sel))
        if not has_positions and (any(changing) or self.donors_sel) and not is_updated:
            message = "donors_sel pairs donors and hydrogens by distance, and selections may need positions"
            raise MismatchError(f"{message}: load a structure into the Universe, or use update_selections=True")
        # Without positions, selections that need them remain empty until the first frame is read.
        donors, self._hydrogens, self._acceptors = (
            select_atoms(self.u, "" if changes and not has_positions else each or "", name)
            for each, changes, name in zip(strings, changing, self._selections, strict=True)
        )
        bonds = both_ways(self.u) if self.donors_sel is None else None
        # With bonds, the core selects hydrogens and acceptors in each frame. Donors are paired by distance in Python.
        is_compiled = is_updated and bonds is not None
        self._changing = [
            parsed_selection(self.u.atoms, each) if each and changes and is_compiled else None
            for each, changes in zip(strings[1:], changing[1:], strict=True)
        ]
        self._hydrogens, self._acceptors = (
            group if one is None else self.u.atoms[one.possible.astype(np.intp)]
            for group, one in zip((self._hydrogens, self._acceptors), self._changing, strict=True)
        )
        if bonds is not None:
            self._pairs = bonded_pairs(np.unique(self._hydrogens.ix), bonds)
        elif has_positions:
            frame = self.u.atoms.positions, cell_before_run(self.u, is_opened=self._given_trajectory is None)
            self._pairs = pairs_within(donors.ix, self._hydrogens.ix, *frame, criteria[0])
        else:
            self._pairs = np.empty((0, 2), np.int64)
        self._is_open = is_updated
        if is_updated and not is_compiled:
            self._rules = self._rules_of(strings, changing, donors)
            needed = np.concatenate([self._rules.atoms, self._pairs.ravel()])
        else:
            self._rules = None
            self._leave_out_lonely_atoms()
            selecting = [one.needed for one in self._changing if one is not None]
            needed = np.concatenate([self._pairs.ravel(), self._acceptors.ix, *selecting])
            if not len(self._pairs) or not len(self._acceptors):
                lacking = "donors with hydrogens" if not len(self._pairs) else "acceptors"
                message = f"hydrogen bonds: there are no {lacking}, so no hydrogen bonds will be found"
                warnings.warn(message, MdreelWarning, stacklevel=caller_level())
                self._rules = self._rules_of(("", "", ""), [False] * 3, donors[:0])
        self._donors = self.u.atoms[self._pairs[:, 0]]
        self._hydrogens = self.u.atoms[self._pairs[:, 1]]
        self._atomgroup = self.u.atoms[np.unique(needed).astype(np.intp)] if len(needed) else self.u.atoms[:1]
        self._selection = Selection.of(self._atomgroup)
        self._ready_for = ready_for

    def _rules_of(self, strings: tuple[str | None, ...], changing: Sequence[bool], donors: AtomGroup) -> BondRules:
        """Return the rules by which atoms are found in each frame."""
        members = (
            parsed_selection(self.u.atoms, string) if string and changes else np.unique(group.ix)
            for string, changes, group in zip(
                strings, changing, (donors, self._hydrogens, self._acceptors), strict=True
            )
        )
        every = np.arange(len(self.u.atoms))
        d_h_cutoff, d_a_cutoff, angle = self._criteria()
        lengths = (d_h_cutoff, _LEAST_DISTANCE, d_a_cutoff)
        return BondRules(tuple(members), masks_between(self.between_ags, every, every), lengths, angle)

    def _leave_out_lonely_atoms(self) -> None:
        """Omit donors and acceptors that have no possible partner in `between`."""
        masks = masks_between(self.between_ags, self._pairs[:, 0], self._acceptors.ix)
        if masks is not None:
            sides = zip(masks, masks[::-1], strict=True)
            of_donors, of_acceptors = ((own & np.bitwise_or.reduce(other)) != 0 for own, other in sides)
            self._pairs, self._acceptors = self._pairs[of_donors], self._acceptors[of_acceptors]


def _stripped(selection: str | None, name: str) -> str | None:
    """Return a selection string without leading and trailing blanks, and warn if it is then empty."""
    if selection is None:
        return None
    if not isinstance(selection, str):
        raise ArgumentError(f"{name} must be a selection string, such as 'name O', not {shown(selection)}")
    selection = selection.strip()
    if not selection:
        message = f"{name} is an empty selection string, so no hydrogen bonds will be found"
        warnings.warn(message, MdreelWarning, stacklevel=caller_level())
    return selection
