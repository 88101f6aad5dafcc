"""Labels of residues in the data frames of ProLIF."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from mdreel.analysis.topology.residue_labels import ResidueLabels, chains_of

if TYPE_CHECKING:
    from MDAnalysis import Universe


@dataclass(frozen=True)
class ProlifLabels:
    """Names, numbers and chains of all residues of a Universe.

    Attributes
    ----------
    texts : list of str
        Labels, such as ``"ASP129.A"``, or ``"ASP129"`` without chains. Where these are ambiguous, the chain is the
        segment.
    keys : list of tuple of str and int
        Chain and number of each residue, which determine the order.
    """

    texts: list[str]
    keys: list[tuple[str, int]]

    @classmethod
    def of(cls, universe: "Universe") -> Self:
        """Return the labels of the residues of a Universe."""
        residues = universe.residues
        labels = ResidueLabels.of(residues)
        given = chains_of(universe, np.arange(len(residues)))
        chains = [""] * len(residues) if given is None else given.tolist()
        parts = list(zip(labels.resnames.tolist(), labels.resids.tolist(), labels.icodes.tolist(), strict=True))
        counts = Counter(zip(parts, chains, strict=True))
        chains = [
            chain if counts[part, chain] == 1 else segment
            for part, chain, segment in zip(parts, chains, labels.segments.tolist(), strict=True)
        ]
        texts = [
            f"{name}{number}{icode}" + (f".{chain}" if chain else "")
            for (name, number, icode), chain in zip(parts, chains, strict=True)
        ]
        return cls(texts, [(chain, number) for (_, number, _), chain in zip(parts, chains, strict=True)])

    def text(self, residue: int) -> str:
        """Return the label of a residue."""
        return self.texts[residue]

    def order(self, residue: int) -> tuple[str, int]:
        """Return the chain and the number of a residue."""
        return self.keys[residue]
