"""Reference structure of a selection."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Source
from mdreel.analysis.topology.matching import mismatch
from mdreel.analysis.topology.reference import are_atoms, positions_at, read_frame
from mdreel.errors import MismatchError
from mdreel.trajectory.selection import Selection

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe


@dataclass(frozen=True)
class Structure:
    """The reference structure of a selection.

    Attributes
    ----------
    selection : Selection
        The atoms.
    group : MDAnalysis.AtomGroup or None
        Atoms of the reference, or None for the atoms of the selection.
    given : ndarray, shape (n_atoms, 3), float64, or None
        Positions in Å given as the reference, in the order of the selection.
    frame : int or None
        Frame number in the reference trajectory, starting from 0. If None, the current positions of its Universe are
        used.
    is_own : bool
        Whether `group` belongs to the analysed trajectory, even if this is not the trajectory of its Universe.
    """

    selection: Selection
    group: Any
    given: NDArray[np.float64] | None
    frame: int | None
    is_own: bool = False

    @classmethod
    def of(
        cls,
        selection: Selection,
        reference: "AtomGroup | ArrayLike | None",
        frame: int | None,
        is_own: bool = False,
    ) -> Self:
        """Return the structure for a reference given by the user.

        Parameters
        ----------
        selection : Selection
            The atoms.
        reference : MDAnalysis.AtomGroup, array_like, shape (n_atoms, 3), or None
            The reference, or None for the atoms themselves.
        frame : int or None
            Frame number in the reference trajectory, starting from 0. If None, the current positions of its Universe
            are used.
        is_own : bool
            Whether a reference group belongs to the analysed trajectory, even if this is not the trajectory of its
            Universe.

        Raises
        ------
        MismatchError
            If the reference has a different number of atoms.
        """
        if are_atoms(reference):
            reference = reference.atoms
            n_given = Selection.of(reference, "reference").n_given
            if n_given != selection.n_given:
                raise mismatch(
                    f"atomgroup has {selection.n_given} atoms, reference has {n_given}: select the same atoms in both"
                )
            return cls(selection, reference, None, frame, is_own)
        if reference is None:
            if frame is None:
                raise MismatchError("ref_frame=None is the current frame of a reference: give a reference")
            return cls(selection, None, None, frame)
        return cls(selection, None, selection.gather(np.asarray(reference, np.float64), "reference"), frame)

    def read(self, source: Source, universe: "Universe | None") -> NDArray[np.float64]:
        """Return the reference positions.

        Parameters
        ----------
        source : Source
            The analysed trajectory.
        universe : MDAnalysis.Universe or None
            The Universe to which `source` belongs, or None for a separate trajectory.

        Returns
        -------
        ndarray, shape (n_atoms, 3), float64
            Positions of the atoms of the selection in Å.
        """
        if self.given is not None:
            return self.given
        if self.group is None:
            assert self.frame is not None
            return read_frame(source, self.frame, self.selection.atoms)
        positions = positions_at(self.group, self.frame, source if self.is_of(universe) else None)
        return self.selection.gather(positions, "reference")

    def is_of(self, universe: "Universe | None") -> bool:
        """Return whether the reference belongs to the analysed trajectory. Pass None for a separate trajectory."""
        if self.group is None:
            return self.given is None
        return self.is_own or self.group.universe is universe
