"""Hints for error messages about arguments of the wrong type."""

from collections.abc import Mapping
from inspect import BoundArguments
from os import PathLike, fsdecode
from pathlib import PurePath
from typing import Any

from mdreel.foundation.annotated_types import ATOMS, Expected, RefusedError, has_atoms

_IN_A_LIST = ": put it into a list"


def remedy(error: RefusedError, name: str, call: BoundArguments, kinds: Mapping[str, Expected]) -> str:
    """Return the end of a message, which suggests a correction. It is empty if no correction is obvious.

    Parameters
    ----------
    error : RefusedError
        The error that describes the rejected value.
    name : str
        Name of the argument.
    call : inspect.BoundArguments
        All arguments of the call.
    kinds : mapping of str to Expected
        Expected type of each parameter.
    """
    other = _swapped_with(name, call.arguments, kinds)
    if other is not None:
        return f": did you swap {name} and {other}?"
    if isinstance(error.value, str | PathLike) and ATOMS.text in error.expected:
        return _instead_of_text(fsdecode(error.value), has_select="select" in call.signature.parameters)
    if error.expected == "a Transformation":
        return ": take one of mdreel.transformations, such as unwrap(atoms)"
    if error.expected in ("a sequence", "a sequence of texts or paths", "a sequence of Analysis objects"):
        return _IN_A_LIST
    return _instead_of_group(error) if has_atoms(error.value) else ""


def _instead_of_text(text: str, *, has_select: bool) -> str:
    """Return a hint for a path or a selection string that was passed instead of atoms."""
    if PurePath(text).suffix and " " not in text:
        return ": open files with MDAnalysis.Universe(topology, trajectory)"
    selecting = f": select atoms with universe.select_atoms({text!r})"
    return f"{selecting}, or give select={text!r}" if has_select else selecting


def _instead_of_group(error: RefusedError) -> str:
    """Return a hint for a group that was passed instead of a list, positions, a selection, or a path."""
    if error.expected.startswith("a sequence of "):
        return _IN_A_LIST
    if "array of numbers" in error.expected and ATOMS.text not in error.expected:
        return ": give its positions"
    if error.name.endswith(("_sel", "select", "selection", "selections")):
        return ": give a selection string, such as 'name CA'"
    is_path = error.expected.startswith("a text, a path")
    return ": give the path of the trajectory, or mdreel.trajectory.source_of(universe)" if is_path else ""


def _swapped_with(name: str, arguments: Mapping[str, Any], kinds: Mapping[str, Expected]) -> str | None:
    """Return the parameter whose argument seems to have been swapped with the argument of this parameter."""
    for other in arguments:
        if other == name or other not in kinds or arguments[other] is None:
            continue
        if _fits(kinds[other], arguments[name]) and _fits(kinds[name], arguments[other]):
            return other
    return None


def _fits(kind: Expected, value: Any) -> bool:
    try:
        kind.accept("", value)
    except RefusedError:
        return False
    return True
