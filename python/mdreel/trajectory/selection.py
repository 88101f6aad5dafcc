"""Atom selections: from an AtomGroup to ascending indices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSelection, SelectedAtoms
from mdreel.errors import MdreelError, MismatchError, SelectionError, UnsupportedError
from mdreel.foundation.arguments import shown
from mdreel.trajectory.selection_remedies import remedy_for_no_atoms, remedy_for_syntax
from mdreel.trajectory.selection_tree import frame_selection, is_updating, named_groups

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, ResidueGroup, SegmentGroup, Universe

Atoms: TypeAlias = "AtomGroup | ResidueGroup | SegmentGroup | Universe"
"""Atoms as a user names them: a group, or a Universe for all of its atoms."""

Select: TypeAlias = str | Sequence[str] | None
"""One or more selection strings, as MDAnalysis's `select_atoms` takes them; None for all atoms."""

SelectBoth: TypeAlias = Select | tuple[Select, Select] | Mapping[str, Select]
"""Selections for a system and for its reference."""


Members: TypeAlias = NDArray[np.uint32] | tuple[NDArray[np.uint32], SelectedAtoms, NDArray[np.uint32]]
"""A group of atoms as computations take it; see `Selection.members`."""


@dataclass(frozen=True)
class Selection:
    """The atoms of an AtomGroup, each once and in the order of the file.

    Attributes
    ----------
    atoms : ndarray, shape (n_atoms,), uint32
        Indices of the atoms to read, ascending.
    places : ndarray, shape (n_given,), int64
        Position among `atoms` of each atom of the group, in the order of the group. For a group that changes, of each
        atom that can belong to it.
    changing : FrameSelection or None
        Members of the group in each frame; None if the group does not change.
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
            Name of the group in messages.
        may_change : bool
            Whether the group may be an UpdatingAtomGroup.
        may_be_empty : bool
            Whether a group that does not change may have no atoms.

        Raises
        ------
        SelectionError
            If the group is empty and may not be, or not an AtomGroup. If no atom can belong to a group that changes.
        UnsupportedError
            If the group is an UpdatingAtomGroup where this is not allowed.
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
        """Return the selection of a group that is selected again in each frame.

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
        """Index of each atom of the group, or of each atom that can belong to it, shape (n_given,), int64."""
        return self.atoms[self.places].astype(np.intp)

    @property
    def has_repetitions(self) -> bool:
        """Whether an atom is in the group more than once."""
        return len(self.places) > len(self.atoms)

    def members(self, atoms: NDArray[np.uint32] | None = None) -> Members:
        """Return the group for a computation.

        Parameters
        ----------
        atoms : ndarray, shape (n_read,), uint32, optional
            Indices of the atoms that the computation receives, ascending; by default `atoms`.

        Returns
        -------
        ndarray, shape (n_given,), uint32, or tuple
            The places of the atoms among those; for a group that changes, also the selection among those and the
            index of each atom.
        """
        atoms = self.atoms if atoms is None else atoms
        return members_of(np.searchsorted(atoms, self.given).astype(np.uint32), self.changing, atoms, self.given)

    def gather(self, positions: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        """Reorder positions from the order of the group to that of `atoms`.

        Parameters
        ----------
        positions : ndarray, shape (n_given, 3), float64
            Positions in the order of the group, Å.
        name : str
            Name of the positions, for errors.

        Returns
        -------
        ndarray, shape (n_atoms, 3), float64
            Positions of `atoms`, Å.

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
        """Reorder weights from the order of the group to that of `atoms`, and sum the weights of repeated atoms.

        Parameters
        ----------
        weights : ndarray, shape (n_given,), float64, optional
            Weights in the order of the group; None for 1 each.

        Returns
        -------
        ndarray, shape (n_atoms,), float64, or None
            Weights of `atoms`; None if all are equal.

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
    """Return a group for a computation.

    Parameters
    ----------
    places : ndarray, shape (n_given,), uint32
        Indices of the atoms within the atoms that the computation receives.
    changing : FrameSelection or None
        Selection of each frame; None if all atoms belong to the group in every frame.
    atoms : ndarray, shape (n_read,), uint32
        Indices of the atoms that the computation receives, ascending.
    keys : ndarray, shape (n_given,), int
        Index of the atom that must be selected for each of `places` to belong to the group.
    """
    return places if changing is None else (places, changing.among(atoms), keys.astype(np.uint32))


def atoms_of(atoms: Atoms, select: Select = None, name: str = "atomgroup", *, may_change: bool = False) -> "AtomGroup":
    """Return the atoms that a user names, as an AtomGroup.

    Parameters
    ----------
    atoms : MDAnalysis.AtomGroup, ResidueGroup, SegmentGroup or Universe
        The atoms; all of a Universe.
    select : str or sequence of str, optional
        Selection strings that the atoms must match, in the order of MDAnalysis's `select_atoms`. By default, the
        atoms in their order.
    name : str
        Name of the atoms in messages.
    may_change : bool
        Whether the atoms may be an UpdatingAtomGroup.

    Returns
    -------
    MDAnalysis.AtomGroup
        The atoms.

    Raises
    ------
    SelectionError
        If `atoms` is neither a group nor a Universe, or a selection is invalid or empty.
    UnsupportedError
        If the atoms are an UpdatingAtomGroup where this is not allowed.
    """
    # Compares names of classes, because importing MDAnalysis takes longer than most analyses.
    kinds = {kind.__name__ for kind in type(atoms).__mro__}
    if not kinds & {"AtomGroup", "ResidueGroup", "SegmentGroup", "Universe"}:
        raise SelectionError(f"{name} must be an AtomGroup or a Universe of MDAnalysis, not {type(atoms).__name__}")
    if not may_change:
        _refuse_updating(atoms, name)
    if select is not None:
        return selected(atoms, select, name=f"{name}: selection")
    group: AtomGroup = atoms if "AtomGroup" in kinds else atoms.atoms
    return group


def select_both(
    mobile: Atoms,
    reference: "Atoms | None",
    select: SelectBoth,
) -> "tuple[AtomGroup, AtomGroup | None]":
    """Select the same atoms of a system and of its reference.

    Parameters
    ----------
    mobile : MDAnalysis.Universe or AtomGroup
        The system.
    reference : MDAnalysis.Universe, AtomGroup or None
        The reference; None for the system itself.
    select : str, tuple, dict or None
        One selection for both, ``(mobile, reference)``, or ``{"mobile": ..., "reference": ...}``. Each of the two may
        be a sequence of selection strings, or None. With None, the atoms are taken in their order.

    Returns
    -------
    tuple of AtomGroup and AtomGroup or None
        The atoms and the atoms of the reference; None if they are the same atoms of the same Universe.

    Raises
    ------
    SelectionError
        If a selection is invalid or empty.
    """
    of_mobile, of_reference = selections_of(select)
    atoms = atoms_of(mobile, of_mobile, "mobile")
    if reference is None and of_mobile == of_reference:
        return atoms, None
    return atoms, atoms_of(mobile if reference is None else reference, of_reference, "reference")


def selections_of(select: SelectBoth, name: str = "select") -> tuple[Select, Select]:
    """Return the selections for a system and for its reference.

    Parameters
    ----------
    select : str, tuple, dict or None
        One selection for both, ``(mobile, reference)``, or ``{"mobile": ..., "reference": ...}``.
    name : str
        Name of the argument in messages.

    Raises
    ------
    SelectionError
        If `select` is something else, or a dict lacks a key.
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
    """Select atoms of a Universe or a group; messages call the selection `name`.

    Several selection strings give the atoms of each, one after the other. With `updating`, the result is an
    UpdatingAtomGroup, which may be empty at the moment, and `of` may be one, too.

    Raises
    ------
    SelectionError
        If the selection is invalid, or empty and `may_be_empty` is false.
    UnsupportedError
        If the atoms are an UpdatingAtomGroup: the selection would keep its current atoms for all frames.
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
        raise _invalid(f"{name} '{words}': {error}: {remedy_for_syntax(str(error))}") from error
    if len(atoms) == 0 and not (may_be_empty or updating):
        if len(of.atoms) == 0:
            raise _invalid(
                f"{name} '{words}' has no atoms, because the group that it applies to has no atoms: change the "
                "selection that the group was made with"
            )
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
    """Return the error of an invalid selection, which MDAnalysis's `SelectionError` also catches."""
    from mdreel.trajectory.mdanalysis_errors import InvalidSelectionError

    return InvalidSelectionError(message)
