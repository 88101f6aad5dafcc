"""Groups that move along with a superposition, for group RMSDs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Source
from mdreel.analysis.topology.matching import Matching
from mdreel.analysis.topology.reference import is_group
from mdreel.analysis.topology.reference_structure import Structure
from mdreel.analysis.topology.weights import weights_of
from mdreel.errors import MismatchError, SelectionError
from mdreel.trajectory.selection import Selection, selected

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

Weights: TypeAlias = Literal["mass"] | ArrayLike | None
"""How much each atom counts."""

GroupSelection: TypeAlias = "str | AtomGroup"
"""Atoms, or a selection of them in the Universe."""


@dataclass(frozen=True)
class ComparedAtoms:
    """Atoms that are compared with a reference.

    Attributes
    ----------
    selection : Selection
        The atoms.
    structure : Structure
        Their reference.
    weights : ndarray, shape (n_atoms,), float64, or None
        Weights in the order of the selection; None where all are alike.
    """

    selection: Selection
    structure: Structure
    weights: NDArray[np.float64] | None

    @classmethod
    def of(
        cls,
        atomgroup: "AtomGroup",
        reference: Any,
        frame: int,
        weights: Weights,
        matching: Matching,
        name: str = "the reference",
    ) -> Self:
        """Take atoms and what a user has given for them; check that atoms correspond to those of the reference.

        Raises
        ------
        MismatchError
            If reference or weights do not fit the atoms.
        """
        selection = Selection.of(atomgroup)
        structure = Structure.of(selection, reference, frame)
        if structure.group is not None:
            matching.check(atomgroup, structure.group, name)
        return cls(selection, structure, selection.add_up(weights_of(atomgroup, weights)))

    def among(
        self, atoms: NDArray[np.uint32], source: Source, universe: "Universe | None"
    ) -> tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64] | None]:
        """Return what the core is told: places among atoms that are read, positions in the reference, and weights."""
        places = np.searchsorted(atoms, self.selection.atoms).astype(np.uint32)
        return places, self.structure.read(source, universe), self.weights


def compared_groups(
    atomgroup: "AtomGroup",
    reference: Any,
    frame: int,
    chosen: Sequence[GroupSelection],
    weights: Literal["mass"] | ArrayLike | None,
    weights_of_groups: Sequence[Weights] | Literal[False],
    matching: Matching,
) -> list[ComparedAtoms]:
    """Return the groups that are compared beside the atoms of `atomgroup`; see `mdreel.RMSD`.

    Raises
    ------
    MismatchError
        If the reference is an array, which has no other atoms, or weights are not as many as groups; if the atoms of a
        group do not correspond to those of the reference.
    SelectionError
        If a group is empty, or cannot be understood.
    """
    if reference is not None and not is_group(reference):
        message = "groupselections need a reference with all atoms: an AtomGroup, or a frame of the trajectory"
        raise MismatchError(f"{message}; positions of the main selection alone do not say where groups are")
    if weights_of_groups is False:
        # As the main selection, unless its weights are numbers, which are those of its atoms.
        weights_of_groups = ["mass" if isinstance(weights, str) else None] * len(chosen)
    if len(weights_of_groups) != len(chosen):
        given = len(weights_of_groups)
        raise MismatchError(f"weights_groupselections must be one for each of {len(chosen)} groups, got {given}")
    groups = []
    for i, (group, own_weights) in enumerate(zip(chosen, weights_of_groups, strict=True)):
        mobile = _selected(group, atomgroup, i)
        theirs = None
        if is_group(reference) and reference.universe is not atomgroup.universe:
            if not isinstance(group, str):
                message = "is an AtomGroup, but the reference is in another Universe: give a selection string"
                raise MismatchError(f"groupselections[{i}] {message}")
            theirs = _selected(group, reference, i)
        name = f"the reference of groupselections[{i}]"
        groups.append(ComparedAtoms.of(mobile, theirs, frame, own_weights, matching, name))
    return groups


def _selected(group: GroupSelection, of: "AtomGroup", i: int) -> "AtomGroup":
    """Select in the Universe of `of`."""
    if not isinstance(group, str):
        if not is_group(group):
            raise SelectionError(f"groupselections[{i}] must be a string or an AtomGroup, not {type(group).__name__}")
        if group.universe is not of.universe:
            raise SelectionError(f"groupselections[{i}] is of another Universe than atomgroup")
        return group
    return selected(of.universe, group, f"groupselections[{i}]")
