"""Minimum RMSD to a reference structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, Source, Transformation, group_rmsd, rmsd, superposed
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.fitted_groups import (
    ComparedAtoms,
    GroupSelection,
    Weights,
    compared_groups,
    references_of,
)
from mdreel.analysis.topology.group_names import column_names, split_group_names
from mdreel.analysis.topology.matching import MASS_TOLERANCE, Matching
from mdreel.analysis.topology.reference import are_atoms
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments_but, shown
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.results.series import series_columns
from mdreel.trajectory.atom_union import union_of
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, SelectBoth, atoms_of, select_both, selections_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, Universe


class RMSD(Analysis):
    """Compute the RMSD from a reference structure, by default after optimal superposition.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup or Universe
        The atoms to which `select` is applied.
    reference : MDAnalysis.AtomGroup, Universe or array_like, shape (n_selected, 3), float64, optional
        Structure to compare to, to which `select` is also applied, or an array with the positions of the selected atoms
        in Å. The default is `atomgroup` itself.
    select : str, tuple, dict or None
        Atoms to superpose and compare, in MDAnalysis's selection language. To select different atoms in the two
        structures, pass ``(atomgroup, reference)`` or ``{"mobile": ..., "reference": ...}``. You can also use lists of
        selection strings here, which will be applied one after the other. A string selects its atoms once, in the order
        of the topology. If None, atoms are compared in the order of the groups, including repeated atoms.
    groupselections : sequence or mapping of str to {str, tuple, dict or MDAnalysis.AtomGroup}, optional
        Additional groups of atoms whose RMSD is computed after the superposition. You can select them as in `select`,
        but these selections are applied to the entire Universe of `atomgroup` and of the reference. You can also pass a
        mapping, whose keys are used as the names of the groups in plots and tables, as in
        ``{"LID": "name CA and resid 122:159"}``.
    weights : {None, "mass"} or array_like, shape (n_selected,), float64
        Weights of the selected atoms in the superposition and in the mean. These will be normalised.
    weights_groupselections : False or sequence of {None, "mass"} or array_like
        Weights of the groups. If False, masses are used if `weights` is "mass", and equal weights otherwise.
    tol_mass : float
        Largest difference in amu that is allowed between the masses of corresponding atoms.
    ref_frame : int or None
        Frame number in the reference trajectory, starting from 0. If None, the current positions of the reference are
        used.
    superposition : bool
        Whether to superpose frames on the reference first.
    match_atoms : bool
        Whether to check that the atoms of the reference correspond to the selected atoms. This means that they have the
        same masses, and the same names and residues in the same order. If False, atoms will be compared in the given
        order without this check. If you use ``select=None``, a different order will only trigger a warning.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.rmsd : ndarray, shape (n_frames, 3 + n_groups), float64
        The columns are the frame, the time in ps, the RMSD in Å, and the RMSDs of the groups in Å.
    mobile_atoms, ref_atoms : MDAnalysis.AtomGroup
        The selected atoms and the reference atoms. `ref_atoms` is None if the reference is an array of positions.

    Raises
    ------
    SelectionError
        If there are no atoms, a selection is invalid, or the topology lacks the masses that you want to use as weights.
    UnsupportedError
        If the group is an UpdatingAtomGroup.
    MismatchError
        If the reference or the weights do not match the atoms, or the atoms do not correspond to the reference atoms.
        If the reference is an array, and you pass `groupselections` or change the order of the atoms in `select`.

    Warns
    -----
    AtomOrderWarning
        If atoms have the same masses as the reference atoms, but different names.

    Notes
    -----
    The RMSD is ``sqrt(sum_i w_i |R x_i + t - y_i|^2 / sum_i w_i)``, with the rotation R and translation t that minimise
    it. Unless there are groups, R does not need to be computed, because the RMSD can be obtained from the largest
    eigenvalue of a 4x4 matrix (QCP) [1]_ [2]_. Coordinates are float32, as stored, and sums are float64. Only the
    selected atoms are read and decompressed. The current frame of the Universe does not change.

    A reference in another Universe is read using the reader of that Universe, which then returns to its current frame.
    If the reference is an array, only the number of positions can be checked. If your trajectory consists of several
    files, times are read from these files, whereas MDAnalysis's RMSD adds up the durations of the files. If you use
    mass weights, the reference is centred using its own masses, as in MDAnalysis. This only matters if these masses
    differ from those of the selected atoms.

    You will need 24 bytes of memory per frame, and another 8 bytes per frame for each group.

    References
    ----------
    .. [1] D. L. Theobald, "Rapid calculation of RMSDs using a quaternion-based characteristic polynomial",
       Acta Cryst. A61 (2005) 478-480.
    .. [2] P. Liu, D. K. Agrafiotis, D. L. Theobald, "Fast determination of the optimal rotational matrix for
       macromolecular superpositions", J. Comput. Chem. 31 (2010) 1561-1563.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> rmsd = mdreel.RMSD(mda.Universe(PSF, DCD), select="protein and name CA").run()
    >>> rmsd.results.rmsd.shape
    (98, 3)

    RMSD of the lid domain after superposition of the core domain:

    >>> core, lid = "name CA and (resid 1:29 or resid 60:121 or resid 160:214)", "name CA and resid 122:159"
    >>> universe = mda.Universe(PSF, DCD)
    >>> mdreel.RMSD(universe, select=core, groupselections=[lid]).run().results.rmsd[-1, 2:].round(2)
    array([ 1.95, 14.62])

    Names of the groups, which the legend of `plot` shows:

    >>> mdreel.RMSD(universe, select=core, groupselections={"LID": lid}).names
    ['superposed', 'LID']
    """

    _units = MappingProxyType({"rmsd": "Å"})
    _result_heads = MappingProxyType({"rmsd": 2})
    _result_dimensions = MappingProxyType({"rmsd": ("frame", "group")})

    _moved_to_results: ClassVar[Mapping[str, str]] = {"rmsd": "rmsd"}

    @checked_arguments_but("select", "groupselections")
    def __init__(
        self,
        atomgroup: Atoms,
        reference: Atoms | ArrayLike | None = None,
        select: SelectBoth = "all",
        groupselections: Sequence[GroupSelection] | Mapping[str, GroupSelection] | None = None,
        weights: Literal["mass"] | ArrayLike | None = None,
        weights_groupselections: Sequence[Weights] | Literal[False] = False,
        tol_mass: float = MASS_TOLERANCE,
        ref_frame: int | None = 0,
        *,
        superposition: bool = True,
        match_atoms: bool = True,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        structure = reference if reference is None or are_atoms(reference) else None
        atoms, theirs = select_both(atomgroup, structure, select, "atomgroup")
        super().__init__(atoms, trajectory, verbose=verbose)
        if reference is not structure:
            _check_order(atomgroup, select)
        self.reference = atomgroup if reference is None else reference
        self._group_names, self.groupselections = split_group_names(_groups(groupselections), "groupselections")
        self.weights, self.weights_groupselections = weights, weights_groupselections
        self.tol_mass, self.ref_frame = tol_mass, ref_frame
        self.mobile_atoms = atoms
        self.ref_atoms = None if reference is not structure else atoms if theirs is None else theirs
        matching = Matching(tol_mass, match_atoms, refuses_order=selections_of(select) != (None, None))
        given = theirs if reference is structure else reference
        self._main = ComparedAtoms.of(atoms, given, ref_frame, weights, matching, is_own=reference is None)
        self._superposition = superposition
        self._groups: list[ComparedAtoms] = []
        if self.groupselections:
            labels = [f"groupselections[{key!r}]" for key in self._group_names or range(len(self.groupselections))]
            chosen = dict(zip(labels, self.groupselections, strict=True))
            self._groups = compared_groups(
                atoms, reference, ref_frame, chosen, weights, weights_groupselections, matching
            )
        elif weights_groupselections:
            raise MismatchError("weights_groupselections need groupselections")
        self._center_weights: NDArray[np.float64] | None = None
        if isinstance(weights, str) and theirs is not None and superposition:
            self._center_weights = self._main.other_masses(theirs)

    @property
    def atoms(self) -> NDArray[np.uint32]:
        """Indices of the atoms of the main selection and of the groups, in ascending order."""
        return union_of([one.selection.atoms for one in (self._main, *self._groups)])

    @property
    def references(self) -> Sequence[tuple[AtomGroup, int | None]]:
        """Reference groups from other Universes, each with its frame number, or None to use the current positions."""
        return references_of([self._main, *self._groups], self.atomgroup)

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries(
            "atoms are compared with the reference without periodic images", whole=True, paths=not self._superposition
        )

    def computation(self, source: Source) -> Computation:
        """Read the reference and return the computation that determines the RMSD of each frame."""
        universe = self._own_universe()
        if not self._groups:
            return rmsd(self._main.structure.read(source, universe), self._main.weights, self._superposition)
        atoms = self.atoms
        main, *groups = (one.among(atoms, source, universe) for one in (self._main, *self._groups))
        if not self._superposition:
            return group_rmsd(len(atoms), None, [main, *groups])
        shift = self._shift(main[1])
        return group_rmsd(len(atoms), main, [(places, points - shift, own) for places, points, own in groups])

    def fitting(self, source: Source) -> Transformation:
        """Return the transformation that superposes the main selection of each frame on the reference."""
        main = self._main
        return superposed(main.selection.atoms, main.structure.read(source, self._own_universe()), main.weights)

    def conclude(self, tally: Tally) -> None:
        """Store frames, times and RMSDs."""
        self.results.rmsd = tally.rows
        if self._center_weights is not None:
            points = tally.arguments[1][1] if self._groups else tally.arguments[0]
            shift = self._shift(points)
            self.results.rmsd = tally.rows.copy()
            self.results.rmsd[:, 2] = np.sqrt(tally.rows[:, 2] ** 2 + shift @ shift)

    def _own_universe(self) -> Universe | None:
        """Return the Universe to which the analysed trajectory belongs, or None for a separate trajectory."""
        return self.atomgroup.universe if self._given_trajectory is None else None

    def _shift(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the shift of the reference centre when its own masses replace the masses of the atoms."""
        if self._center_weights is None:
            return np.zeros(3)
        own = np.average(points, axis=0, weights=self._center_weights)
        shift: NDArray[np.float64] = own - np.average(points, axis=0, weights=self._main.weights)
        return shift

    @property
    def names(self) -> list[str]:
        """Names of the RMSD columns: ``superposed`` or ``atoms``, followed by the groups."""
        groups = self._group_names
        if groups is None:
            groups = [one if isinstance(one, str) else f"group {i}" for i, one in enumerate(self.groupselections, 1)]
        return ["superposed" if self._superposition else "atoms", *groups]

    def columns(self) -> Sequence[Column]:
        """Return columns with the frame, the time, and the RMSD of the atoms and of each group."""
        frame, time, values, *groups = self.results.rmsd.T
        names = self._group_names or [f"group_{i}" for i in range(1, len(groups) + 1)]
        each = zip(column_names("rmsd", names), groups, strict=True)
        others = [Column(name, "Å", column) for name, column in each]
        return [*series_columns(frame, time), Column("rmsd", "Å", values), *others]

    def _result_coordinates(self) -> list[LabelledArray]:
        return [*super()._result_coordinates(), LabelledArray("group", ("group",), "", np.array(self.names))]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the RMSD of the atoms and the groups over time."""
        from mdreel.results.curves import lines
        from mdreel.results.figure import time_series

        if not self._groups:
            return time_series(self.times, self._values(), "RMSD (Å)", title, ax, frames=self.frames)
        names = [shorten(name, 28, placeholder=" ...") for name in self.names]
        return lines(self.times, self.results.rmsd[:, 2:], names, "RMSD (Å)", title, ax, kind="Atoms")

    def _values(self) -> NDArray[np.float64]:
        """Return the RMSD of each frame, shape (n_frames,), in Å."""
        self._done()
        values: NDArray[np.float64] = self.results.rmsd[:, 2]
        return values


def _groups(
    groups: Sequence[GroupSelection] | Mapping[str, GroupSelection] | None,
) -> Sequence[GroupSelection] | Mapping[str, GroupSelection]:
    if groups is None:
        return ()
    # A mapping with these keys is one group, whose atoms differ in the reference.
    is_one = isinstance(groups, str | bytes) or (isinstance(groups, Mapping) and set(groups) == {"mobile", "reference"})
    if is_one or not isinstance(groups, Sequence | Mapping):
        from mdreel.trajectory.mdanalysis_errors import SelectionTypeError

        message = "must be a list of selections, or a dictionary of selections by name"
        raise SelectionTypeError(f"groupselections {message}, not {shown(groups)}")
    return groups


def _check_order(atomgroup: Atoms, select: SelectBoth) -> None:
    """Check that there is only one possible order of the atoms for positions given as an array."""
    if select is not None and (np.diff(atoms_of(atomgroup).ix) <= 0).any():
        raise MismatchError(
            "the reference is an array and atomgroup is not in the order of the topology, into which select sorts its "
            "atoms: use select=None to compare the atoms in the order of the group"
        )
