"""Minimum RMSD to a reference structure."""

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, Source, Transformation, group_rmsd, rmsd, superposed
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.fitted_groups import ComparedAtoms, GroupSelection, Weights, compared_groups
from mdreel.analysis.topology.matching import MASS_TOLERANCE, Matching
from mdreel.execution.tally import Tally
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


class RMSD(Analysis):
    """Root mean square distance of each frame to a reference, by default after optimal superposition.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms; one that is in the group more than once counts as often.
    reference : MDAnalysis.AtomGroup or array_like, shape (n_atoms, 3), float64, optional
        Structure to compare with: as many atoms in the same order, or their positions in Å. By default the atoms
        themselves.
    ref_frame : int
        Frame of the reference's trajectory, 0-based.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        How much each atom counts, both in the superposition and in the mean; their sum does not matter.
    superposition : bool
        Whether each frame is moved and rotated onto the reference first.
    groupselections : sequence of str or MDAnalysis.AtomGroup, optional
        Groups of atoms whose RMSD is computed as well, with the rotation and translation that superpose `atomgroup`,
        and no other. A string selects in the Universe of `atomgroup`, and in that of the reference.
    weights_groupselections : False or sequence of {None, "mass"} or array_like
        Weights of each group; False: by mass if `weights` is "mass", else all alike.
    tol_mass : float
        By how much the masses of two atoms may differ that correspond, amu.
    match_atoms : bool
        Whether the atoms of a reference must correspond to those that they are compared with: same masses, same order
        of names and residues. False takes them in the order in which they come.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results.rmsd : ndarray, shape (n_frames, 3 + n_groups), float64
        Frame, time in ps, RMSD in Å, RMSD of each group in Å.

    Raises
    ------
    SelectionError
        If there are no atoms, or atoms without masses are to be weighted by them.
    UnsupportedError
        If the group is an UpdatingAtomGroup.
    MismatchError
        If reference or weights do not fit the atoms, or groups are to be compared with an array. If atoms do not
        correspond to those of the reference.

    Warns
    -----
    AtomOrderWarning
        If atoms have the masses of those of the reference and other names.

    Notes
    -----
    ``sqrt(sum_i w_i |R x_i + t - y_i|^2 / sum_i w_i)``, with the rotation R and translation t that make it smallest.
    R is computed for groups only: else the largest eigenvalue of a 4x4 matrix is enough (QCP) [1]_ [2]_. Coordinates
    are float32, as stored, sums are float64. Of a file, only what holds the wanted atoms is read and decompressed. The
    current frame of the Universe stays where it is.

    A reference in another Universe is read there; that Universe's frame is the same afterwards. Atoms are compared in
    the order of the groups (MDAnalysis's RMSD sorts both and drops repetitions). Positions that are given as an array
    have neither names nor masses: mdreel checks their number alone. The times of a trajectory of several files are
    those in the files (MDAnalysis's RMSD adds up the lengths of the files).

    Memory: the result takes 24 bytes for each frame, and 8 for each group and frame.

    References
    ----------
    .. [1] D. L. Theobald, "Rapid calculation of RMSDs using a quaternion-based characteristic polynomial",
       Acta Cryst. A61 (2005) 478-480.
    .. [2] P. Liu, D. K. Agrafiotis, D. L. Theobald, "Fast determination of the optimal rotational matrix for
       macromolecular superpositions", J. Comput. Chem. 31 (2010) 1561-1563.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> rmsd = RMSD(mda.Universe(PSF, DCD).select_atoms("protein and name CA")).run()
    >>> rmsd.results.rmsd.shape
    (98, 3)

    How the lid moves, seen from the core:

    >>> core = mda.Universe(PSF, DCD).select_atoms("name CA and (resid 1:29 or resid 60:121 or resid 160:214)")
    >>> RMSD(core, groupselections=["name CA and resid 122:159"]).run().results.rmsd[-1, 2:].round(2)
    array([ 1.95, 14.62])
    """

    _units: ClassVar[Mapping[str, str]] = {"rmsd": "Å"}

    def __init__(
        self,
        atomgroup: "AtomGroup",
        reference: "AtomGroup | ArrayLike | None" = None,
        ref_frame: int = 0,
        weights: Literal["mass"] | ArrayLike | None = None,
        superposition: bool = True,
        *,
        groupselections: Sequence[GroupSelection] | None = None,
        weights_groupselections: Sequence[Weights] | Literal[False] = False,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
        trajectory: Trajectory | None = None,
    ) -> None:
        super().__init__(atomgroup, trajectory)
        matching = Matching(tol_mass, match_atoms)
        self._main = ComparedAtoms.of(atomgroup, reference, ref_frame, weights, matching)
        self._superposition = superposition
        self._groupselections = tuple(groupselections or ())
        self._groups: list[ComparedAtoms] = []
        if self._groupselections:
            self._groups = compared_groups(
                atomgroup, reference, ref_frame, self._groupselections, weights, weights_groupselections, matching
            )

    @property
    def atoms(self) -> NDArray[np.uint32]:
        """The atoms that are read: those of the main selection and of the groups."""
        return np.unique(np.concatenate([one.selection.atoms for one in (self._main, *self._groups)]))

    @property
    def boundaries(self) -> Boundaries:
        """What it requires of molecules that the boundary of the cell may cut."""
        return Boundaries(
            "atoms are compared with the reference as they lie", whole=True, paths=not self._superposition
        )

    def computation(self, source: Source) -> Computation:
        """Return what compares a frame with the reference, which is read now."""
        universe = self.atomgroup.universe if self._trajectory is None else None
        if not self._groups:
            return rmsd(self._main.structure.read(source, universe), self._main.weights, self._superposition)
        atoms = self.atoms
        main, *groups = (one.among(atoms, source, universe) for one in (self._main, *self._groups))
        if self._superposition:
            return group_rmsd(len(atoms), main, groups)
        return group_rmsd(len(atoms), None, [main, *groups])

    def fitting(self, source: Source) -> Transformation:
        """Return what moves all atoms of a frame as the superposition of the main selection says."""
        universe = self.atomgroup.universe if self._trajectory is None else None
        main = self._main
        return superposed(main.selection.atoms, main.structure.read(source, universe), main.weights)

    def conclude(self, tally: Tally) -> None:
        """Take the rows as they are: frame, time and RMSDs."""
        self.results.rmsd = tally.rows

    @property
    def names(self) -> list[str]:
        """What each column of RMSDs is of: ``superposed`` or ``atoms``, and the groups."""
        groups = [one if isinstance(one, str) else f"group {i}" for i, one in enumerate(self._groupselections, 1)]
        return ["superposed" if self._superposition else "atoms", *groups]

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the RMSD over time, that of groups beside it."""
        from mdreel.results.figure import time_series
        from mdreel.results.lines import lines

        if not self._groups:
            return time_series(self.times, self._values(), "RMSD (Å)", title, ax, frames=self.frames)
        names = [shorten(name, 28, placeholder=" ...") for name in self.names]
        return lines(self.times, self.results.rmsd[:, 2:], names, "RMSD (Å)", title, ax, kind="Atoms")

    def _values(self) -> NDArray[np.float64]:
        """Return the RMSD of each frame, shape (n_frames,), Å."""
        self._done()
        values: NDArray[np.float64] = self.results.rmsd[:, 2]
        return values

    def _facts(self) -> list[tuple[str, str]]:
        times, values = self.times, self._values()
        lowest, highest = int(values.argmin()), int(values.argmax())
        return [
            *super()._facts(),
            ("lowest", f"{values[lowest]:.3f} Å at {times[lowest]:,.6g} ps"),
            ("mean", f"{values.mean():.3f} Å"),
            ("highest", f"{values[highest]:.3f} Å at {times[highest]:,.6g} ps"),
        ]
