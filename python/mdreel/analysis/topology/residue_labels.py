"""Labels of residues."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray, column_arrays

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, ResidueGroup


_MOST_NAMES = 4  # residues that a message names


@dataclass(frozen=True)
class ResidueLabels:
    """Segments, names, numbers and insertion codes that identify the residues of a group.

    Attributes
    ----------
    indices : ndarray, shape (n,), int64
        Index of the residue in its Universe, starting from 0, for each atom or residue in the group.
    segments : ndarray, shape (n,), str
        Segment (segid) of each residue. If segments are ambiguous, this is the chain (chainID), or both in the form
        ``segid:chainID``.
    resnames : ndarray, shape (n,), str
        Residue names.
    resids : ndarray, shape (n,), int64
        Residue numbers.
    icodes : ndarray, shape (n,), str
        Insertion codes. They are empty for residues without an insertion code.
    """

    indices: NDArray[np.int64]
    segments: NDArray[np.str_]
    resnames: NDArray[np.str_]
    resids: NDArray[np.int64]
    icodes: NDArray[np.str_]

    @classmethod
    def of(cls, group: "AtomGroup | ResidueGroup") -> Self:
        """Return the labels for a group, with one entry per atom or residue, in the order of the group."""
        indices, places = np.unique(np.asarray(group.resindices, np.int64), return_inverse=True)
        residues = group.universe.residues[indices]
        segids, resnames = _texts(residues, "segids"), _texts(residues, "resnames")
        icodes = _texts(residues, "icodes")
        resids = np.asarray(getattr(residues, "resids", indices + 1), np.int64)
        rest = (resnames, resids, icodes)
        chains = chains_of(group.universe, indices)
        segments = segids
        if _n_different(segids, *rest) < len(indices) and chains is not None:
            both = np.array([f"{one}:{other}" for one, other in zip(segids, chains, strict=True)])
            segments = max((segids, chains, both), key=lambda each: _n_different(each, *rest))
        return cls(indices[places], segments[places], resnames[places], resids[places], icodes[places])

    @cached_property
    def texts(self) -> list[str]:
        """Text label of each residue, such as ``"ALA 5"``, or ``"ALA 5A"`` with an insertion code.

        If the group has several segments, labels contain the segment: ``"A ALA 5"``. If labels are still ambiguous, the
        index in the Universe is appended: ``"ALA 5 #217"``.
        """
        rows = zip(self.resnames.tolist(), self.resids.tolist(), self.icodes.tolist(), strict=True)
        texts = [f"{resname} {resid}{icode}".strip() for resname, resid, icode in rows]
        if len(set(self.segments.tolist())) > 1:
            texts = [f"{segment} {text}" for segment, text in zip(self.segments.tolist(), texts, strict=True)]
        residues = set(zip(texts, self.indices.tolist(), strict=True))
        if len(residues) == len(set(texts)):
            return texts
        counts = Counter(text for text, _ in residues)
        labelled = zip(texts, self.indices.tolist(), strict=True)
        return [f"{text} #{index}" if counts[text] > 1 else text for text, index in labelled]

    def columns(self) -> list[Column]:
        """Return table columns that identify the residues.

        Returns
        -------
        list of Column
            ``segment``, ``resname`` and ``resid``. If a residue has an insertion code, ``icode`` is added. If these
            columns are ambiguous, ``resindex`` is added, which starts from 0.
        """
        columns = [
            Column("segment", "", self.segments),
            Column("resname", "", self.resnames),
            Column("resid", "", self.resids),
        ]
        if (self.icodes != "").any():
            columns.append(Column("icode", "", self.icodes))
        n_different = _n_different(self.segments, self.resnames, self.resids, self.icodes)
        if n_different < len(np.unique(self.indices)):
            columns.append(Column("resindex", "", self.indices))
        return columns

    def coordinates(self, dimension: str = "residue") -> list[LabelledArray]:
        """Return labels for a dimension with one entry per residue: `texts` and the columns of `columns`."""
        texts = LabelledArray(dimension, (dimension,), "", np.array(self.texts, np.str_))
        return [texts, *column_arrays(self.columns(), dimension)]

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """Axis position of each residue: its number or, if numbers are not ascending, its position in the group."""
        if self.are_numbers:
            return self.resids
        _, first, places = np.unique(self.indices, return_index=True, return_inverse=True)
        order = np.empty(len(first), np.int64)
        order[np.argsort(first)] = np.arange(1, len(first) + 1)
        return order[places]

    @cached_property
    def are_numbers(self) -> bool:
        """Whether residue numbers are unique and ascending."""
        is_next = np.diff(self.indices) != 0
        steps = np.diff(self.resids)
        return bool((steps[is_next] > 0).all() and (steps[~is_next] == 0).all())

    @property
    def axis(self) -> str:
        """Axis label for `positions`."""
        return "Residue" if self.are_numbers else "Residue, counted"


def residue_names(group: "AtomGroup | ResidueGroup") -> str:
    """Return the labels of the first few residues in a group, for error messages."""
    residues = group.residues
    more = ", ..." if len(residues) > _MOST_NAMES else ""
    return ", ".join(ResidueLabels.of(residues[:_MOST_NAMES]).texts) + more


def residue_name(residue: Any) -> str:
    """Return a description of a residue for error messages, such as ``residue GLY 52A of segment H``."""
    return f"residue {residue.resname} {number_of(residue)} of segment {residue.segid}"


def number_of(residue: Any) -> str:
    """Return the number and insertion code of a residue, or of the residue of an atom."""
    return f"{residue.resid}{str(getattr(residue, 'icode', '')).strip()}"


def atom_columns(atoms: "AtomGroup") -> list[Column]:
    """Return table columns that identify atoms: the index in the Universe, ``atom``, and the residue columns."""
    return [Column("atom", "", atoms.ix.astype(np.int64)), *ResidueLabels.of(atoms).columns()]


def atom_coordinates(atoms: "AtomGroup", dimension: str = "atom") -> list[LabelledArray]:
    """Return labels for a dimension with one entry per atom: the atom indices and the residue labels."""
    index, *labels = atom_columns(atoms)
    return [LabelledArray(dimension, (dimension,), "", index.values), *column_arrays(labels, dimension)]


def _texts(residues: Any, name: str) -> NDArray[np.str_]:
    """Return an attribute of residues as strings, which are empty if the topology lacks the attribute."""
    try:
        values = getattr(residues, name)
    except AttributeError:  # includes MDAnalysis NoDataError
        return np.full(len(residues), "", np.str_)
    return np.array([str(value).strip() for value in values], np.str_)


def chains_of(universe: Any, indices: NDArray[np.int64]) -> NDArray[np.str_] | None:
    """Return the chain of the first atom in each residue, or None if the topology has no chains."""
    try:
        chains = universe.atoms.chainIDs
    except AttributeError:
        return None
    residues, first = np.unique(universe.atoms.resindices, return_index=True)
    atoms = first[np.minimum(np.searchsorted(residues, indices), len(first) - 1)]
    return np.array([str(chain).strip() for chain in chains[atoms]], np.str_)


def _n_different(*labels: NDArray[Any]) -> int:
    """Return the number of distinct labels."""
    return len(set(zip(*(each.tolist() for each in labels), strict=True)))
