"""Base class for analyses of two groups of atoms."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.base.analysis import Analysis
from mdreel.errors import MismatchError
from mdreel.trajectory.atom_union import union_of
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, Selection, atoms_of

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup


class TwoGroupAnalysis(Analysis):
    """An analysis of pairs of atoms from two groups in the same Universe.

    Parameters
    ----------
    first : MDAnalysis.AtomGroup or Universe
        The first group.
    second : MDAnalysis.AtomGroup or Universe, optional
        The second group. The default is the first group.
    name : str
        Name of the second group in error messages.
    first_name : str
        Name of the first group in error messages.
    may_be_empty : bool
        Whether one of the groups may have no atoms.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Raises
    ------
    SelectionError
        If both groups have no atoms, or if one group has no atoms and `may_be_empty` is false.
    MismatchError
        If the second group is in another Universe.
    """

    def __init__(
        self,
        first: Atoms,
        second: "Atoms | None",
        name: str,
        trajectory: Trajectory | None = None,
        *,
        first_name: str = "atomgroup",
        may_be_empty: bool = False,
        verbose: bool = False,
    ) -> None:
        may_change = self._may_change
        first = atoms_of(first, name=first_name, may_change=may_change)
        chosen = [Selection.of(first, first_name, may_change=may_change, may_be_empty=may_be_empty)]
        if second is not None:
            second = atoms_of(second, name=name, may_change=may_change)
            chosen.append(Selection.of(second, name, may_change=may_change, may_be_empty=may_be_empty))
            if second.universe is not first.universe:
                raise MismatchError(f"{name} is in another Universe: both groups must be in the same one")
        atoms = union_of([one.atoms for one in chosen])
        super().__init__(first.universe.atoms[atoms], trajectory, verbose=verbose)
        self._chosen = chosen[0], chosen[-1]
        self._from, self._to = (np.searchsorted(atoms, one.atoms[one.places]).astype(np.uint32) for one in self._chosen)
        self._first, self._second = first, first if second is None else second

    @property
    def has_changing_groups(self) -> bool:
        """Whether a group is selected again in each frame."""
        return any(one.changing is not None for one in self._chosen)

    @property
    def molecules(self) -> NDArray[np.uint32]:
        """Indices of the atoms whose molecules must be whole if the analysis requires it, in ascending order."""
        return np.unique(np.concatenate([one.given for one in self._chosen])).astype(np.uint32)

    @property
    def atomgroup(self) -> "AtomGroup":
        """The first group."""
        return self._first

    @property
    def _n_described(self) -> int:
        return len(self._from)

    def _describe(self) -> str:
        atoms = f"{self._n_described:,} atoms"
        if self._chosen[0].changing is not None:
            atoms = f"up to {atoms} that change"
        return f"{atoms}, {self.n_frames:,} frames" if self._outcome is not None else f"{atoms}, not run"
