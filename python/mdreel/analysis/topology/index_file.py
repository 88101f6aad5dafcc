"""Groups of atoms from GROMACS index files.

The format is described at https://manual.gromacs.org/current/reference-manual/file-formats.html#ndx.
"""

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import AtomOrderWarning, FormatError, MismatchError, SelectionError
from mdreel.foundation.stack_level import caller_level

_HEADING = re.compile(r"\[(?P<name>[^\]]*)\]\s*$")
_REFERENCE = re.compile(r"""\bgroup\s+(?:"(?P<quoted>[^"]*)"|'(?P<single>[^']*)'|(?P<plain>[^\s()]+))""")
_MOST_NAMES = 20  # groups that a message lists


@dataclass(frozen=True)
class Group:
    """A group in an index file.

    Attributes
    ----------
    name : str
        Name of the group.
    line : int
        Line number of the heading, starting from 1.
    indices : ndarray, shape (n_atoms,), int64
        Indices of the atoms, starting from 0, in the order of the file.
    """

    name: str
    line: int
    indices: NDArray[np.int64]


@dataclass(frozen=True)
class IndexFile:
    """The groups in an index file, which can be used in selections such as ``group Protein``.

    Attributes
    ----------
    path : Path
        The file.
    groups : tuple of Group
        The groups in the order of the file. Groups may be empty, and several groups may have the same name.
    """

    path: Path
    groups: tuple[Group, ...]

    def __getitem__(self, name: str) -> NDArray[np.int64]:
        """Return the indices of a group in the order of the file, starting from 0.

        Raises
        ------
        SelectionError
            If there is no such group, if the group is empty, or if several groups with this name have different atoms.
        """
        found = self._by_name.get(name)
        if found is None:
            raise SelectionError(f"there is no group {name!r} in {self.path}; its groups: {self._listing()}")
        first, *others = found
        for other in others:
            if not np.array_equal(other.indices, first.indices):
                message = f"lines {first.line} and {other.line} of {self.path} define two different groups {name!r}"
                raise SelectionError(f"{message}: rename one of them")
        if len(first.indices) == 0:
            raise SelectionError(f"the group {name!r} in line {first.line} of {self.path} has no atoms")
        return first.indices

    def check_atoms(self, n_atoms: int) -> None:
        """Check that all atoms of the groups exist.

        Raises
        ------
        MismatchError
            If a group contains an atom beyond `n_atoms`.
        """
        for group in self.groups:
            highest = int(group.indices.max(initial=-1)) + 1
            if highest > n_atoms:
                message = f"the group {group.name!r} has atom {highest}, but the topology has {n_atoms} atoms"
                raise MismatchError(f"{message}: the index file is of another system", path=self.path)

    def resolve(self, selection: str, prefix: str = "") -> tuple[str, dict[str, NDArray[np.int64]]]:
        """Return a selection with group names that MDAnalysis can parse, and the atoms of these groups.

        Parameters
        ----------
        selection : str
            A selection in MDAnalysis's language. Names that contain blanks or parentheses should be enclosed in
            quotation marks, as in ``group "Water and ions" and name OW``.
        prefix : str
            Prefix of the new group names, which must differ between selections.

        Raises
        ------
        SelectionError
            If a group cannot be used. See `__getitem__`.

        Warns
        -----
        AtomOrderWarning
            When a group contains an atom twice, or its atoms are not in ascending order. A selection contains each atom
            once, in ascending order.
        """
        found: dict[str, NDArray[np.int64]] = {}

        def named(match: re.Match[str]) -> str:
            name = next(text for text in match.groups() if text is not None)
            indices = self[name]
            if (np.diff(indices) <= 0).any():
                message = f"the group {name!r} of {self.path} has atoms that repeat or do not ascend"
                message += ": the selection has each of them once, in ascending order"
                warnings.warn(message, AtomOrderWarning, stacklevel=caller_level())
            new = f"mdreel_group_{prefix}{len(found)}"
            found[new] = indices
            return f"group {new}"

        return _REFERENCE.sub(named, selection), found

    @cached_property
    def _by_name(self) -> Mapping[str, list[Group]]:
        found: dict[str, list[Group]] = {}
        for group in self.groups:
            found.setdefault(group.name, []).append(group)
        return found

    def _listing(self) -> str:
        names = list(self._by_name)
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return ", ".join(names[:_MOST_NAMES]) + more


def read_index(path: str | PathLike[str]) -> IndexFile:
    """Read a GROMACS index file.

    Parameters
    ----------
    path : path
        The file. All groups start with a line ``[ name ]``, followed by the numbers of their atoms, starting from 1.

    Returns
    -------
    IndexFile
        The groups.

    Raises
    ------
    FormatError
        When the file is not an index file, does not contain any groups, or contains a number below 1.
    OSError
        When the file cannot be read.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise FormatError("not an index file: it is not text", path=path) from error
    groups = tuple(_groups(path, lines))
    if not groups:
        raise FormatError("not an index file: it has no line [ name ]", path=path)
    return IndexFile(path, groups)


def _groups(path: Path, lines: list[str]) -> Iterator[Group]:
    name, begin, numbers = "", 0, list[int]()
    for number, line in enumerate(lines, 1):
        text = line.split(";")[0].strip()
        if text.startswith("["):
            if begin:
                yield Group(name, begin, np.array(numbers, np.int64) - 1)
            heading = _HEADING.match(text)
            if heading is None or not heading["name"].strip():
                raise FormatError(f"line {number}: expected [ name ], found {text[:40]!r}", path=path)
            name, begin, numbers = heading["name"].strip(), number, []
        elif text:
            if not begin:
                message = f"not an index file: line {number} comes before the first [ name ]: {text[:40]!r}"
                raise FormatError(message, path=path)
            numbers += (_atom(path, number, word) for word in text.split())
    if begin:
        yield Group(name, begin, np.array(numbers, np.int64) - 1)


def _atom(path: Path, line: int, word: str) -> int:
    if not (word.isascii() and word.removeprefix("-").isdigit()):
        raise FormatError(f"line {line}: expected the number of an atom, found {word[:40]!r}", path=path)
    if int(word) < 1:
        raise FormatError(f"line {line}: atoms count from 1, found {word}", path=path)
    if len(word) > 18:
        raise FormatError(f"line {line}: expected the number of an atom, found {word[:40]!r}", path=path)
    return int(word)
