"""Conversion of atom selections to ascending indices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSelection, SelectedAtoms
from mdreel.errors import MdreelError, MismatchError, SelectionError, UnsupportedError
from mdreel.foundation.arguments import shown
from mdreel.trajectory.selection_remedies import reason_with_remedy, remedy_for_no_atoms
from mdreel.trajectory.selection_tree import frame_selection, is_updating, named_groups

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, ResidueGroup, SegmentGroup, Universe

Atoms: TypeAlias = "AtomGroup | ResidueGroup | SegmentGroup | Universe"
"""Atoms as specified by the user: a group, or a Universe for all atoms."""

Select: TypeAlias = str | Sequence[str] | None
"""One or more selection strings, as in MDAnalysis's `select_atoms`, or None for all atoms."""

SelectBoth: TypeAlias = Select | tuple[Select, Select] | Mapping[str, Select]
"""Selections for a system and for its reference."""


Members: TypeAlias = NDArray[np.uint32] | tuple[NDArray[np.uint32], SelectedAtoms, NDArray[np.uint32]]
"""A group of atoms in the form that computations expect. See `Selection.members`."""


@dataclass(frozen=True)
class Selection:
    """The atoms of an AtomGroup, in the order of the file and without repetitions.

    Attributes
    ----------
    atoms : ndarray, shape (n_atoms,), uint32
        Indices of the atoms to read, in ascending order.
    places : ndarray, shape (n_given,), int64
        Position of each atom of the group in `atoms`, in the order of the group. If the group changes, these are all
        atoms that can belong to the group.
    changing : FrameSelection or None
        Selection of the group's members in each frame. If None, the group does not change.
    """

    atoms: NDArray[np.uint32]
    places: NDArray[np.int64]
    changing: FrameSelection | None = None

    @classmethod
    def of(
        cls,
        atomgroup: "AtomGroup",
        name: str = "atomgroup",
        *,
        may_change: bool = False,
        may_be_empty: bool = False,
    ) -> Self:
        """Return the selection of the atoms of a group.

        Parameters
        ----------
        atomgroup : MDAnalysis.AtomGroup
            The group.
        name : str
            Name of the group in error messages.
        may_change : bool
            Whether the group may be an UpdatingAtomGroup.
        may_be_empty : bool
            Whether a group that does not change may be empty.

        Raises
        ------
        SelectionError
            If the group is not an AtomGroup, is empty although `may_be_empty` is false, or changes but can never
            contain an atom.
        UnsupportedError
            If the group is an UpdatingAtomGroup and `may_change` is false.
        """
        # Compares names of classes, because importing MDAnalysis takes longer than most analyses.
        kinds = {kind.__name__ for kind in type(atomgroup).__mro__}
        if "AtomGroup" not in kinds:
            raise SelectionError(f"{name} must be an MDAnalysis AtomGroup, not {type(atomgroup).__name__}")
        if may_change and is_updating(atomgroup):
            return cls.again(frame_selection(atomgroup), name)
        _refuse_updating(atomgroup, name)
        if len(atomgroup) == 0 and not may_be_empty:
            raise SelectionError(f"{name} has no atoms: change the selection that it was made with")
        atoms, places = np.unique(atomgroup.ix, return_inverse=True)
        return cls(atoms.astype(np.uint32), places)

    @classmethod
    def again(cls, changing: FrameSelection, name: str = "atomgroup") -> Self:
        """Return the selection for a group that is re-evaluated in each frame.

        Raises
        ------
        SelectionError
            If no atom can ever belong to the group.
        """
        possible = changing.possible
        if len(possible) == 0:
            raise SelectionError(f"{name} has no atoms in any frame: no atom can match the selection")
        atoms = np.union1d(changing.needed, possible)
        return cls(atoms, np.searchsorted(atoms, possible), changing)

    @property
    def n_given(self) -> int:
        """Number of atoms of the group, including repetitions."""
        return len(self.places)

    @property
    def given(self) -> NDArray[np.intp]:
        """Index of each atom that belongs or can belong to the group, shape (n_given,), int64."""
        return self.atoms[self.places].astype(np.intp)

    @property
    def has_repetitions(self) -> bool:
        """Whether any atom is in the group more than once."""
        return len(self.places) > len(self.atoms)

    @property
    def is_in_order(self) -> bool:
        """Whether the group consists of `atoms` in ascending order, so that results need not be reordered."""
        return np.array_equal(self.places, np.arange(len(self.atoms)))

    def members(self, atoms: NDArray[np.uint32] | None = None) -> Members:
        """Return the group in the form that computations expect.

        Parameters
        ----------
        atoms : ndarray, shape (n_read,), uint32, optional
            Indices of the atoms that the computation receives, in ascending order. The default is `atoms`.

        Returns
        -------
        ndarray, shape (n_given,), uint32, or tuple
            Positions of the group's atoms among the received atoms. For a changing group, a tuple that additionally
            contains the selection among the received atoms and the index of each atom.
        """
        atoms = self.atoms if atoms is None else atoms
        return members_of(np.searchsorted(atoms, self.given).astype(np.uint32), self.changing, atoms, self.given)

    def gather(self, positions: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        """Reorder positions from the order of the group to the order of `atoms`.

        Parameters
        ----------
        positions : ndarray, shape (n_given, 3), float64
            Positions in the order of the group, in Å.
        name : str
            Name of the positions, for error messages.

        Returns
        -------
        ndarray, shape (n_atoms, 3), float64
            Positions of `atoms`, in Å.

        Raises
        ------
        MismatchError
            If the number of positions is wrong, or a repeated atom has different positions.
        """
        if positions.shape != (self.n_given, 3):
            raise MismatchError(f"{name} must have the shape ({self.n_given}, 3), got {positions.shape}")
        gathered = np.empty((len(self.atoms), 3))
        gathered[self.places] = positions
        if self.has_repetitions and not np.array_equal(gathered[self.places], positions, equal_nan=True):
            raise MismatchError(f"{name} gives an atom that is selected more than once different positions")
        return gathered

    def add_up(self, weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        """Reorder weights from the order of the group to the order of `atoms`, and add up weights of repeated atoms.

        Parameters
        ----------
        weights : ndarray, shape (n_given,), float64, optional
            Weights, in the same order as the atoms of the group. By default, all weights are 1.

        Returns
        -------
        ndarray, shape (n_atoms,), float64, or None
            Weights of `atoms`, or None if all weights are equal.

        Raises
        ------
        MismatchError
            If the number of weights is wrong.
        """
        if weights is None:
            if not self.has_repetitions:
                return None
            weights = np.ones(self.n_given)
        if weights.shape != (self.n_given,):
            raise MismatchError(f"weights must have the shape ({self.n_given},), got {weights.shape}")
        sums = np.zeros(len(self.atoms))
        np.add.at(sums, self.places, weights)
        return sums


def members_of(
    places: NDArray[np.uint32],
    changing: FrameSelection | None,
    atoms: NDArray[np.uint32],
    keys: NDArray[np.integer],
) -> Members:
    """Return a group in the form that computations expect.

    Parameters
    ----------
    places : ndarray, shape (n_given,), uint32
        Indices of the atoms within the atoms that the computation receives.
    changing : FrameSelection or None
        Selection of the members in each frame. If None, all atoms belong to the group in every frame.
    atoms : ndarray, shape (n_read,), uint32
        Indices of the atoms that the computation receives, in ascending order.
    keys : ndarray, shape (n_given,), int
        Index of the atom that must be selected for each of `places` to belong to the group.
    """
    return places if changing is None else (places, changing.among(atoms), keys.astype(np.uint32))


def atoms_of(atoms: Atoms, select: Select = None, name: str = "atomgroup", *, may_change: bool = False) -> "AtomGroup":
    """Return the atoms that the user specified as an AtomGroup.

    Parameters
    ----------
    atoms : MDAnalysis.AtomGroup, ResidueGroup, SegmentGroup or Universe
        The atoms. If you pass a Universe, all of its atoms are used.
    select : str or sequence of str, optional
        Selection strings that the atoms must match. The selected atoms are in the order of MDAnalysis's `select_atoms`.
        By default, all atoms are returned in their original order.
    name : str
        Name of the argument in error messages.
    may_change : bool
        Whether the atoms may be an UpdatingAtomGroup.

    Returns
    -------
    MDAnalysis.AtomGroup
        The atoms.

    Raises
    ------
    SelectionError
        If you passed neither a group nor a Universe, or your selection is invalid or empty.
    UnsupportedError
        If the atoms are an UpdatingAtomGroup and `may_change` is false.
    """
    # Compares names of classes, because importing MDAnalysis takes longer than most analyses.
    kinds = {kind.__name__ for kind in type(atoms).__mro__}
    if not kinds & {"AtomGroup", "ResidueGroup", "SegmentGroup", "Universe"}:
        raise SelectionError(f"{name} must be an AtomGroup or a Universe of MDAnalysis, not {type(atoms).__name__}")
    if not may_change:
        _refuse_updating(atoms, name)
    if select is not None:
        if len(atoms.atoms) == 0:
            raise _invalid(f"{name} has no atoms: change the selection that it was made with")
        return selected(atoms, select, name=f"{name}: selection")
    group: AtomGroup = atoms if "AtomGroup" in kinds else atoms.atoms
    return group


def select_both(
    mobile: Atoms,
    reference: "Atoms | None",
    select: SelectBoth,
    name: str = "mobile",
) -> "tuple[AtomGroup, AtomGroup | None]":
    """Select the same atoms in a system and in its reference.

    Parameters
    ----------
    mobile : MDAnalysis.Universe or AtomGroup
        The system.
    reference : MDAnalysis.Universe, AtomGroup or None
        The reference. If None, the system itself is the reference.
    select : str, tuple, dict or None
        A single selection for both, a tuple ``(mobile, reference)``, or a dictionary ``{"mobile": ..., "reference":
        ...}``. Each of the two selections can also be a sequence of selection strings. If a selection is None, all
        atoms are used in their original order.
    name : str
        Name of the parameter that receives the system, for error messages.

    Returns
    -------
    tuple of AtomGroup and AtomGroup or None
        The atoms of the system, and the atoms of the reference. The latter is None if they are the same atoms of the
        same Universe.

    Raises
    ------
    SelectionError
        If a selection is invalid or empty.
    """
    of_mobile, of_reference = selections_of(select)
    atoms = atoms_of(mobile, of_mobile, name)
    if reference is None and of_mobile == of_reference:
        return atoms, None
    return atoms, atoms_of(mobile if reference is None else reference, of_reference, "reference")


def selections_of(select: SelectBoth, name: str = "select") -> tuple[Select, Select]:
    """Return the selections for a system and for its reference.

    Parameters
    ----------
    select : str, tuple, dict or None
        A single selection for both, a tuple ``(mobile, reference)``, or a dictionary ``{"mobile": ..., "reference":
        ...}``.
    name : str
        Name of the argument in error messages.

    Raises
    ------
    SelectionError
        If your `select` has a different form, or is a dictionary that lacks a key.
    """
    if isinstance(select, Mapping):
        if not {"mobile", "reference"} <= set(select):
            from mdreel.trajectory.mdanalysis_errors import SelectionKeyError

            raise SelectionKeyError(f"{name} must have 'mobile' and 'reference', got {sorted(select)}")
        return select["mobile"], select["reference"]
    if select is None or isinstance(select, str):
        return select, select
    if isinstance(select, tuple) and len(select) == 2:
        return select
    from mdreel.trajectory.mdanalysis_errors import SelectionTypeError

    raise SelectionTypeError(f"{name} must be a string, a tuple of two, a dict or None, got {select!r}")


def selected(
    of: Atoms,
    selection: str | Sequence[str],
    name: str = "selection",
    *,
    may_be_empty: bool = False,
    updating: bool = False,
) -> "AtomGroup":
    """Select atoms of a Universe or a group. In error messages, the selection is called `name`.

    If there are several selection strings, their atoms are concatenated. With `updating`, the result is an
    UpdatingAtomGroup, which may be empty in the current frame. In this case, `of` can be an UpdatingAtomGroup, too.

    Raises
    ------
    SelectionError
        If your selection is invalid, or is empty although `may_be_empty` is false.
    UnsupportedError
        If the atoms are an UpdatingAtomGroup, because the selection would use its current atoms for all frames.
    """
    if not hasattr(of, "select_atoms"):
        raise SelectionError(f"expected a Universe or an AtomGroup, got {type(of).__name__}")
    if not updating:
        _refuse_updating(of, name)
    if not _are_texts(selection):
        from mdreel.trajectory.mdanalysis_errors import SelectionTypeError

        raise SelectionTypeError(f"{name} must be a text or a sequence of texts, not {shown(selection)}")
    strings = (selection,) if isinstance(selection, str) else tuple(selection)
    words = "', '".join(map(str, strings))
    try:
        resolved, groups = named_groups(of, strings)
        atoms = (
            of.select_atoms(*resolved, updating=True, **groups) if updating else of.select_atoms(*resolved, **groups)
        )
    except MdreelError:
        raise
    except Exception as error:
        raise _invalid(f"{name} '{words}': {reason_with_remedy(error)}") from error
    if len(atoms) == 0 and not (may_be_empty or updating):
        raise _invalid(f"{name} '{words}' has no atoms: {remedy_for_no_atoms(of, strings)}")
    return atoms


def _are_texts(selection: object) -> bool:
    if isinstance(selection, str):
        return True
    return isinstance(selection, Sequence) and all(isinstance(one, str) for one in selection)


def _refuse_updating(atoms: Atoms, name: str) -> None:
    if is_updating(atoms):
        raise UnsupportedError(
            f"{name} is an UpdatingAtomGroup, whose atoms change from frame to frame; every frame needs the same "
            "atoms: select them without updating=True; mdreel.Selection gives the atoms of each frame"
        )


def _invalid(message: str) -> SelectionError:
    """Return the error for an invalid selection. It is also an instance of MDAnalysis's `SelectionError`."""
    from mdreel.trajectory.mdanalysis_errors import InvalidSelectionError

    return InvalidSelectionError(message)
