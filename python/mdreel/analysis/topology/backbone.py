"""Backbone atoms of a protein."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

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
        N, CA, C and O of each residue: indices in the Universe.
    residues : MDAnalysis.ResidueGroup
        The residues.
    chains : ndarray, shape (n_residues,), uint32
        Which chain each is of: numbers that ascend, and differ where the segment or the chain does.
    donors : ndarray, shape (n_residues,), bool
        Whether N has a hydrogen; proline has none.
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
            Names of N, CA, C and O, each one or several with blanks between them.
        complete : bool
            Whether each residue must have all four; otherwise those that have not are left out.

        Raises
        ------
        MismatchError
            If there are not four names, a residue has an atom twice, or has not all and must.
        SelectionError
            If no residue has all.
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
                found = f"{_name_of(residues[int(counts.argmax())])} has {counts.max()} atoms {name!r}"
                raise MismatchError(f"{found}: give one name of each in heavyatom_names")
            column[places[is_named]] = protein.ix[is_named]
            has_all &= counts == 1
        if complete and not has_all.all():
            lacking = _name_of(residues[int(has_all.argmin())])
            wanted = ", ".join(map(repr, names))
            raise MismatchError(f"{lacking} has not all of {wanted}: select residues with a whole backbone")
        if not has_all.any():
            raise SelectionError(f"no residue of the {len(protein):,} atoms has N, CA, C and O")
        residues = residues[has_all]
        # A residue that is left out ends a chain, as the next segment does.
        breaks = (np.diff(np.flatnonzero(has_all)) > 1) | (np.diff(residues.segindices) != 0)
        if hasattr(protein, "chainIDs"):
            chain_ids = protein.universe.atoms.chainIDs[atoms[has_all, 1]]
            breaks |= chain_ids[1:] != chain_ids[:-1]
        chains = np.concatenate([[0], np.cumsum(breaks)]).astype(np.uint32)
        return cls(atoms[has_all], residues, chains, residues.resnames != _WITHOUT_HYDROGEN)

    def hydrogens(self, names: str, chains: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Find the hydrogens on N.

        Parameters
        ----------
        names : str
            Their names, as in a selection.
        chains : ndarray, shape (n_residues,), uint32
            Which chain each residue is of. The hydrogens of the first of each do not matter.

        Returns
        -------
        ndarray, shape (n_residues,), int64
            Indices in the Universe; for residues without a hydrogen, N.

        Raises
        ------
        MismatchError
            If a residue has not one hydrogen, or a proline has one.
        """
        found = self.residues.atoms.select_atoms(f"name {names}")
        places = np.searchsorted(self.residues.resindices, found.resindices)
        counts = np.bincount(places, minlength=len(self.residues))
        matters = np.diff(chains, prepend=chains[0] + 1) == 0
        wrong = matters & (counts != self.donors)
        if wrong.any():
            first = int(wrong.argmax())
            expected = int(self.donors[first])
            message = f"{_name_of(self.residues[first])} has {counts[first]} hydrogens {names!r}, expected {expected}"
            raise MismatchError(f"{message}: give another hydrogen_name, or guess_hydrogens=True")
        atoms = self.atoms[:, 0].copy()
        atoms[places] = found.ix
        return atoms


def _name_of(residue: Any) -> str:
    return f"residue {residue.resname} {residue.resid} of segment {residue.segid}"
