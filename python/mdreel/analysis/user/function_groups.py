"""Groups of atoms whose positions a user function receives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mdreel._core import FrameSet, Source
from mdreel.analysis.user.function_arguments import (
    Argument,
    Constant,
    FrameFunction,
    Given,
    GroupPositions,
    given_to,
    with_frame_data,
)
from mdreel.analysis.user.referenced_atoms import holds_atoms
from mdreel.analysis.user.user_functions import Batch
from mdreel.errors import MismatchError, SelectionError, UnsupportedError
from mdreel.trajectory.selection import Selection, atoms_of

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup
    from numpy.typing import NDArray

    from mdreel.trajectory.selection import Members

_OPTIONS = ("per", "reduce", "bins", "range", "trajectory")
_GROUPS = {"AtomGroup", "ResidueGroup", "SegmentGroup", "Universe"}


@dataclass(frozen=True)
class FunctionGroups:
    """The groups of a user function, and the function in the form in which workers call it.

    Attributes
    ----------
    function : callable
        The user function if its only argument is the positions of one group that does not change, and otherwise a
        `FrameFunction`.
    groups : sequence of AtomGroup
        The groups, in the order in which the user gave them.
    selections : sequence of Selection
        The atoms of the groups.
    """

    function: Callable[..., Any]
    groups: Sequence[AtomGroup]
    selections: Sequence[Selection]

    @classmethod
    def of(
        cls, function: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any], *, takes_blocks: bool
    ) -> Self:
        """Return the groups among the arguments of a user function. See `from_function`."""
        groups: list[AtomGroup] = []
        selections: list[Selection] = []

        def argument(value: Any, name: str) -> Argument:
            if not groups or _GROUPS & {kind.__name__ for kind in type(value).__mro__}:
                group = atoms_of(value, name=name, may_change=True)
                selection = Selection.of(group, name, may_change=True)
                if groups and group.universe is not groups[0].universe:
                    raise MismatchError(f"{name} is in another Universe: all groups must be in the same one")
                if takes_blocks and selection.changing is not None:
                    raise UnsupportedError(
                        f"{name} is an UpdatingAtomGroup, which changes between the frames of a block: use per='frame'"
                    )
                start = sum(one.n_given for one in selections)
                groups.append(group)
                selections.append(selection)
                return GroupPositions(len(groups) - 1, start, start + selection.n_given)
            if holds_atoms(value):
                raise SelectionError(
                    f"{name} is a {type(value).__name__} that contains atoms: pass each AtomGroup as an argument of "
                    "its own; the function then receives its positions"
                )
            return Constant(value)

        positional = [
            argument(value, f"argument {number} of the function" if number > 1 else "atomgroup")
            for number, value in enumerate(arguments, 1)
        ]
        by_name = {name: argument(value, name) for name, value in named.items()}
        called = with_frame_data(function, positional, by_name, _OPTIONS)
        is_plain = len(called.positional) == 1 and not called.by_name and selections[0].changing is None
        return cls(function if is_plain else called, groups, selections)

    @property
    def first(self) -> AtomGroup:
        """The first group."""
        return self.groups[0]

    @property
    def read(self) -> AtomGroup:
        """The only group, or the atoms that must be read for all groups."""
        if len(self.groups) == 1:
            return self.first
        return self.first.universe.atoms[np.unique(np.concatenate([one.atoms for one in self.selections]))]

    @property
    def n_possible(self) -> int:
        """Number of atoms in all groups. For changing groups, count all atoms that can belong to them."""
        return sum(one.n_given for one in self.selections)

    def members(self, atoms: NDArray[np.uint32]) -> NDArray[np.uint32] | list[Members]:
        """Return the groups for a computation that receives some atoms, as a list or as positions of one group."""
        if isinstance(self.function, FrameFunction):
            return [one.members(atoms) for one in self.selections]
        return self.selections[0].places.astype(np.uint32)

    def first_frame(self, source: Source, atoms: NDArray[np.uint32]) -> Given:
        """Return the first frame of a trajectory in the form in which the function receives it."""
        read = source.read(FrameSet.range(0, 1, 1), atoms)
        cells = np.where(read.has_cell[:, None], read.dimensions, np.float32(np.nan)).astype(np.float32)
        places = [np.searchsorted(atoms, one.atoms[one.places]) for one in self.selections]
        members: list[Any] = []
        if any(one.changing is not None for one in self.selections):
            cell = read.dimensions[0] if read.has_cell[0] else None
            for one, keys in zip(self.selections, places, strict=True):
                if one.changing is None:
                    members.append(None)
                    continue
                found = np.searchsorted(atoms, one.changing.among(atoms).find(read.positions[0], cell))
                members.append([np.searchsorted(keys, found).astype(np.uint32)])
        positions = read.positions[:, np.concatenate(places)]
        batch = Batch(0, np.zeros(1, np.uint64), read.times, cells, positions, members)
        return given_to(self.function, batch)
