"""A Universe whose selections know the groups of an index file."""

from typing import Any

from MDAnalysis import AtomGroup, Universe

from mdreel.analysis.topology.index_file import IndexFile


class IndexedUniverse(Universe):  # type: ignore[misc]  # MDAnalysis has no types
    """A Universe in which ``group Protein`` selects a group of an index file.

    Parameters
    ----------
    *args, **kwargs
        See `MDAnalysis.Universe`.
    """

    index: IndexFile | None = None

    def use_groups(self, index: IndexFile) -> "IndexedUniverse":
        """Use the groups of an index file, and return the Universe.

        Raises
        ------
        MismatchError
            If a group has an atom that the Universe does not have.
        """
        index.check_atoms(len(self.atoms))
        self.index = index
        return self

    def select_atoms(self, *selections: str, **settings: Any) -> AtomGroup:
        """Select atoms as a Universe of MDAnalysis does; ``group NAME`` stands for a group of the index file.

        Raises
        ------
        SelectionError
            If a group cannot be used; see `IndexFile`.
        """
        if self.index is None:
            return super().select_atoms(*selections, **settings)
        resolved = []
        for number, selection in enumerate(selections):
            text, found = self.index.resolve(selection, f"{number}_")
            resolved.append(text)
            settings |= {name: self.atoms[indices] for name, indices in found.items()}
        return super().select_atoms(*resolved, **settings)
