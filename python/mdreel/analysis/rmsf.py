"""Root mean square fluctuation about mean positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, Source, fluctuation
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.fluctuations import after_superposition, means_and_fluctuations
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.fitted_groups import ComparedAtoms, references_of
from mdreel.analysis.topology.matching import MASS_TOLERANCE, Matching
from mdreel.analysis.topology.reference import are_atoms, read_frame
from mdreel.analysis.topology.residue_labels import ResidueLabels, atom_columns, atom_coordinates
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, atoms_of, selected

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


class RMSF(Analysis):
    """Compute the root mean square fluctuation (RMSF) of atoms about their mean positions.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup or Universe
        The atoms. If you pass a Universe, all of its atoms are used.
    superposition : bool, str, MDAnalysis.AtomGroup or Universe
        Whether to superpose frames on a reference first, which removes the translation and rotation of the molecule. If
        True, the atoms themselves are superposed. To superpose other atoms, pass a group or a selection string.
    reference : MDAnalysis.AtomGroup, Universe or array_like, shape (n_superposed, 3), float64, optional
        Structure to superpose on, which should have the same number of atoms, or an array of positions in Å. The
        default is the superposed atoms themselves.
    ref_frame : int
        Frame number in the reference trajectory, starting from 0.
    weights : {None, "mass"} or array_like, shape (n_superposed,), float64
        Weight of each atom in the superposition.
    tol_mass : float
        Largest difference in amu that is allowed between the masses of corresponding atoms.
    match_atoms : bool
        Whether to check that the atoms of the reference correspond to the selected atoms. This means that they have the
        same masses, and the same names and residues in the same order. If False, atoms will be compared in the given
        order without this check.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.rmsf : ndarray, shape (n_atoms,), float64
        RMSF of each atom in Å, in the order of the group.
    results.positions : ndarray, shape (n_atoms, 3), float64
        Mean position of each atom in Å.

    Raises
    ------
    SelectionError
        When there are no atoms.
    MismatchError
        When the reference or your weights do not match the superposed atoms, or these do not correspond to the
        reference atoms.
    UnsupportedError
        When the group is an UpdatingAtomGroup.

    Notes
    -----
    The fluctuation is ``sqrt(mean_t |x_i(t) - mean_t x_i|^2)``. Superposed positions are float64. MDAnalysis's RMSF
    does not superpose frames, so you would first have to run MDAnalysis's `AverageStructure` and `AlignTraj`.

    Displacements from the first frame and their squares are summed exactly, in steps of 2^-36 Å and 2^-27 Å^2.
    Therefore, results are bitwise identical for every executor and any number of workers and blocks. Apart from 16
    bytes per frame, the memory use does not depend on the number of frames.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> rmsf = mdreel.RMSF(mda.Universe(PSF, DCD).select_atoms("protein and name CA")).run()
    >>> rmsf.results.rmsf.shape
    (214,)
    >>> alpha = mda.Universe(PSF, DCD).select_atoms("name CA")
    >>> float(mdreel.RMSF(alpha, superposition=True).run().results.rmsf.max().round(2))
    5.73
    """

    _moved_to_results: ClassVar[Mapping[str, str]] = {"rmsf": "rmsf"}

    _units = MappingProxyType({"rmsf": "Å", "positions": "Å"})
    _result_dimensions = MappingProxyType({"rmsf": ("atom",), "positions": ("atom", "axis")})

    @checked_arguments
    def __init__(
        self,
        atomgroup: Atoms,
        *,
        superposition: bool | str | Atoms = False,
        reference: Atoms | ArrayLike | None = None,
        ref_frame: int = 0,
        weights: Literal["mass"] | ArrayLike | None = None,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(atomgroup, trajectory, verbose=verbose)
        self._fitted: ComparedAtoms | None = None
        if superposition is not False:
            by = self.atomgroup
            if isinstance(superposition, str):
                by = selected(by.universe, superposition, "superposition")
            elif not isinstance(superposition, bool):
                by = atoms_of(superposition, name="superposition")
            theirs = atoms_of(reference, name="reference") if are_atoms(reference) else reference
            self._fitted = ComparedAtoms.of(by, theirs, ref_frame, weights, Matching(tol_mass, match_atoms))

    @property
    def atoms(self) -> NDArray[np.uint32]:
        """Indices of the atoms of the group and of the superposed atoms, in ascending order."""
        if self._fitted is None:
            return self._selection.atoms
        return np.union1d(self._selection.atoms, self._fitted.selection.atoms)

    @property
    def references(self) -> Sequence[tuple[AtomGroup, int | None]]:
        """Reference groups from other Universes, each with its frame number, or None to use the current positions."""
        return references_of([] if self._fitted is None else [self._fitted], self.atomgroup)

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("displacements use no periodic images", whole=True, paths=self._fitted is None)

    def computation(self, source: Source) -> Computation:
        """Return the computation that sums displacements and their squares."""
        if self._fitted is None:
            return fluctuation(read_frame(source, 0, self.atoms))
        universe = self.atomgroup.universe if self._given_trajectory is None else None
        return after_superposition(source, self._fitted, self._selection.atoms, self.atoms, universe)

    def conclude(self, tally: Tally) -> None:
        """Compute mean positions and fluctuations from the sums."""
        positions, fluctuations = means_and_fluctuations(tally)
        places = self._selection.places
        self.results.positions, self.results.rmsf = positions[places], fluctuations[places]

    def columns(self) -> Sequence[Column]:
        """Return columns that identify each atom, and a column with its RMSF."""
        return [*atom_columns(self.atomgroup), Column("rmsf", "Å", self.results.rmsf)]

    def _result_coordinates(self) -> list[LabelledArray]:
        return [*super()._result_coordinates(), *atom_coordinates(self.atomgroup)]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the RMSF along the residues."""
        from mdreel.results.curves import profile

        labels = ResidueLabels.of(self.atomgroup)
        return profile(labels.positions, self.results.rmsf, labels.axis, "RMSF (Å)", title, ax)
