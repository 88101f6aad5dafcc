"""Root mean square fluctuation of atoms."""

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, Source, fluctuation
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.fluctuations import after_superposition, means_and_fluctuations
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.fitted_groups import ComparedAtoms
from mdreel.analysis.topology.matching import MASS_TOLERANCE, Matching
from mdreel.analysis.topology.reference import read_frame
from mdreel.analysis.topology.residue_labels import ResidueLabels
from mdreel.execution.tally import Tally
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import select_both

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


class RMSF(Analysis):
    """Root mean square fluctuation of each atom about its mean position.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms.
    superposition : bool, str or MDAnalysis.AtomGroup
        Whether each frame is superposed on a reference first, which takes away that the molecule drifts and turns:
        False, with the coordinates as they are; True, by the atoms themselves; or by other atoms, which may be a
        selection in the Universe.
    reference : MDAnalysis.AtomGroup or array_like, shape (n_superposed, 3), float64, optional
        What is superposed on: as many atoms, or positions, Å. By default the atoms themselves.
    ref_frame : int
        Frame of the reference's trajectory, 0-based.
    weights : {None, "mass"} or array_like, shape (n_superposed,), float64
        How much each atom counts in the superposition.
    tol_mass : float
        By how much the masses of two atoms may differ that correspond, amu.
    match_atoms : bool
        Whether the atoms of a reference must correspond to those that they are compared with: same masses, same order
        of names and residues. False takes them in the order in which they come.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results.rmsf : ndarray, shape (n_atoms,), float64
        RMSF of each atom in the order of the group, Å.
    results.positions : ndarray, shape (n_atoms, 3), float64
        Mean position of each atom, Å.

    Raises
    ------
    SelectionError
        If there are no atoms.
    MismatchError
        If reference or weights do not fit the atoms that are superposed, or these do not correspond to those of the
        reference.
    UnsupportedError
        If the group is an UpdatingAtomGroup.

    Notes
    -----
    ``sqrt(mean_t |x_i(t) - mean_t x_i|^2)``, over all frames alike. Superposed positions are float64. MDAnalysis's RMSF
    has no superposition: there it takes `AverageStructure` and `AlignTraj` before it.

    Displacements from the first frame and their squares are added up exactly, in steps of 2^-36 Å and 2^-27 Å^2: the
    result has the same bits whichever the executor, with however many workers and blocks. Memory does not grow with
    the number of frames, beyond 16 bytes for number and time of each.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> rmsf = RMSF(mda.Universe(PSF, DCD).select_atoms("protein and name CA")).run()
    >>> rmsf.results.rmsf.shape
    (214,)
    >>> alpha = mda.Universe(PSF, DCD).select_atoms("name CA")
    >>> float(RMSF(alpha, superposition=True).run().results.rmsf.max().round(2))
    5.73
    """

    def __init__(
        self,
        atomgroup: "AtomGroup",
        superposition: "bool | str | AtomGroup" = False,
        reference: "AtomGroup | ArrayLike | None" = None,
        ref_frame: int = 0,
        weights: Literal["mass"] | ArrayLike | None = None,
        *,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
        trajectory: Trajectory | None = None,
    ) -> None:
        super().__init__(atomgroup, trajectory)
        self._fitted: ComparedAtoms | None = None
        if superposition is not False:
            by = atomgroup if superposition is True else superposition
            if isinstance(by, str):
                by, _ = select_both(atomgroup.universe, None, by)
            self._fitted = ComparedAtoms.of(by, reference, ref_frame, weights, Matching(tol_mass, match_atoms))

    @property
    def atoms(self) -> NDArray[np.uint32]:
        """The atoms that are read: those of the group, and those that are superposed."""
        if self._fitted is None:
            return self._selection.atoms
        return np.union1d(self._selection.atoms, self._fitted.selection.atoms)

    @property
    def boundaries(self) -> Boundaries:
        """What it requires of molecules that the boundary of the cell may cut."""
        return Boundaries("displacements are those of the atoms as they lie", whole=True, paths=self._fitted is None)

    def computation(self, source: Source) -> Computation:
        """Return what adds up displacements from a frame."""
        if self._fitted is None:
            return fluctuation(read_frame(source, 0, self.atoms))
        universe = self.atomgroup.universe if self._trajectory is None else None
        return after_superposition(source, self._fitted, self._selection.atoms, self.atoms, universe)

    def conclude(self, tally: Tally) -> None:
        """Make means and fluctuations of the sums."""
        positions, fluctuations = means_and_fluctuations(tally)
        places = self._selection.places
        self.results.positions, self.results.rmsf = positions[places], fluctuations[places]

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the RMSF along the residues."""
        from mdreel.results.profile import profile

        labels = ResidueLabels.of(self.atomgroup)
        return profile(labels.positions, self.results.rmsf, labels.axis, "RMSF (Å)", title, ax)
