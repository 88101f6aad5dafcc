"""Backbone atoms of proteins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.topology.residue_labels import residue_name
from mdreel.errors import MismatchError, SelectionError

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

_WITHOUT_HYDROGEN = "PRO"


@dataclass(frozen=True)
class Backbone:
    """The backbone of a protein.

    Attributes
    ----------
    atoms : ndarray, shape (n_residues, 4), int64
        Universe indices of N, CA, C and O of each residue.
    residues : MDAnalysis.ResidueGroup
        The residues.
    chains : ndarray, shape (n_residues,), uint32
        Chain number of each residue, in ascending order. The number increases at each new segment, chain or gap.
    donors : ndarray, shape (n_residues,), bool
        Whether N has a hydrogen. In proline, it has none.
    """

    atoms: NDArray[np.int64]
    residues: Any
    chains: NDArray[np.uint32]
    donors: NDArray[np.bool_]

    @classmethod
    def of(cls, protein: "AtomGroup", names: Sequence[str], complete: bool) -> Self:
        """Find the backbone of a protein.

        Parameters
        ----------
        protein : MDAnalysis.AtomGroup
            The protein.
        names : sequence of str
            Names of the atoms N, CA, C and O. Each entry can contain several names, separated by spaces.
        complete : bool
            Whether each residue must have all four atoms. Otherwise, incomplete residues are omitted.

        Raises
        ------
        MismatchError
            If there are not four names, if a residue contains an atom twice, or if a residue is incomplete and
            `complete` is true.
        SelectionError
            If no residue has all four atoms.
        """
        if isinstance(names, str) or len(names) != 4:
            raise MismatchError(f"heavyatom_names must be names of N, CA, C and O, got {names!r}")
        residues = protein.residues
        places = np.searchsorted(residues.resindices, protein.resindices)
        atoms, has_all = np.zeros((len(residues), 4), np.int64), np.ones(len(residues), bool)
        for column, name in zip(atoms.T, names, strict=True):
            is_named = np.isin(protein.names, name.split())
            counts = np.bincount(places[is_named], minlength=len(residues))
            if (counts > 1).any():
                found = f"{residue_name(residues[int(counts.argmax())])} has {counts.max()} atoms {name!r}"
                raise MismatchError(f"{found}: heavyatom_names must match one atom of each residue")
            column[places[is_named]] = protein.ix[is_named]
            has_all &= counts == 1
        if complete and not has_all.all():
            lacking = residue_name(residues[int(has_all.argmin())])
            wanted = ", ".join(map(repr, names))
            raise MismatchError(f"{lacking} lacks some of {wanted}: select residues with a complete backbone")
        if not has_all.any():
            raise SelectionError(
                f"no residue of the {len(protein):,} atoms has N, CA, C and O: select a protein with its backbone"
            )
        residues = residues[has_all]
        # A residue that is left out ends a chain, as does the end of a segment.
        breaks = (np.diff(np.flatnonzero(has_all)) > 1) | (np.diff(residues.segindices) != 0)
        if hasattr(protein, "chainIDs"):
            chain_ids = protein.universe.atoms.chainIDs[atoms[has_all, 1]]
            breaks |= chain_ids[1:] != chain_ids[:-1]
        chains = np.concatenate([[0], np.cumsum(breaks)]).astype(np.uint32)
        return cls(atoms[has_all], residues, chains, residues.resnames != _WITHOUT_HYDROGEN)

    def hydrogens(self, names: str, chains: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Find the hydrogens bonded to N.

        Parameters
        ----------
        names : str
            Names of the hydrogens, as in a selection.
        chains : ndarray, shape (n_residues,), uint32
            Chain number of each residue. The hydrogens of the first residue in a chain are not checked.

        Returns
        -------
        ndarray, shape (n_residues,), int64
            Universe indices of the hydrogens, or of N for residues without a hydrogen.

        Raises
        ------
        MismatchError
            If a residue does not have exactly one hydrogen, or if a proline has a hydrogen.
        """
        found = self.residues.atoms.select_atoms(f"name {names}")
        places = np.searchsorted(self.residues.resindices, found.resindices)
        counts = np.bincount(places, minlength=len(self.residues))
        matters = np.diff(chains, prepend=chains[0] + 1) == 0
        wrong = matters & (counts != self.donors)
        if wrong.any():
            first = int(wrong.argmax())
            expected = int(self.donors[first])
            residue = f"Residue {self.residues[first]!r}"
            message = f"{residue} contains {counts[first]} hydrogens {names!r}, expected {expected}"
            raise MismatchError(f"{message}: give another hydrogen_name, or guess_hydrogens=True")
        atoms = self.atoms[:, 0].copy()
        atoms[places] = found.ix
        return atoms
