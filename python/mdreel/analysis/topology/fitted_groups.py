"""Groups of atoms with their reference positions and weights, for superposition and RMSD."""

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
"""Weights of atoms."""

GroupSelection: TypeAlias = "str | AtomGroup"
"""An atom group or a selection string."""


@dataclass(frozen=True)
class ComparedAtoms:
    """Atoms that are compared with a reference.

    Attributes
    ----------
    selection : Selection
        The atoms.
    structure : Structure
        Reference of the atoms.
    weights : ndarray, shape (n_atoms,), float64, or None
        Weights in the order of the selection; None for equal weights.
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
        """Return the compared atoms for user input, after checking that they correspond to the reference.

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
        """Return the input for the core: indices into the atoms that are read, reference positions, and weights."""
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
    """Return the groups that are compared in addition to `atomgroup`; see `mdreel.RMSD`.

    Raises
    ------
    MismatchError
        If the reference is an array, which has no positions of other atoms. If the number of weights differs from the
        number of groups, or the atoms of a group do not correspond to those of the reference.
    SelectionError
        If a group is empty, or a selection is not valid.
    """
    if reference is not None and not is_group(reference):
        message = "groupselections need a reference with all atoms: give an AtomGroup, or a frame of the trajectory"
        raise MismatchError(f"{message}; an array only has the positions of the main selection")
    if weights_of_groups is False:
        # Weights given as numbers belong to the main selection and do not apply to other groups.
        weights_of_groups = ["mass" if isinstance(weights, str) else None] * len(chosen)
    if len(weights_of_groups) != len(chosen):
        given = len(weights_of_groups)
        raise MismatchError(
            f"weights_groupselections must have one entry for each of {len(chosen)} groups, got {given}"
        )
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
    """Return a group of the Universe of `of`, selected if it is a string."""
    if not isinstance(group, str):
        if not is_group(group):
            raise SelectionError(f"groupselections[{i}] must be a string or an AtomGroup, not {type(group).__name__}")
        if group.universe is not of.universe:
            raise SelectionError(f"groupselections[{i}] is in another Universe than atomgroup")
        return group
    return selected(of.universe, group, f"groupselections[{i}]")
