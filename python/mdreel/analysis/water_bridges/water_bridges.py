"""Water bridges between two selections in each frame."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, FrameSelection, Source, water_bridges
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.hydrogen_bond_atoms import may_change
from mdreel.analysis.topology.hydrogen_bond_atoms import select as select_atoms
from mdreel.analysis.water_bridges.bridge_atoms import (
    BOND_LENGTHS,
    DEFAULT_ACCEPTORS,
    DEFAULT_DONORS,
    hydrogens_of_donors,
    near_group,
    sites_of,
)
from mdreel.analysis.water_bridges.bridge_counts import BridgeCounts
from mdreel.analysis.water_bridges.bridge_networks import (
    BondLabels,
    BridgeBonds,
    BridgeNetworks,
    BridgeTimeseries,
    check_format,
)
from mdreel.errors import MdreelWarning, MismatchError, SelectionError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.stack_level import caller_level
from mdreel.foundation.unit_check import check_angle, check_length
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Members, Selection, members_of
from mdreel.trajectory.selection_remedies import remedy_for_no_atoms
from mdreel.trajectory.selection_tree import parsed_selection
from mdreel.trajectory.universe import cell_before_run

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

MOST_WATERS = 10
"""Largest number of waters in a bridge: the number of chains grows exponentially with it."""

_ROLES: Mapping[str, tuple[bool, bool]] = MappingProxyType(
    {"both": (True, True), "donor": (True, False), "acceptor": (False, True)}
)
"""Whether selection 1 may donate, and whether it may accept."""

_NO_ATOM = np.iinfo(np.uint32).max


class WaterBridgeAnalysis(BridgeCounts):
    """Find the water bridges between two selections, with the same parameters and results as in MDAnalysis.

    A water bridge is a chain of hydrogen bonds from selection 1 to selection 2 through at most `order` waters.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The Universe.
    selection1, selection2 : str
        The two selections. If you use the same string for both, selection 1 will only donate, so that no bridge is
        found twice.
    water_selection : str
        Selection of the waters. The default is for GROMACS topologies. For CHARMM topologies, you should use
        ``"resname TIP3"``.
    order : int
        Largest number of waters in a bridge, up to 10. Direct hydrogen bonds between the selections, which contain no
        waters, are also found.
    selection1_type : {"both", "donor", "acceptor"}
        Whether selection 1 donates hydrogen bonds to waters and selection 2, accepts them, or both. Selection 2 has the
        opposite role.
    update_selection : bool
        Whether to apply selections 1 and 2 again in each frame. Otherwise, they are applied to the current frame of the
        Universe. If you also use `filter_first`, atoms that are too far from the other selection in this frame are left
        out.
    update_water_selection : bool
        Whether to apply `water_selection` again in each frame.
    filter_first : bool
        Whether to leave out atoms that are farther than 4 Å + `order` * (2 Å + `distance`) from the other selection in
        the current frame. This only affects selections that are not updated.
    distance_type : {"hydrogen", "heavy"}
        Whether `distance` is measured from the hydrogen or from the donor to the acceptor.
    distance : float
        Longest distance of a hydrogen bond in Å.
    angle : float
        Lower limit of the angle between donor, hydrogen and acceptor, in degrees.
    forcefield : {"CHARMM27", "GLYCAM06", "other"}
        Default names of donors and acceptors, which can be found in `DEFAULT_DONORS` and `DEFAULT_ACCEPTORS`.
    donors, acceptors : sequence of str, optional
        Names of further donors and acceptors.
    output_format : {"sele1_sele2", "donor_acceptor"}
        Order of the two atoms of a hydrogen bond in tables. You can change this attribute before `run`.
    debug : bool, optional
        Accepted for compatibility with MDAnalysis, but without effect.
    pbc : bool
        Whether to use minimum images in frames that have a cell.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. If the Universe has no positions, hydrogens are
        found by bonds, and no atoms are left out by `filter_first`.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.network : sequence of dict
        Hydrogen bonds of selection 1 that begin a bridge, for each frame. The value of a bond is a dictionary of the
        bonds that follow it, or None if it ends in selection 2. A bond is a tuple: atom, heavy atom, atom, heavy atom,
        distance in Å, angle in degrees. An atom is a hydrogen with its donor as heavy atom, or an acceptor with None.
    results.timeseries : sequence of list
        Bonds of each frame as tuples: both atoms, (residue name, residue number, atom name) of both, distance in Å and
        angle in degrees.
    results.counts : ndarray, shape (n_frames,), int64
        Number of water bridges in each frame.
    results.bonds : ndarray, shape (n_bonds, 4), int64
        The four indices of each bond, for all frames. The heavy atom of an acceptor is -1.
    results.distances, results.angles : ndarray, shape (n_bonds,), float64
        Distance in Å and angle in degrees of each bond.
    results.pairs : ndarray, shape (n_pairs, 2), int64
        Rows in `results.bonds` of two consecutive bonds of a bridge.
    results.offsets : ndarray, shape (n_frames + 1,), int64
        The bonds of frame ``i`` are rows ``offsets[i]`` to ``offsets[i + 1]``.
    results.starts : ndarray, shape (n_frames,), int64
        Number of bonds of selection 1 in each frame. These bonds are in the first rows of the frame.
    timesteps : list of float
        Times of the frames in ps.

    Raises
    ------
    SelectionError
        When a selection is invalid.
    MissingDataError
        When your topology does not contain names of atoms, or there are neither positions nor bonds. This error is also
        a `SelectionError` and MDAnalysis's NoDataError.
    MismatchError
        When a parameter is not valid. In `run`, with ``pbc=True``, when `distance` exceeds half of the shortest lattice
        vector.

    Warns
    -----
    MdreelWarning
        When none of the atoms in a selection can take part in a bridge. Without donors or acceptors in
        `water_selection`, you will only find direct hydrogen bonds between the selections.
    UnitWarning
        When a distance was probably given in nm, or an angle in radians.

    Notes
    -----
    We use the definitions of `MDAnalysis.analysis.hydrogenbonds.WaterBridgeAnalysis`. A bridge does not pass through
    the same heavy atom twice. The number of bridges in a frame is the number of chains in ``results.network`` with at
    most `order` + 1 bonds. Bonds are found using a cell list, starting from the selection that has fewer waters.
    Calculations use float64. The time needed to find the bonds grows linearly with the number of atoms, and the time
    needed to find the chains grows exponentially with `order`.

    You will need 72 bytes of memory for each bond in a frame, 16 bytes per pair of bonds, and 40 bytes per frame. While
    the results are being assembled, you will need twice as much memory. The results are bitwise identical for every
    executor and any number of workers and blocks.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import waterPSF, waterDCD
    >>> from mdreel.analysis import WaterBridgeAnalysis
    >>> u = mda.Universe(waterPSF, waterDCD)
    >>> bridges = WaterBridgeAnalysis(u, "resid 5 7", "resid 8", "resid 15 21", order=2).run()
    >>> bridges.results.counts.shape
    (10,)
    """

    DEFAULT_DONORS: ClassVar[Mapping[str, Sequence[str]]] = DEFAULT_DONORS
    DEFAULT_ACCEPTORS: ClassVar[Mapping[str, Sequence[str]]] = DEFAULT_ACCEPTORS
    r_cov: ClassVar[Mapping[str, float]] = BOND_LENGTHS
    _moved_to_results: ClassVar[Mapping[str, str]] = {"network": "network", "timeseries": "timeseries"}
    _units = MappingProxyType({"distances": "Å", "angles": "°", "counts": ""})
    _result_dimensions = MappingProxyType(
        {
            "counts": ("frame",),
            "starts": ("frame",),
            "offsets": ("edge",),
            "bonds": ("bond", "end"),
            "distances": ("bond",),
            "angles": ("bond",),
            "pairs": ("pair", "side"),
        }
    )

    @checked_arguments
    def __init__(
        self,
        universe: Universe,
        selection1: str = "protein",
        selection2: str = "not resname SOL",
        water_selection: str = "resname SOL",
        order: int = 1,
        selection1_type: str = "both",
        update_selection: bool = False,
        update_water_selection: bool = True,
        filter_first: bool = True,
        distance_type: str = "hydrogen",
        distance: float = 3.0,
        angle: float = 120.0,
        forcefield: str = "CHARMM27",
        donors: Sequence[str] | None = None,
        acceptors: Sequence[str] | None = None,
        output_format: str = "sele1_sele2",
        debug: bool | None = None,
        pbc: bool = False,
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        if "Universe" not in {kind.__name__ for kind in type(universe).__mro__}:
            raise SelectionError(f"universe must be an MDAnalysis Universe, not {type(universe).__name__}")
        super().__init__(universe.atoms[:1], trajectory, verbose=verbose)
        if distance_type not in ("hydrogen", "heavy"):
            raise MismatchError(f"distance_type must be 'hydrogen' or 'heavy', not {distance_type!r}")
        if selection1_type not in _ROLES:
            raise MismatchError(f"selection1_type must be 'both', 'donor' or 'acceptor', not {selection1_type!r}")
        if not 0 <= order <= MOST_WATERS:
            reason = "the number of chains grows exponentially with it"
            raise MismatchError(f"order must be from 0 to {MOST_WATERS} waters, not {order}: {reason}")
        if forcefield not in self.DEFAULT_DONORS or forcefield not in self.DEFAULT_ACCEPTORS:
            known = ", ".join(map(repr, self.DEFAULT_DONORS))
            raise MismatchError(f"forcefield {forcefield!r} is unknown: expected one of {known}")
        self.u = universe
        self.selection1, self.selection2, self.water_selection = selection1, selection2, water_selection
        self.order, self.distance_type, self.forcefield = order, distance_type, forcefield
        self.selection1_type = "donor" if selection1 == selection2 else selection1_type
        self.update_selection, self.update_water_selection = update_selection, update_water_selection
        self.filter_first, self.debug, self.pbc = filter_first, debug, pbc
        self.distance = check_length("distance", distance, empty=0.5, doubtful=1.0)
        self.angle = check_angle("angle", angle)
        if self.angle < 0:
            raise MismatchError(f"angle must be at least 0 degrees, not {self.angle:g}")
        self.output_format = check_format(output_format)
        self.donors = tuple(sorted({*self.DEFAULT_DONORS[forcefield], *(donors or ())}))
        self.acceptors = tuple(sorted({*self.DEFAULT_ACCEPTORS[forcefield], *(acceptors or ())}))
        self.timesteps = None
        self.table: Any = None
        self._labels = BondLabels(universe)
        self._find_sites()

    @property
    def has_candidates(self) -> bool:
        """Whether there are donors with hydrogens and acceptors that can form bridges."""
        return not self._lacking

    @property
    def _reach(self) -> float:
        """Longest distance in Å from an atom of a bridge to the other selection."""
        return 4 + self.order * (2 + self.distance)

    def _find_sites(self) -> None:
        """Find the donors, hydrogens and acceptors of the selections, which may be those of all frames."""
        groups, changing = zip(
            self._selected("selection1", self.update_selection),
            self._selected("selection2", self.update_selection),
            self._selected("water_selection", self.update_water_selection),
            strict=True,
        )
        self._changing: Sequence[FrameSelection | None] = changing
        cell = None
        if hasattr(self.u, "trajectory"):
            cell = cell_before_run(self.u, is_opened=self._given_trajectory is None)
        residues = np.unique(np.concatenate([group.resindices for group in groups]))
        pairs = hydrogens_of_donors(self.u, residues, self.donors, self.r_cov, cell)
        self._lacking = ""
        if self.filter_first and hasattr(self.u, "trajectory"):
            kept = self._filtered(groups, cell if self.pbc else None)
            if all(map(len, groups)) and not all(map(len, kept)):
                nothing = f"no atoms of the selections are within {self._reach:g} Å in the current frame"
                self._lacking = f"{nothing} (raise order, or choose filter_first=False)"
        else:
            kept = list(groups)
        found = [sites_of(group, self.acceptors, pairs[:, 0]) for group in kept]
        self._members = [sites for sites, _ in found]
        self._sites = np.unique(np.concatenate(self._members))
        self._acceptors = np.unique(np.concatenate([accepting for _, accepting in found]))
        self._hydrogens = pairs[np.isin(pairs[:, 0], self._sites)]
        self._lacking = self._lacking or self._what_is_lacking(groups)
        if self._lacking:
            # Direct hydrogen bonds between the selections need no water.
            missed = "no bridges with waters" if self._lacking.startswith("water_selection") else "no bridges"
            message = f"water bridges: {missed} will be found, because {self._lacking}"
            warnings.warn(message, MdreelWarning, stacklevel=caller_level())
        needed = [one.needed for one in self._changing if one is not None]
        used = np.unique(np.concatenate([self._sites, self._hydrogens[:, 1], *needed])).astype(np.intp)
        self._atomgroup = self.u.atoms[used] if len(used) else self.u.atoms[:1]
        self._selection = Selection.of(self._atomgroup)

    def _selected(self, name: str, is_updated: bool) -> tuple[AtomGroup, FrameSelection | None]:
        """Return the atoms of a selection, or those that can be selected in any frame with their selection."""
        words = getattr(self, name)
        if not may_change(words):
            return select_atoms(self.u, words, name), None
        if is_updated:
            changing = parsed_selection(self.u.atoms, words)
            return self.u.atoms[changing.possible.astype(np.intp)], changing
        if not hasattr(self.u, "trajectory"):
            update = "update_water_selection" if name == "water_selection" else "update_selection"
            remedy = f"load a structure into the Universe, or use {update}=True"
            raise MismatchError(f"{name} '{words}' needs positions, and the Universe has none: {remedy}")
        return select_atoms(self.u, words, name), None

    def _filtered(self, groups: Sequence[AtomGroup], cell: NDArray[np.float32] | None) -> list[AtomGroup]:
        """Leave out atoms of selections that are not updated and that are too far from the others."""
        first, second, water = (group.ix for group in groups)
        if not len(first) or not len(second):
            return list(groups)
        if not self.update_selection:
            first = near_group(self.u, first, second, self._reach, cell)
            second = near_group(self.u, second, first, self._reach, cell)
        if not self.update_water_selection and not self.update_selection:
            for group in (first, second):
                water = near_group(self.u, water, group, self._reach, cell)
        return [self.u.atoms[each] for each in (first, second, water)]

    def _what_is_lacking(self, groups: Sequence[AtomGroup]) -> str:
        """Return what the selections lack for bridges and a remedy, or an empty string."""
        names = ("selection1", "selection2", "water_selection")
        sizes = [len(each) for each in self._members][: 3 if self.order else 2]
        for name, size in zip(names, sizes, strict=False):
            words = getattr(self, name)
            if size == 0 and not len(groups[names.index(name)]):
                return f"{name} '{words}' has no atoms ({remedy_for_no_atoms(self.u, [words])})"
            if size == 0:
                remedy = "select others, or give their names with donors or acceptors"
                return f"{name} '{words}' has no donors with hydrogens and no acceptors ({remedy})"
        if not len(self._hydrogens):
            return "there are no donors with hydrogens (add hydrogens to the structure, or give names with donors)"
        return ""

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("distances and angles use minimum images, or with pbc=False no images", whole=not self.pbc)

    def computation(self, source: Source) -> Computation:
        """Return the computation that finds the bridges of each frame."""
        atoms = self.atoms

        def places(indices: NDArray[np.int64]) -> NDArray[np.uint32]:
            return np.searchsorted(atoms, indices).astype(np.uint32)

        def members(sites: NDArray[np.int64], changing: FrameSelection | None) -> Members:
            return members_of(places(sites), changing, atoms, sites)

        residues = np.unique(self.u.atoms.resindices[self._sites], return_inverse=True)[1]
        acceptors = np.flatnonzero(np.isin(self._sites, self._acceptors)).astype(np.uint32)
        donors = np.searchsorted(self._sites, self._hydrogens[:, 0]).astype(np.uint32)
        hydrogens = np.stack([donors, places(self._hydrogens[:, 1])], axis=1)
        sites = (places(self._sites), residues.astype(np.uint32), acceptors, hydrogens)
        first, second, water = (members(*each) for each in zip(self._members, self._changing, strict=True))
        criteria = (self.distance, self.distance_type == "heavy", self.angle)
        is_periodic = None if self.pbc else False
        roles = _ROLES[self.selection1_type]
        return water_bridges(len(atoms), sites, (first, second, water), criteria, self.order, roles, is_periodic)

    def conclude(self, tally: Tally) -> None:
        """Store the networks of hydrogen bonds with the Universe indices of their atoms."""
        atoms, measures, pairs = tally.own
        n_bridges, n_starts, n_bonds, n_pairs = tally.values.astype(np.int64).T
        offsets = np.concatenate([[0], np.cumsum(n_bonds)])
        is_none = atoms == _NO_ATOM
        bonds = self.atoms[np.where(is_none, 0, atoms)].astype(np.int64)
        bonds[is_none] = -1
        found = self.results
        found.counts, found.starts, found.offsets = n_bridges.copy(), n_starts.copy(), offsets
        found.bonds, found.distances, found.angles = bonds, measures[:, 0].copy(), measures[:, 1].copy()
        found.pairs = pairs.astype(np.int64) + np.repeat(offsets[:-1], n_pairs)[:, None]
        self._bonds = BridgeBonds(
            bonds, found.distances, found.angles, found.pairs, offsets, found.starts, int(self.order)
        )
        found.network = BridgeNetworks(self._bonds)
        found.timeseries = BridgeTimeseries(self._bonds, self._labels, self.output_format)
        self.timesteps = self.times.tolist()
