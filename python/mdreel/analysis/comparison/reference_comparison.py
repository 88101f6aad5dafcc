"""Base class for comparisons of each frame with a reference structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Source
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.fitted_groups import ComparedAtoms, references_of
from mdreel.analysis.topology.matching import Matching
from mdreel.analysis.topology.residue_labels import ResidueLabels
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, SelectBoth, select_both, selections_of

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

MOST_ATOMS = "protein and not name H*"
"""Default selection: the heavy atoms of proteins."""


class ReferenceComparison(Analysis):
    """Base class for comparisons of each frame with a reference structure.

    Parameters
    ----------
    atomgroup, reference, select, ref_frame, tol_mass, match_atoms, trajectory, verbose
        See `mdreel.RMSD`. The reference cannot be an array.
    """

    _superposition = True
    """Whether the values do not depend on how the molecule lies in the cell."""

    def __init__(
        self,
        atomgroup: Atoms,
        reference: Atoms | None,
        select: SelectBoth,
        ref_frame: int | None,
        tol_mass: float,
        match_atoms: bool,
        trajectory: Trajectory | None,
        verbose: bool,
    ) -> None:
        atoms, theirs = select_both(atomgroup, reference, select)
        super().__init__(atoms, trajectory, verbose=verbose)
        matching = Matching(tol_mass, match_atoms, refuses_order=selections_of(select) != (None, None))
        self._compared = ComparedAtoms.of(atoms, theirs, ref_frame, None, matching, is_own=reference is None)

    @property
    def references(self) -> Sequence[tuple[AtomGroup, int | None]]:
        """Reference groups from other Universes, each with its frame, or None for the current positions."""
        return references_of([self._compared], self.atomgroup)

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        why = "atoms are compared with the reference without periodic images"
        return Boundaries(why, whole=True, paths=not self._superposition)

    @property
    def residue_labels(self) -> list[str]:
        """Text label of each residue, in the order of the topology."""
        return self._labels.texts

    @property
    def _labels(self) -> ResidueLabels:
        return ResidueLabels.of(self.atomgroup.universe.residues[np.unique(self._resindices)])

    @property
    def _resindices(self) -> NDArray[np.intp]:
        """Index of the residue of each atom that is read."""
        indices: NDArray[np.intp] = self.atomgroup.universe.atoms[self.atoms].resindices
        return indices

    def _reference_positions(self, source: Source) -> NDArray[np.float64]:
        """Return the positions of the reference in Å, in the order in which the atoms are read."""
        universe = self.atomgroup.universe if self._given_trajectory is None else None
        return self._compared.structure.read(source, universe)
