"""Names that users give to groups of atoms, for legends and tables."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from mdreel.errors import MismatchError
from mdreel.foundation.arguments import shown
from mdreel.results.column import unique_names

T = TypeVar("T")

_NOT_OF_A_NAME = re.compile(r"\W+")


def split_group_names(groups: Mapping[str, T] | Iterable[T], parameter: str) -> tuple[list[str] | None, list[T]]:
    """Separate the names of groups from the groups.

    Parameters
    ----------
    groups : mapping or iterable
        Groups by name, or groups without names.
    parameter : str
        Name of the parameter, for error messages.

    Returns
    -------
    tuple of list of str or None, and list
        The names, or None if the groups have no names, and the groups.

    Raises
    ------
    MismatchError
        If a name is not a text, or is empty.

    Examples
    --------
    >>> from mdreel.analysis.topology.group_names import split_group_names
    >>> split_group_names({"LID": "resid 122:159", "NMP": "resid 30:59"}, "groupselections")
    (['LID', 'NMP'], ['resid 122:159', 'resid 30:59'])
    """
    if not isinstance(groups, Mapping):
        return None, list(groups)
    for name in groups:
        if not isinstance(name, str) or not name.strip():
            raise MismatchError(f"{parameter}: the name of a group must be a text, not {shown(name)}")
    return list(groups), list(groups.values())


def group_label(names: Sequence[str] | None, number: int) -> str:
    """Return the name of a group in quotation marks, or its number if the groups have no names."""
    return str(number) if names is None else repr(names[number])


def column_names(prefix: str, names: Sequence[str]) -> list[str]:
    """Return different identifiers in lower case for the columns of named groups, such as ``rmsd_lid``."""
    words = [_NOT_OF_A_NAME.sub("_", name.lower()).strip("_") or "group" for name in names]
    return unique_names([f"{prefix}_{word}" if prefix else word for word in words])
