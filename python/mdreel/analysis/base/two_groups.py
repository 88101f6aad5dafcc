"""Base class of analyses of two groups of atoms."""

from typing import TYPE_CHECKING

import numpy as np

from mdreel.analysis.base.analysis import Analysis
from mdreel.errors import MismatchError
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, Selection, atoms_of

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup


class TwoGroupAnalysis(Analysis):
    """An analysis of the pairs of atoms of two groups in one Universe.

    Parameters
    ----------
    first : MDAnalysis.AtomGroup or Universe
        The first group.
    second : MDAnalysis.AtomGroup or Universe, optional
        The second group; by default the first.
    name : str
        Name of the second group in error messages.
    may_be_empty : bool
        Whether one of the groups may have no atoms.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe.
    verbose : bool
        Whether `run` shows progress by default.

    Raises
    ------
    SelectionError
        If both groups have no atoms, or one has none and `may_be_empty` is false.
    MismatchError
        If the second group is of another Universe.
    """

    def __init__(
        self,
        first: Atoms,
        second: "Atoms | None",
        name: str,
        trajectory: Trajectory | None = None,
        *,
        may_be_empty: bool = False,
        verbose: bool = False,
    ) -> None:
        first = atoms_of(first)
        if not may_be_empty:
            Selection.of(first)
        if second is not None:
            second = atoms_of(second, name=name)
            if not may_be_empty:
                Selection.of(second, name)
            if second.universe is not first.universe:
                raise MismatchError(f"{name} is in another Universe: both groups must be in the same one")
        super().__init__(first if second is None else first + second, trajectory, verbose=verbose)
        places = self._selection.places.astype(np.uint32)
        n_first = len(first)
        self._from, self._to = places[:n_first], places[:n_first] if second is None else places[n_first:]
        self._first, self._second = first, first if second is None else second

    @property
    def atomgroup(self) -> "AtomGroup":
        """The first group."""
        return self._first

    def _describe(self) -> str:
        atoms = f"{len(self._from):,} atoms"
        return f"{atoms}, {self.n_frames:,} frames" if self._outcome is not None else f"{atoms}, not run"
