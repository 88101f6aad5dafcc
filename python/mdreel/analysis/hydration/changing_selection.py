"""Base class for analyses of a selection that is evaluated in each frame."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.survival import mean_interval
from mdreel.errors import MdreelWarning, MismatchError, SelectionError
from mdreel.foundation.stack_level import caller_level
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms
from mdreel.trajectory.selection import Selection as AtomSelection
from mdreel.trajectory.selection import selected as selected_atoms
from mdreel.trajectory.selection_tree import is_updating, parsed_selection

if TYPE_CHECKING:
    from mdreel._core import FrameSelection

Compound = Literal["atoms", "residues"]
"""Unit that is present or absent: single atoms, or residues as long as one of their atoms is selected."""


class ChangingSelection(Analysis):
    """Base class for analyses of a selection that is evaluated in each frame.

    Parameters
    ----------
    atomgroup, select, trajectory, verbose
        See `mdreel.Selection`.
    """

    _may_change = True

    def __init__(self, atomgroup: Atoms, select: str | None, trajectory: Trajectory | None, verbose: bool) -> None:
        if select is None and not is_updating(atomgroup):
            raise SelectionError("atomgroup does not change: give a selection string, or select it with updating=True")
        if select is not None and not isinstance(select, str):
            raise SelectionError(f"select must be one selection string, not {select!r}: join several with 'or'")
        if select is not None and is_updating(atomgroup):
            atomgroup, select = selected_atoms(atomgroup, select, "select", updating=True), None
        super().__init__(atomgroup, trajectory, verbose=verbose)
        if select is not None:
            self._selection = AtomSelection.again(parsed_selection(self._atomgroup, select), "select")

    @property
    def _changing(self) -> FrameSelection:
        """The selection that is evaluated in each frame."""
        changing = self._selection.changing
        assert changing is not None, "the group changes"
        return changing

    @property
    def atoms(self) -> NDArray[np.uint32]:
        """Indices of the atoms whose positions the selection needs, in ascending order."""
        # A frame of no atoms cannot be read.
        return self._changing.needed if len(self._changing.needed) else self._selection.atoms[:1]

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("distances use minimum images, and atoms are selected one by one")

    @property
    def interval(self) -> float:
        """Mean time between consecutive analysed frames in ps, or 0 for a single frame."""
        return mean_interval(self.times)

    @staticmethod
    def _warn_of_no_atoms(counts: NDArray[np.int64]) -> None:
        """Warn if no atom is selected in any frame."""
        if not counts.any():
            message = "no atom is selected in any frame: check the selection, whose distances are in Å"
            warnings.warn(message, MdreelWarning, stacklevel=caller_level())

    def _presence(
        self, counts: NDArray[np.int64], ids: NDArray[Any], compound: Compound
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of the analysed frame and the index of each selected atom or residue."""
        if compound not in ("atoms", "residues"):
            raise MismatchError(f"compound must be 'atoms' or 'residues', not {compound!r}")
        places = np.repeat(np.arange(len(counts)), counts)
        members = self._atomgroup.universe.atoms.resindices[ids] if compound == "residues" else ids
        return places, members.astype(np.int64)
