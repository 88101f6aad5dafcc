"""Atoms that determine whether two residues are in contact."""

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.choices import ContactScheme
from mdreel.analysis.topology.radii import elements_of
from mdreel.analysis.topology.required_attributes import check_attributes
from mdreel.analysis.topology.residue_labels import chains_of, residue_names
from mdreel.errors import MdreelWarning, SelectionError
from mdreel.foundation.stack_level import caller_level

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

_BACKBONE = ("C", "CA", "N", "O", "H", "HA", "HN", "H1", "HT1", "O1", "OT1")
"""Backbone atom names in mdtraj, and other names that mdtraj converts to them."""

_CALCIUM = ("CA", "CAL", "CA2", "CA2+", "CA+2")


def contact_atoms(atomgroup: "AtomGroup", scheme: ContactScheme, name: str) -> "AtomGroup":
    """Return the atoms of a group that a scheme uses, in ascending order, and warn about residues without such atoms.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms to choose from.
    scheme : str
        The scheme.
    name : str
        Name of the group in error messages.

    Raises
    ------
    SelectionError
        If no atoms are left, if a residue has two atoms where the scheme needs one, or if the topology lacks names.

    Warns
    -----
    MdreelWarning
        If residues are omitted because they have no atoms that the scheme uses.
    """
    atoms = atomgroup.unique
    chosen = atoms[_is_used(atoms, scheme)]
    if scheme in ("ca", "cb") and len(np.unique(chosen.resindices)) < len(chosen):
        repeated = chosen.resindices[np.flatnonzero(np.diff(chosen.resindices) == 0)[:1]]
        residue = residue_names(atoms.universe.residues[repeated])
        message = f"residue {residue} has several atoms for scheme {scheme!r}, such as alternate locations"
        raise SelectionError(f"{name}: {message}: select one of them")
    left = np.setdiff1d(atoms.resindices, chosen.resindices)
    if not len(left):
        return chosen
    missing = _MISSING[scheme]
    if not len(chosen):
        raise SelectionError(f"{name}: no residue has {missing}: use another scheme, such as 'closest-heavy'")
    message = f"{name}: {len(left):,} of {len(np.unique(atoms.resindices)):,} residues are left out"
    message += f", because they have no {missing.removeprefix('a ').removeprefix('an ')}"
    named = residue_names(atoms.universe.residues[left])
    remedy = "select only residues that have it, or use another scheme, such as 'closest-heavy'"
    warnings.warn(f"{message} ({named}): {remedy}", MdreelWarning, stacklevel=caller_level())
    return chosen


_MISSING = {
    "ca": "an alpha carbon (an atom named CA)",
    "cb": "a beta carbon (an atom named CB; CA of glycine)",
    "closest": "an atom",
    "closest-heavy": "an atom that is not hydrogen",
    "sidechain": "an atom in the side chain of a protein residue",
    "sidechain-heavy": "an atom in the side chain of a protein residue that is not hydrogen (of glycine, a hydrogen)",
}


def _is_used(atoms: "AtomGroup", scheme: ContactScheme) -> NDArray[np.bool_]:
    """Return whether the scheme uses each atom."""
    if scheme == "closest":
        return np.ones(len(atoms), bool)
    if scheme == "closest-heavy":
        return ~_is_hydrogen(atoms)
    check_attributes(atoms, "names", "resnames")
    names, resnames = np.asarray(atoms.names, str), np.asarray(atoms.resnames, str)
    is_glycine: NDArray[np.bool_] = resnames == "GLY"
    is_alpha: NDArray[np.bool_] = (names == "CA") & ~np.isin(resnames, _CALCIUM)
    if scheme == "ca":
        return is_alpha
    if scheme == "cb":
        is_beta: NDArray[np.bool_] = (names == "CB") | (is_alpha & is_glycine)
        return is_beta
    is_protein = np.isin(atoms.ix, atoms.select_atoms("protein").ix)
    of_side_chain: NDArray[np.bool_] = is_protein & ~np.isin(names, _BACKBONE)
    if scheme == "sidechain":
        return of_side_chain
    is_heavy: NDArray[np.bool_] = of_side_chain & (is_glycine | ~_is_hydrogen(atoms))
    return is_heavy


def _is_hydrogen(atoms: "AtomGroup") -> NDArray[np.bool_]:
    elements = elements_of(atoms)
    found: NDArray[np.bool_] = (elements == "H") | (elements == "D")
    return found


def sequence_positions(universe: "Universe", residues: NDArray[np.int64], separation: int) -> NDArray[np.int64]:
    """Return a position in the sequence for each residue.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The Universe.
    residues : ndarray, shape (n,), int64
        Indices of residues.
    separation : int
        The positions of residues in different chains differ by more than this number.

    Returns
    -------
    ndarray, shape (n,), int64
        Positions. Within a segment and chain, differences between positions equal those between indices.
    """
    segments = np.asarray(universe.residues.segindices)[residues]
    chains = chains_of(universe, residues)
    if chains is not None:
        _, numbers = np.unique(chains, return_inverse=True)
        segments = segments * (int(numbers.max(initial=0)) + 1) + numbers
    _, ranks = np.unique(segments, return_inverse=True)
    positions: NDArray[np.int64] = ranks.astype(np.int64) * (len(universe.residues) + separation) + residues
    return positions
