"""Conversion of MDAnalysis selections to expressions that the core evaluates in each frame."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSelection
from mdreel.errors import SelectionError, UnsupportedError
from mdreel.trajectory.selection_references import REFERRING, warn_of_missing_references
from mdreel.trajectory.selection_remedies import reason_with_remedy

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup
    from MDAnalysis.core.groups import UpdatingAtomGroup

_UNLIKE = np.iinfo(np.uint32).max
"""Label of an atom that is not equal to any other atom."""

_AXES = {"x": 0, "y": 1, "z": 2}

Tree = tuple[Any, ...]
"""A tuple that consists of the name of an expression and its operands. See `FrameSelection`."""


@dataclass(frozen=True)
class _Scope:
    """Atoms to which a selection is applied.

    Attributes
    ----------
    universe : MDAnalysis.Universe
        The Universe.
    base : AtomGroup or None
        The group, or None if it changes.
    candidates : ndarray, shape (n_candidates,), int, or None
        Indices of the atoms that can belong to a group that changes.
    words : str
        The selection string, for error messages.
    """

    universe: Any
    base: "AtomGroup | None"
    candidates: NDArray[np.integer] | None
    words: str

    @property
    def everywhere(self) -> "_Scope":
        """All atoms of the Universe."""
        return replace(self, base=self.universe.atoms, candidates=None)

    def check_references(self, selection: Any) -> None:
        """Warn if a selection that does not depend on positions lacks atoms because it is limited to this group."""
        wanted = _applied(selection, self.universe.atoms).ix
        present = self.candidates if self.base is None else _applied(selection, self.base).ix
        assert present is not None, "the candidates of a group that changes are known"
        warn_of_missing_references(self.words, wanted, present)


def is_updating(atoms: object) -> bool:
    """Return whether a group is an UpdatingAtomGroup, without importing MDAnalysis."""
    return any(kind.__name__ == "UpdatingAtomGroup" for kind in type(atoms).__mro__)


def named_groups(atoms: Any, selections: Sequence[str]) -> tuple[Sequence[str], dict[str, "AtomGroup"]]:
    """Return selections in which index file groups are replaced by named groups, together with these groups."""
    universe = getattr(atoms, "universe", None)
    # A Universe resolves the groups of its own selections.
    if universe is None or universe is atoms or not hasattr(universe, "resolve_groups"):
        return selections, {}
    resolved, groups = universe.resolve_groups(selections)
    return resolved, groups


def frame_selection(group: "UpdatingAtomGroup") -> FrameSelection:
    """Return the selection of an UpdatingAtomGroup, for the core.

    Parameters
    ----------
    group : MDAnalysis.core.groups.UpdatingAtomGroup
        The group. The groups from which it was selected, or that are named in its selection, can also be updating
        groups.

    Returns
    -------
    FrameSelection
        The selection. Each selected atom occurs once, in the order of the topology.

    Raises
    ------
    UnsupportedError
        If the group has several selection strings, or if a keyword depends on more than the topology and the positions.
    SelectionError
        If the topology lacks an attribute that the selection needs.
    """
    return FrameSelection(len(group.universe.atoms), _group_tree(group))


def parsed_selection(group: "AtomGroup", words: str) -> FrameSelection:
    """Parse a selection string that is applied to a group, for the core. The Universe does not need positions.

    Parameters
    ----------
    group : MDAnalysis.AtomGroup
        The group.
    words : str
        The selection string. Distances use minimum images.

    Raises
    ------
    UnsupportedError, SelectionError
        See `frame_selection`. Also raised if the string is invalid.
    """
    from MDAnalysis.core.selection import Parser

    (resolved,), groups = named_groups(group, [words])
    try:
        selection = Parser.parse(resolved, groups, periodic=True)
    except Exception as error:
        raise SelectionError(f"'{words}': {reason_with_remedy(error)}") from error
    return FrameSelection(len(group.universe.atoms), _applied_tree(selection, group, words))


def _group_tree(group: "AtomGroup") -> Tree:
    """Return the expression that selects the atoms of a group from all atoms."""
    if not is_updating(group):
        return _fixed(group)
    # MDAnalysis has no public names for these.
    selections, base = group._selections, group._base_group  # noqa: SLF001
    words = " ".join(group._selection_strings)  # noqa: SLF001
    if len(selections) != 1:
        raise UnsupportedError(
            f"the updating group has {len(selections)} selection strings, and an atom could be selected by several of "
            "them: join the strings with 'or'"
        )
    if is_updating(base):
        of_base = _group_tree(base)
        candidates = FrameSelection(len(base.universe.atoms), of_base).possible
        return "within", of_base, _tree(selections[0], _Scope(base.universe, None, candidates, words))
    return _applied_tree(selections[0], base, words)


def _applied_tree(selection: Any, base: "AtomGroup", words: str) -> Tree:
    """Return the expression for a parsed selection that is applied to a group that does not change."""
    tree = _tree(selection, _Scope(base.universe, base, None, words))
    return tree if len(base.unique) == len(base.universe.atoms) else ("within", _fixed(base), tree)


def _fixed(group: "AtomGroup") -> Tree:
    return "fixed", np.unique(group.ix).astype(np.uint32)


def _tree(selection: Any, scope: _Scope, is_reference: bool = False) -> Tree:
    """Return the expression for a parsed MDAnalysis selection.

    Parameters
    ----------
    selection : MDAnalysis.core.selection.Selection or LogicOperation
        The selection.
    scope : _Scope
        The atoms to which the selection is applied.
    is_reference : bool
        Whether other atoms are selected by their relation to these atoms.
    """
    name = type(selection).__name__
    if not _depends_on_positions(selection):
        if is_reference:
            scope.check_references(selection)
        if scope.base is not None:
            return _fixed(_applied(selection, scope.base))
        if name not in _COMPOUND:
            return "and", _fixed(_applied(selection, scope.universe.atoms)), ("group",)

    def inner(of: Any, is_everywhere: bool = False) -> Tree:
        return _tree(of, scope.everywhere if is_everywhere else scope, is_reference or name in REFERRING)

    return _COMPOUND[name](selection, inner, scope.universe)


def _applied(selection: Any, group: "AtomGroup") -> "AtomGroup":
    try:
        return selection.apply(group)
    except Exception as error:
        raise SelectionError(f"the selection cannot be made: {reason_with_remedy(error)}") from error


def _depends_on_positions(selection: Any) -> bool:
    """Return whether the atoms of a parsed selection can change from frame to frame.

    Raises
    ------
    UnsupportedError
        If the keyword is not known.
    """
    name = type(selection).__name__
    if name in ("AndOperation", "OrOperation"):
        return _depends_on_positions(selection.lsel) or _depends_on_positions(selection.rsel)
    if name == "SelgroupSelection":
        return is_updating(selection.grp)
    if name in ("SameSelection", "PropertySelection") and selection.prop in _AXES:
        return True
    if name in ("NotSelection", "GlobalSelection", "ByResSelection", "BondedSelection", "SameSelection"):
        return _depends_on_positions(selection.sel)
    if name == "SmartsSelection" or not type(selection).__module__.startswith("MDAnalysis.core.selection"):
        keyword = getattr(selection, "token", name)
        raise UnsupportedError(
            f"the keyword '{keyword}' cannot be evaluated again in each frame: select these atoms first, without "
            "updating=True, and name them in the selection by 'group'"
        )
    return name in _COMPOUND and name != "PropertySelection"


def _labels(values: Any) -> NDArray[np.uint32]:
    """Number the distinct values. NaN gets the label `_UNLIKE`."""
    values = np.asarray(values)
    _, labels = np.unique(values, return_inverse=True)
    labels = labels.reshape(-1)
    if np.issubdtype(values.dtype, np.floating):
        labels[np.isnan(values)] = _UNLIKE
    return labels.astype(np.uint32)


def _same(selection: Any, inner: Callable[..., Tree], universe: Any) -> Tree:
    if selection.prop in _AXES:
        return "same_coordinate", _AXES[selection.prop], inner(selection.sel)
    attribute = "fragindices" if selection.prop == "fragment" else selection.prop_trans[selection.prop]
    return "same", _labels(_attribute(universe, attribute)), inner(selection.sel)


def _attribute(universe: Any, name: str) -> Any:
    try:
        return getattr(universe.atoms, name)
    except Exception as error:
        raise SelectionError(f"the selection needs {name}: {error}") from error


def _bonded(selection: Any, inner: Callable[..., Tree], universe: Any) -> Tree:
    bonds = np.asarray(_attribute(universe, "bonds").to_indices(), np.uint32).reshape(-1, 2)
    return "bonded", bonds, inner(selection.sel)


def _property(selection: Any, inner: Callable[..., Tree], universe: Any) -> Tree:
    compare, tolerances = selection.operator, (0.0, 0.0)
    if isinstance(compare, partial):
        tolerances = float(compare.keywords["atol"]), float(compare.keywords["rtol"])
        symbol = "=="
    else:
        symbol = next(symbol for symbol, known in selection.ops.items() if known is compare)
    return "coordinate", _AXES[selection.prop], bool(selection.absolute), symbol, float(selection.value), tolerances


def _within(selection: Any, outer: str, inner: str | None = None) -> tuple[float | None, float, bool]:
    """Return the inner and outer limit of a distance in Å, and whether periodic images are included."""
    limits = (None if inner is None else float(getattr(selection, inner))), float(getattr(selection, outer))
    return *limits, bool(selection.periodic)


def _cylinder(selection: Any, inner: Callable[..., Tree], universe: Any) -> Tree:
    limits = _within(selection, "exRadius", "inRadius" if hasattr(selection, "inRadius") else None)
    return "cylinder", limits, inner(selection.sel), (float(selection.zmin), float(selection.zmax))


_COMPOUND: dict[str, Callable[[Any, Callable[..., Tree], Any], Tree]] = {
    "AndOperation": lambda one, inner, _: ("and", inner(one.lsel), inner(one.rsel)),
    "OrOperation": lambda one, inner, _: ("or", inner(one.lsel), inner(one.rsel)),
    "NotSelection": lambda one, inner, _: ("not", inner(one.sel)),
    "GlobalSelection": lambda one, inner, _: ("everywhere", inner(one.sel, is_everywhere=True)),
    "ByResSelection": lambda one, inner, universe: ("same", _labels(universe.atoms.resindices), inner(one.sel)),
    "SameSelection": _same,
    "BondedSelection": _bonded,
    "SelgroupSelection": lambda one, _inner, _: ("and", ("everywhere", _group_tree(one.grp)), ("group",)),
    "PropertySelection": _property,
    "PointSelection": lambda one, _inner, _: ("point", _within(one, "cutoff"), tuple(map(float, one.ref))),
    "AroundSelection": lambda one, inner, _: ("around", _within(one, "cutoff"), inner(one.sel)),
    "IsoLayerSelection": lambda one, inner, _: ("around", _within(one, "exRadius", "inRadius"), inner(one.sel)),
    "SphericalZoneSelection": lambda one, inner, _: ("sphere", _within(one, "cutoff"), inner(one.sel)),
    "SphericalLayerSelection": lambda one, inner, _: ("sphere", _within(one, "exRadius", "inRadius"), inner(one.sel)),
    "CylindricalZoneSelection": _cylinder,
    "CylindricalLayerSelection": _cylinder,
}
"""Selections that contain other selections or depend on positions, by their class names."""
