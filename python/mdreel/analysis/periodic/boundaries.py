"""Requirements that an analysis has for coordinates in a periodic cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.periodic.jumps import Jump
from mdreel.execution.tally import Tally

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

FOLLOWED = "run(transformations=[mdreel.transformations.nojump()]) in Python, --transform nojump on the command line"
"""Instructions for undoing jumps before an analysis."""


@dataclass(frozen=True)
class Boundaries:
    """Requirements that an analysis has for molecules that cross the periodic boundary.

    Attributes
    ----------
    why : str
        Reason for the requirements, or reason why there are none.
    whole : bool
        Whether molecules must be whole, because the analysis computes distances without periodic images.
    paths : bool
        Whether atoms must not jump across the cell, because the analysis compares positions at different times.
    remedy : str
        Instructions for undoing jumps before this analysis.
    """

    why: str
    whole: bool = False
    paths: bool = False
    remedy: str = FOLLOWED


class HasBoundaries(Protocol):
    """An analysis with its atoms and its requirements for periodic boundaries."""

    @property
    def atomgroup(self) -> "AtomGroup":
        """The atoms in the order in which the user gave them."""

    @property
    def atoms_read(self) -> NDArray[np.uint32]:
        """Indices of the atoms, in ascending order."""

    @property
    def boundaries(self) -> Boundaries:
        """The requirements of the analysis."""

    @property
    def references(self) -> "Sequence[tuple[AtomGroup, int | None]]":
        """Reference groups from other Universes, each with its frame, or None for the current positions."""

    @property
    def molecules(self) -> NDArray[np.uint32]:
        """Indices of atoms whose molecules must be whole, in ascending order."""

    @property
    def keeps_positions(self) -> bool:
        """Whether a run keeps the positions of all frames."""

    def find_kept_jump(self, tally: Tally) -> Jump | None:
        """Return an atom that jumps across the cell in the kept positions of a run, if there is one."""
