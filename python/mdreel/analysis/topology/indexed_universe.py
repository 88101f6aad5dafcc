"""A Universe in which selections can refer to the groups of an index file."""

from collections.abc import Sequence
from typing import Any

from MDAnalysis import AtomGroup, Universe

from mdreel.analysis.topology.index_file import IndexFile
from mdreel.errors import MismatchError


class IndexedUniverse(Universe):  # type: ignore[misc]  # MDAnalysis has no types
    """A Universe in which selections such as ``group Protein`` refer to groups of an index file.

    Parameters
    ----------
    *args, **kwargs
        See `MDAnalysis.Universe`.
    """

    index: IndexFile | None = None

    def use_groups(self, index: IndexFile, *, is_reference: bool = False) -> "IndexedUniverse":
        """Use the groups of an index file, and return the Universe.

        With `is_reference`, the file may describe a larger system. In this case, only groups that are used must match
        the Universe.

        Raises
        ------
        MismatchError
            If a group contains an atom that the Universe does not have.
        """
        if not is_reference:
            index.check_atoms(len(self.atoms))
        self.index = index
        return self

    def select_atoms(self, *selections: str, **settings: Any) -> AtomGroup:
        """Select atoms as in an MDAnalysis Universe, where ``group NAME`` refers to a group of the index file.

        Raises
        ------
        SelectionError
            If a group cannot be used. See `IndexFile`.
        """
        resolved, groups = self.resolve_groups(selections)
        return super().select_atoms(*resolved, **settings, **groups)

    def resolve_groups(self, selections: Sequence[str]) -> tuple[list[str], dict[str, AtomGroup]]:
        """Return selections that MDAnalysis can parse, and the groups to which they refer.

        Raises
        ------
        SelectionError
            If a group cannot be used. See `IndexFile`.
        MismatchError
            If a group contains an atom that the Universe does not have.
        """
        if self.index is None:
            return list(selections), {}
        resolved, groups = [], {}
        for number, selection in enumerate(selections):
            text, found = self.index.resolve(selection, f"{number}_")
            resolved.append(text)
            for name, indices in found.items():
                if indices.max() >= len(self.atoms):
                    message = f"'{selection}' names a group with atom {indices.max() + 1}"
                    raise MismatchError(f"{message}, but there are {len(self.atoms)} atoms", path=self.index.path)
                groups[name] = self.atoms[indices]
        return resolved, groups
