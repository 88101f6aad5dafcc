"""Groups of atoms with their reference positions and weights, for superposition and RMSD."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Source
from mdreel.analysis.topology.matching import Matching, same_residues
from mdreel.analysis.topology.reference import are_atoms, is_group
from mdreel.analysis.topology.reference_structure import Structure
from mdreel.analysis.topology.weights import weights_of
from mdreel.errors import MismatchError, SelectionError
from mdreel.trajectory.selection import Atoms, SelectBoth, Selection, atoms_of, select_both, selections_of

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

Weights: TypeAlias = Literal["mass"] | ArrayLike | None
"""Weights of atoms."""

GroupSelection: TypeAlias = "SelectBoth | AtomGroup"
"""An atom group, or selections of atoms and of reference atoms."""


def references_of(compared: "Sequence[ComparedAtoms]", atomgroup: "AtomGroup") -> "list[tuple[AtomGroup, int | None]]":
    """Return the reference groups that are not in the Universe of `atomgroup`, with their frames."""
    structures = [one.structure for one in compared]
    return [(one.group, one.frame) for one in structures if one.group is not None and not one.is_of(atomgroup.universe)]


@dataclass(frozen=True)
class ComparedAtoms:
    """Atoms that are compared with a reference.

    Attributes
    ----------
    selection : Selection
        The atoms.
    structure : Structure
        Reference for the atoms.
    weights : ndarray, shape (n_atoms,), float64, or None
        Weights in the order of the selection, or None for equal weights.
    """

    selection: Selection
    structure: Structure
    weights: NDArray[np.float64] | None

    @classmethod
    def of(
        cls,
        atomgroup: "AtomGroup",
        reference: Any,
        frame: int | None,
        weights: Weights,
        matching: Matching,
        name: str = "the reference",
        *,
        is_own: bool = False,
    ) -> Self:
        """Check that the atoms in user input correspond to the reference, and return the compared atoms.

        See `Structure.of` for `reference`, `frame` and `is_own`.

        Raises
        ------
        MismatchError
            If the reference or the weights do not match the atoms.
        """
        selection = Selection.of(atomgroup)
        structure = Structure.of(selection, reference, frame, is_own)
        if structure.group is not None:
            matching.check(atomgroup, structure.group, name)
        return cls(selection, structure, selection.add_up(weights_of(atomgroup, weights)))

    def among(
        self, atoms: NDArray[np.uint32], source: Source, universe: "Universe | None"
    ) -> tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64] | None]:
        """Return the input for the core: indices into the atoms that are read, reference positions, and weights."""
        places = np.searchsorted(atoms, self.selection.atoms).astype(np.uint32)
        return places, self.structure.read(source, universe), self.weights

    def other_masses(self, reference: "AtomGroup") -> NDArray[np.float64] | None:
        """Return the masses of the reference if they differ from the masses used as weights.

        Returns
        -------
        ndarray, shape (n_atoms,), float64, or None
            Masses in the order of the selection, or None if they are equal to the weights or unknown.
        """
        if not hasattr(reference, "masses"):
            return None
        masses = self.selection.add_up(np.asarray(reference.masses, np.float64))
        assert masses is not None
        assert self.weights is not None
        return None if np.array_equal(masses, self.weights) else masses


def matching_atoms(
    mobile: Atoms, reference: "Atoms | None", select: SelectBoth, weights: Weights, *, match_atoms: bool, strict: bool
) -> "tuple[AtomGroup, AtomGroup | None, Weights]":
    """Select the atoms for an alignment and for its reference.

    Parameters
    ----------
    mobile, reference : MDAnalysis.Universe or AtomGroup
        The system and its reference. None stands for the system itself.
    select : str, tuple, dict or None
        See `select_both`.
    weights : {None, "mass"} or array_like
        Weights. Masses are taken from the reference, as in MDAnalysis.
    match_atoms, strict : bool
        Unless `match_atoms` is false or `strict` is true, residues with different numbers of atoms are excluded.

    Returns
    -------
    tuple of AtomGroup, AtomGroup or None, and weights
        The atoms, the reference atoms (None for the same atoms of the system), and the weights.

    Raises
    ------
    SelectionError
        If a selection is invalid or empty.
    MismatchError
        If no residues are left.
    """
    atoms, theirs = select_both(mobile, reference, select)
    if theirs is None:
        return atoms, None, weights
    if len(atoms) != len(theirs) and match_atoms and not strict:
        atoms, theirs = same_residues(atoms, theirs)
    return atoms, theirs, weights_of(theirs, weights)


def compared_groups(
    atomgroup: "AtomGroup",
    reference: Any,
    frame: int | None,
    chosen: Mapping[str, GroupSelection],
    weights: Literal["mass"] | ArrayLike | None,
    weights_of_groups: Sequence[Weights] | Literal[False],
    matching: Matching,
) -> list[ComparedAtoms]:
    """Return the groups that are compared in addition to `atomgroup`. See `mdreel.RMSD`.

    The keys of `chosen` are the names of the groups in error messages.

    Raises
    ------
    MismatchError
        If the reference is an array, because it does not contain the positions of other atoms. If the number of weights
        differs from the number of groups. If the atoms of a group do not correspond to the atoms of the reference.
    SelectionError
        If a group is empty, or if a selection is not valid.
    """
    if reference is not None and not are_atoms(reference):
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
    for (label, group), own_weights in zip(chosen.items(), weights_of_groups, strict=True):
        mobile, theirs = _group_and_reference(group, atomgroup, reference, label)
        name, is_own = f"the reference of {label}", reference is None
        groups.append(ComparedAtoms.of(mobile, theirs, frame, own_weights, matching, name, is_own=is_own))
    return groups


def _group_and_reference(
    group: GroupSelection, atomgroup: "AtomGroup", reference: "Atoms | None", name: str
) -> "tuple[AtomGroup, AtomGroup | None]":
    """Return an additional group, and its atoms in the reference or None if they are the same atoms."""
    if is_group(group):
        if group.universe is not atomgroup.universe:
            raise SelectionError(f"{name} is in another Universe than atomgroup: both must be in the same one")
        if reference is None:
            return group, None
        if reference.universe is not group.universe:
            raise MismatchError(f"{name} is an AtomGroup, but the reference is in another Universe: give a selection")
        return group, group
    of_mobile, of_reference = selections_of(group, name)
    mobile = atoms_of(atomgroup.universe, of_mobile, name)
    if reference is None and of_mobile == of_reference:
        return mobile, None
    universe = atomgroup.universe if reference is None else reference.universe
    return mobile, atoms_of(universe, of_reference, name)
