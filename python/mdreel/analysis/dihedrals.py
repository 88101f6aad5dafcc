"""Dihedral angles of groups of four atoms, and torsions of proteins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, dihedrals, kept_positions
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.base.frame_columns import wide_columns
from mdreel.analysis.choices import Features
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.group_names import column_names, group_label, split_group_names
from mdreel.analysis.topology.required_attributes import check_attributes
from mdreel.analysis.topology.torsions import torsions_of
from mdreel.errors import MismatchError, SelectionError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, atoms_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


_DEGREES = "°"


class QuadrupleAngles(Analysis):
    """Base class for all torsion analyses, which compute the dihedral angles of groups of four atoms."""

    _result_dimensions: Mapping[str, tuple[str, ...]] = MappingProxyType({"angles": ("frame", "torsion")})

    def __init__(
        self,
        atomgroup: AtomGroup,
        quadruples: NDArray[np.int64],
        features: Features,
        trajectory: Trajectory | None,
        *,
        verbose: bool = False,
    ) -> None:
        if features not in ("degrees", "cos_sin"):
            raise MismatchError(f"features must be 'degrees' or 'cos_sin', not {features!r}")
        atoms = atomgroup.universe.atoms[quadruples.ravel()]
        # A run needs an atom; without quadruples, the positions of this one are not used.
        super().__init__(atoms if len(atoms) else atomgroup[:1], trajectory, verbose=verbose)
        self._atomgroup = atoms
        self._features = features
        self._units = {"angles": _DEGREES if features == "degrees" else ""}
        self._quadruples = self._selection.places[: quadruples.size].reshape(-1, 4).astype(np.uint32)

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("bond vectors use minimum images")

    def computation(self, source: Source) -> Computation:
        """Return the computation that determines the angles in each frame."""
        if not len(self._quadruples):
            return kept_positions(len(self.atoms))
        return dihedrals(len(self.atoms), self._quadruples, self._features == "cos_sin")

    def conclude(self, tally: Tally) -> None:
        """Store the angles."""
        self.results.angles = tally.values if len(self._quadruples) else np.empty((tally.n_frames, 0))

    @property
    def n_torsions(self) -> int:
        """Number of torsions."""
        return len(self._quadruples)

    @property
    def names(self) -> list[str]:
        """Names of the angles, in the order of the results."""
        atoms = self.atoms[self._quadruples]
        return [f"dihedral {' '.join(map(str, quadruple))}" for quadruple in atoms.tolist()]

    def columns(self) -> Sequence[Column]:
        """Return columns with the frame, the time and each angle, or the cosine and sine of each angle."""
        names = [name.lower().replace(" ", "_") for name in self.names]
        if len(set(names)) < len(names):  # segment names that differ only in case, such as A and a
            names = [name.replace(" ", "_") for name in self.names]
        values = self.results.angles.reshape(self.n_frames, -1)
        return wide_columns(self.frames, self.times, values, names, self._units["angles"])

    @property
    def _torsion_labels(self) -> Sequence[str]:
        """Labels for the ``torsion`` dimension of the results."""
        return self.names

    def _result_coordinates(self) -> list[LabelledArray]:
        torsions = LabelledArray("torsion", ("torsion",), "", np.array(self._torsion_labels))
        return [*super()._result_coordinates(), torsions]

    def _column(self, place: int) -> AtomGroup:
        """Return the atoms at one position in each quadruple, in the order of the quadruples."""
        return self._atomgroup[place::4]

    def _describe(self) -> str:
        angles = f"{len(self._quadruples):,} angles"
        return f"{angles}, {self.n_frames:,} frames" if self._outcome is not None else f"{angles}, not run"


class Dihedral(QuadrupleAngles):
    """Compute the dihedral angles of groups of four atoms in each frame.

    Parameters
    ----------
    atomgroups : sequence of MDAnalysis.AtomGroup, or mapping of str to MDAnalysis.AtomGroup
        Groups of four atoms in the same Universe. The dihedral angle is that between two planes, one through the first
        three atoms and one through the last three. You can also pass a mapping, whose keys are used as the names of the
        angles in plots and tables.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.angles : ndarray, shape (n_frames, n_atomgroups), float64
        Angles in degrees, from -180 to 180; 180 is trans (IUPAC).
    atomgroups : sequence of MDAnalysis.AtomGroup
        The groups.
    ag1, ag2, ag3, ag4 : MDAnalysis.AtomGroup
        The first, second, third and fourth atoms of all groups.

    Raises
    ------
    SelectionError
        If there are no groups.
    MismatchError
        If you passed a group that does not consist of four atoms, or groups from different Universes.

    Notes
    -----
    For the bond vectors a, b and c, the angle is ``atan2(|b| a . (b x c), (a x b) . (b x c))`` [1]_, in float64. If a
    frame has a cell, the minimum image of each bond is used. Note that the angle is undefined if three consecutive
    atoms are collinear. In this case, an error will be raised.

    You will need 8 bytes of memory per angle and frame, and 16 bytes per frame for the frame number and the time.

    References
    ----------
    .. [1] A. Blondel, M. Karplus, "New formulation for derivatives of torsion angles and improper torsion angles in
       molecular mechanics", J. Comput. Chem. 17 (1996) 1132-1141.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> dihedral = mdreel.Dihedral([u.residues[4].phi_selection(), u.residues[4].psi_selection()]).run()
    >>> dihedral.results.angles.shape
    (98, 2)
    """

    _moved_to_results: ClassVar[Mapping[str, str]] = {"angles": "angles"}

    @checked_arguments
    def __init__(
        self,
        atomgroups: Sequence[AtomGroup] | Mapping[str, AtomGroup],
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        if len(atomgroups) == 0:
            raise SelectionError("there is no group of four atoms")
        self._group_names, given = split_group_names(atomgroups, "atomgroups")
        labels = [group_label(self._group_names, i) for i in range(len(given))]
        atomgroups = [atoms_of(group, name=f"atomgroups[{label}]") for label, group in zip(labels, given, strict=True)]
        for label, group in zip(labels, atomgroups, strict=True):
            if len(group) != 4:
                message = "a dihedral angle needs four, give a list of groups of four"
                raise MismatchError(f"group {label} has {len(group)} atoms: {message}")
            if group.universe is not atomgroups[0].universe:
                message = f"group {label} is in another Universe than group {labels[0]}"
                raise MismatchError(f"{message}: all groups must be in the same one")
        self.atomgroups = atomgroups
        quadruples = np.stack([group.ix for group in atomgroups])
        super().__init__(atomgroups[0], quadruples, "degrees", trajectory, verbose=verbose)

    @property
    def names(self) -> list[str]:
        """Names of the angles, which are either the given names or contain the indices of the atoms."""
        return super().names if self._group_names is None else list(self._group_names)

    def columns(self) -> Sequence[Column]:
        """Return columns with the frame, the time and each angle."""
        if self._group_names is None:
            return super().columns()
        names = column_names("dihedral", self._group_names)
        return wide_columns(self.frames, self.times, self.results.angles, names, self._units["angles"])

    @property
    def ag1(self) -> AtomGroup:
        """First atom of each group."""
        return self._column(0)

    @property
    def ag2(self) -> AtomGroup:
        """Second atom of each group."""
        return self._column(1)

    @property
    def ag3(self) -> AtomGroup:
        """Third atom of each group."""
        return self._column(2)

    @property
    def ag4(self) -> AtomGroup:
        """Fourth atom of each group."""
        return self._column(3)

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the distribution of each angle."""
        from mdreel.results.maps import angle_map

        names = self._group_names or [f"group {i}" for i in range(len(self._quadruples))]
        return angle_map(self.results.angles, names, title, ax)


class Dihedrals(QuadrupleAngles):
    """Compute the torsions of a protein in each frame, as angles or as cosines and sines.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup or Universe
        A protein or some of its residues.
    kinds : sequence of {"phi", "psi", "omega", "chi1", "chi2", "chi3", "chi4"}
        Torsions to compute.
    features : {"degrees", "cos_sin"}
        Whether to return angles in degrees, or their cosines and sines.
    complete : bool
        Whether to skip residues that lack some of the torsions, as in Khoshlessan et al. (2018).
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.angles : ndarray, shape (n_frames, n_features), float64
        Angles in degrees, from -180 to 180, or their cosines and sines. Columns are sorted by residue, and then by the
        order of `kinds`.
    names : list of str
        Names of the columns: ``"phi ALA 5"``, or ``"cos phi ALA 5"`` and ``"sin phi ALA 5"``.
    quadruples : ndarray, shape (n_torsions, 4), int64
        Universe indices of the atoms of each torsion.

    Raises
    ------
    SelectionError
        If no residue has any of the requested torsions.
    MismatchError
        If an entry of `kinds` or the value of `features` is unknown.

    Notes
    -----
    See `Dihedral`. There are no columns for torsions that do not exist, such as phi at the start of a chain or chi1 of
    glycine. You will need 8 bytes of memory per feature and frame, and another 16 bytes per frame for the frame number
    and the time.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> torsions = mdreel.Dihedrals(mda.Universe(PSF, DCD).select_atoms("protein"), features="cos_sin").run()
    >>> torsions.results.angles.shape, torsions.names[:2]
    ((98, 852), ['cos psi MET 1', 'sin psi MET 1'])
    """

    @checked_arguments
    def __init__(
        self,
        atomgroup: Atoms,
        kinds: Sequence[str] = ("phi", "psi"),
        features: Features = "degrees",
        complete: bool = False,
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        atomgroup = atoms_of(atomgroup)
        check_attributes(atomgroup, "names", "resids", "resnames")
        self._torsions = torsions_of(atomgroup, kinds, complete)
        super().__init__(atomgroup, self._torsions.atoms, features, trajectory, verbose=verbose)

    @property
    def features(self) -> Features:
        """Representation of the angles: ``degrees`` or ``cos_sin``."""
        return self._features

    @property
    def quadruples(self) -> NDArray[np.int64]:
        """Universe indices of the atoms of each torsion, shape (n_torsions, 4)."""
        return self._torsions.atoms

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        names = self._torsions.names
        if self._features == "degrees":
            return names
        return [f"{function} {name}" for name in names for function in ("cos", "sin")]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the distribution of each torsion."""
        from mdreel.results.maps import angle_map

        angles = self.results.angles
        if self._features == "cos_sin":
            angles = np.degrees(np.arctan2(angles[:, 1::2], angles[:, 0::2]))
        return angle_map(angles, self._torsions.names, title, ax)
