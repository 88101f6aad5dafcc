"""Positions of a selection in a reference structure."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Source
from mdreel.analysis.topology.reference import is_group, positions_at, read_frame
from mdreel.errors import MismatchError
from mdreel.trajectory.selection import Selection

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe


@dataclass(frozen=True)
class Structure:
    """The reference of a selection.

    Attributes
    ----------
    selection : Selection
        The atoms.
    group : MDAnalysis.AtomGroup or None
        Atoms that are the reference; None for the atoms themselves.
    given : ndarray, shape (n_atoms, 3), float64, or None
        Positions that are the reference, Å, in the order of the selection.
    frame : int
        Frame of the reference's trajectory, 0-based.
    """

    selection: Selection
    group: Any
    given: NDArray[np.float64] | None
    frame: int

    @classmethod
    def of(cls, selection: Selection, reference: "AtomGroup | ArrayLike | None", frame: int) -> Self:
        """Take what a user has given.

        Raises
        ------
        MismatchError
            If the reference has another number of atoms.
        """
        if is_group(reference):
            n_given = Selection.of(reference, "reference").n_given
            if n_given != selection.n_given:
                raise MismatchError(f"atomgroup has {selection.n_given} atoms, reference has {n_given}")
            return cls(selection, reference, None, frame)
        if reference is None:
            return cls(selection, None, None, frame)
        return cls(selection, None, selection.gather(np.asarray(reference, np.float64), "reference"), frame)

    def read(self, source: Source, universe: "Universe | None") -> NDArray[np.float64]:
        """Read the positions.

        Parameters
        ----------
        source : Source
            The trajectory that is analysed.
        universe : MDAnalysis.Universe or None
            The Universe whose own trajectory that is, if it is one.

        Returns
        -------
        ndarray, shape (n_atoms, 3), float64
            Positions of the atoms of the selection, Å.
        """
        if self.given is not None:
            return self.given
        if self.group is None:
            return read_frame(source, self.frame, self.selection.atoms)
        positions = positions_at(self.group, self.frame, source if self.group.universe is universe else None)
        return self.selection.gather(positions, "reference")
