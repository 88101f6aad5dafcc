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
    """Root mean square deviation of each frame from a reference, by default after optimal superposition.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms. An atom that the group contains several times counts as often.
    reference : MDAnalysis.AtomGroup or array_like, shape (n_atoms, 3), float64, optional
        Structure to compare with: the same number of atoms in the same order, or their positions in Å. By default the
        atoms themselves.
    ref_frame : int
        Frame of the reference's trajectory, 0-based.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        Weight of each atom in the superposition and in the mean. Weights are normalised.
    superposition : bool
        Whether to superpose each frame on the reference first.
    groupselections : sequence of str or MDAnalysis.AtomGroup, optional
        Further groups of atoms, whose RMSD is computed after the superposition of `atomgroup`. Strings are applied to
        the Universe of `atomgroup` and to that of the reference.
    weights_groupselections : False or sequence of {None, "mass"} or array_like
        Weights of each group. With False, masses if `weights` is "mass", otherwise equal weights.
    tol_mass : float
        Largest difference between the masses of two corresponding atoms, amu.
    match_atoms : bool
        Whether the atoms of a reference must correspond to the atoms compared with them: same masses, and names and
        residues in the same order. With False, the atoms are compared in the given order without this check.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made from a topology alone is then enough.

    Attributes
    ----------
    results.rmsd : ndarray, shape (n_frames, 3 + n_groups), float64
        Frame, time in ps, RMSD in Å, RMSD of each group in Å.

    Raises
    ------
    SelectionError
        If there are no atoms, or the topology lacks the masses for mass weights.
    UnsupportedError
        If the group is an UpdatingAtomGroup.
    MismatchError
        If reference or weights do not fit the atoms, or `groupselections` are given with an array as reference. If
        atoms do not correspond to those of the reference.

    Warns
    -----
    AtomOrderWarning
        If atoms have the same masses as those of the reference but different names.

    Notes
    -----
    The RMSD is ``sqrt(sum_i w_i |R x_i + t - y_i|^2 / sum_i w_i)``, with the rotation R and translation t that minimise
    it. Without groups, R is not computed, because the largest eigenvalue of a 4x4 matrix gives the RMSD (QCP) [1]_
    [2]_. Coordinates are float32, as stored, and sums are float64. mdreel reads and decompresses only the selected
    atoms. The current frame of the Universe does not change.

    A reference in another Universe is read with the reader of that Universe, which returns to its current frame. Atoms
    are compared in the order of the groups (RMSD of MDAnalysis sorts both groups and drops duplicates). For positions
    given as an array, mdreel only checks their number. For a trajectory of several files, times are those in the files
    (RMSD of MDAnalysis adds up the lengths of the files).

    Memory: the results take 24 bytes for each frame, and 8 bytes for each group and frame.

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

    RMSD of the lid domain after superposition of the core domain:

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
        """Indices of the atoms of the main selection and of the groups, ascending."""
        return np.unique(np.concatenate([one.selection.atoms for one in (self._main, *self._groups)]))

    @property
    def boundaries(self) -> Boundaries:
        """What the analysis requires of molecules that the cell boundary may cut."""
        return Boundaries(
            "atoms are compared with the reference as they lie", whole=True, paths=not self._superposition
        )

    def computation(self, source: Source) -> Computation:
        """Return the computation of the RMSD of each frame, after reading the reference."""
        universe = self.atomgroup.universe if self._trajectory is None else None
        if not self._groups:
            return rmsd(self._main.structure.read(source, universe), self._main.weights, self._superposition)
        atoms = self.atoms
        main, *groups = (one.among(atoms, source, universe) for one in (self._main, *self._groups))
        if self._superposition:
            return group_rmsd(len(atoms), main, groups)
        return group_rmsd(len(atoms), None, [main, *groups])

    def fitting(self, source: Source) -> Transformation:
        """Return the transformation that superposes frames on the reference by the main selection."""
        universe = self.atomgroup.universe if self._trajectory is None else None
        main = self._main
        return superposed(main.selection.atoms, main.structure.read(source, universe), main.weights)

    def conclude(self, tally: Tally) -> None:
        """Store frame, time and RMSDs."""
        self.results.rmsd = tally.rows

    @property
    def names(self) -> list[str]:
        """Names of the RMSD columns: ``superposed`` or ``atoms``, and the groups."""
        groups = [one if isinstance(one, str) else f"group {i}" for i, one in enumerate(self._groupselections, 1)]
        return ["superposed" if self._superposition else "atoms", *groups]

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the RMSD of the atoms and the groups over time."""
        from mdreel.results.curves import lines
        from mdreel.results.figure import time_series

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
