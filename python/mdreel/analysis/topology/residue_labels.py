"""Unique labels of residues: segment, name, number and insertion code."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mdreel.results.column import Column

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, ResidueGroup


@dataclass(frozen=True)
class ResidueLabels:
    """What tells the residues of a group apart, one entry for each atom or residue of the group.

    Attributes
    ----------
    indices : ndarray, shape (n,), int64
        Index of each residue in its Universe, from 0.
    segments : ndarray, shape (n,), str
        The segment (segid) of each; the chain (chainID), or both as ``segid:chainID``, where segments alone do not tell
        the residues apart.
    resnames : ndarray, shape (n,), str
        Their names.
    resids : ndarray, shape (n,), int64
        Their numbers.
    icodes : ndarray, shape (n,), str
        Their insertion codes; empty where a residue has none.
    """

    indices: NDArray[np.int64]
    segments: NDArray[np.str_]
    resnames: NDArray[np.str_]
    resids: NDArray[np.int64]
    icodes: NDArray[np.str_]

    @classmethod
    def of(cls, group: "AtomGroup | ResidueGroup") -> Self:
        """Take the residues of a group, one entry for each of its atoms or residues, in their order."""
        indices, places = np.unique(np.asarray(group.resindices, np.int64), return_inverse=True)
        residues = group.universe.residues[indices]
        segids, resnames = _texts(residues, "segids"), _texts(residues, "resnames")
        icodes = _texts(residues, "icodes")
        resids = np.asarray(getattr(residues, "resids", indices + 1), np.int64)
        rest = (resnames, resids, icodes)
        chains = _chains(group.universe, indices)
        segments = segids
        if _n_different(segids, *rest) < len(indices) and chains is not None:
            both = np.array([f"{one}:{other}" for one, other in zip(segids, chains, strict=True)])
            segments = max((segids, chains, both), key=lambda each: _n_different(each, *rest))
        return cls(indices[places], segments[places], resnames[places], resids[places], icodes[places])

    @cached_property
    def texts(self) -> list[str]:
        """A label of each residue: ``"ALA 5"``, with an insertion code ``"ALA 5A"``, with the segment ``"A ALA 5"``.

        Segments are there where the group has several. Where residues cannot be told apart even so, the index of each
        in the Universe follows: ``"ALA 5 #217"``.
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
        """Return the columns of a table that tell residues apart.

        Returns
        -------
        list of Column
            ``segment``, ``resname`` and ``resid``; ``icode`` where a residue has one; ``resindex`` (from 0) where the
            others are not enough.
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

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """Where each residue is on an axis: its number, or, where numbers go back or repeat, its place in the group."""
        if self.are_numbers:
            return self.resids
        _, first, places = np.unique(self.indices, return_index=True, return_inverse=True)
        order = np.empty(len(first), np.int64)
        order[np.argsort(first)] = np.arange(1, len(first) + 1)
        return order[places]

    @cached_property
    def are_numbers(self) -> bool:
        """Whether numbers alone tell the residues apart, and ascend."""
        is_next = np.diff(self.indices) != 0
        steps = np.diff(self.resids)
        return bool((steps[is_next] > 0).all() and (steps[~is_next] == 0).all())

    @property
    def axis(self) -> str:
        """What an axis of `positions` is called."""
        return "Residue" if self.are_numbers else "Residue, counted"


def _texts(residues: Any, name: str) -> NDArray[np.str_]:
    """Return an attribute of residues as text; empty where the topology does not have it."""
    try:
        values = getattr(residues, name)
    except AttributeError:  # MDAnalysis's NoDataError is one
        return np.full(len(residues), "", np.str_)
    return np.array([str(value).strip() for value in values], np.str_)


def _chains(universe: Any, indices: NDArray[np.int64]) -> NDArray[np.str_] | None:
    """Return the chain of the first atom of each residue; None where the topology has no chains."""
    try:
        chains = universe.atoms.chainIDs
    except AttributeError:
        return None
    residues, first = np.unique(universe.atoms.resindices, return_index=True)
    atoms = first[np.minimum(np.searchsorted(residues, indices), len(first) - 1)]
    return np.array([str(chain).strip() for chain in chains[atoms]], np.str_)


def _n_different(*labels: NDArray[Any]) -> int:
    """Return how many residues the labels tell apart."""
    return len(set(zip(*(each.tolist() for each in labels), strict=True)))
