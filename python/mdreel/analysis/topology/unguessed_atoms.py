"""Nitrogen and oxygen atoms, and their hydrogens, that are missing in guesses for hydrogen bonds."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MdreelWarning
from mdreel.foundation.stack_level import caller_level

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

_MASSES = {"N": 14.007, "O": 15.999}
"""Masses in amu, for topologies without elements."""

_REMEDIES = {
    "hydrogens": 'hydrogens_sel="name H* and bonded (name N* O*)"',
    "donors": 'donors_sel="name O* or (protein and name N*)"',
    "acceptors": 'acceptors_sel="name O* or (protein and name N*)"',
}
_DESCRIPTIONS = {
    "hydrogens": "hydrogens bonded to N or O",
    "donors": "N and O atoms with hydrogens",
    "acceptors": "possible acceptors (O, and N without hydrogens)",
}


def bonds_both_ways(universe: "Universe") -> NDArray[np.int64] | None:
    """Return the atoms of each bond in both orders, shape (2 * n_bonds, 2), or None if the topology has no bonds."""
    of_atoms = getattr(universe.atoms, "bonds", None)
    if of_atoms is None:
        return None
    bonds = np.asarray(of_atoms.indices, np.int64).reshape(-1, 2)
    return np.concatenate([bonds, bonds[:, ::-1]])


def polar_hydrogens(universe: "Universe", hydrogens: "AtomGroup") -> "AtomGroup":
    """Return the hydrogens that are bonded to a nitrogen or an oxygen, or an empty group if there are no bonds."""
    bonds = bonds_both_ways(universe)
    if bonds is None:
        return hydrogens[[]]
    polar = nitrogens_and_oxygens(universe, "NO")
    return hydrogens[np.isin(hydrogens.ix, bonds[np.isin(bonds[:, 1], polar), 0])]


def possible_donors(universe: "Universe", hydrogens: "AtomGroup") -> "AtomGroup":
    """Return the nitrogens and oxygens bonded to one of the hydrogens, or an empty group if there are no bonds."""
    bonds = bonds_both_ways(universe)
    if bonds is None:
        return universe.atoms[[]]
    partners = bonds[np.isin(bonds[:, 0], hydrogens.ix), 1]
    return universe.atoms[np.intersect1d(nitrogens_and_oxygens(universe, "NO"), partners)]


def possible_acceptors(universe: "Universe") -> "AtomGroup":
    """Return the oxygens, and the nitrogens that have at most two bonds, none of which is to a hydrogen.

    Except in amines, a nitrogen with a hydrogen or with three bonds does not accept hydrogen bonds.
    """
    bonds = bonds_both_ways(universe)
    oxygens, nitrogens = (nitrogens_and_oxygens(universe, element) for element in "ON")
    if bonds is None:
        return universe.atoms[oxygens]
    with_hydrogen = bonds[universe.atoms.masses[bonds[:, 1]] < 3.5, 0]  # also heavy ones
    n_bonds = np.bincount(bonds[:, 0], minlength=len(universe.atoms))
    is_free = (n_bonds[nitrogens] <= 2) & ~np.isin(nitrogens, with_hydrogen)
    return universe.atoms[np.union1d(oxygens, nitrogens[is_free])]


def nitrogens_and_oxygens(universe: "Universe", elements: str) -> NDArray[np.int64]:
    """Return the indices of the atoms of some elements, in ascending order.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The system. If there are no elements, they are determined from names and masses. If there are no names either,
        the result is empty.
    elements : str
        Element symbols, each of one letter.
    """
    atoms = universe.atoms
    if hasattr(atoms, "elements") and any(atoms.elements):
        return np.flatnonzero(np.isin(atoms.elements.astype(str), list(elements)))
    if not hasattr(atoms, "names") or not hasattr(atoms, "masses"):
        return np.empty(0, np.int64)
    first = np.char.lstrip(atoms.names.astype(str), "0123456789").astype("U1")
    # Names alone would take sodium for nitrogen, and masses alone a CH2 group of a united-atom model.
    found = [(first == one) & (np.abs(atoms.masses - _MASSES[one]) < 0.2) for one in elements]
    return np.flatnonzero(np.any(found, axis=0))


def warn_of_unguessed(
    kind: str,
    candidates: "AtomGroup",
    is_guessed: NDArray[np.bool_],
    limit: str,
    between: "Sequence[tuple[AtomGroup, AtomGroup]] | None",
) -> None:
    """Warn about N and O atoms, or their hydrogens, that a guess by charge misses.

    Parameters
    ----------
    kind : {"hydrogens", "donors", "acceptors"}
        The atoms to be guessed.
    candidates : AtomGroup
        The atoms that could be such atoms, based on elements and bonds.
    is_guessed : ndarray, shape (n_universe_atoms,), bool
        Whether each atom of the Universe meets the limit.
    limit : str
        The limit, such as "above 0.3".
    between : sequence of tuple of AtomGroup, or None
        Pairs of groups. Atoms that are not in any group are ignored.

    Warns
    -----
    MdreelWarning
        If the guess misses candidates whose residue name and atom name differ from those of all guessed atoms.
    """
    if between is not None:
        inside = np.concatenate([group.ix for pair in between for group in pair])
        candidates = candidates[np.isin(candidates.ix, inside)]
    missing = candidates[~is_guessed[candidates.ix]]
    if not len(missing):
        return
    atoms = candidates.universe.atoms
    # The guess returns a selection by names, which also selects atoms with the name of a guessed atom.
    if hasattr(atoms, "resnames") and hasattr(atoms, "names"):
        guessed = set(_labels(atoms[is_guessed]))
        missing = missing[[label not in guessed for label in _labels(missing)]]
        if not len(missing):
            return
        residue, name = _labels(missing)[0]
        example = f"{residue} {name} has {missing[0].charge:.3g} e"
    else:
        example = f"atom {missing[0].ix} has {missing[0].charge:.3g} e"
    message = (
        f"hydrogen bonds: the guess leaves out {len(missing):,} of {len(candidates):,} {_DESCRIPTIONS[kind]} because "
        f"their charge is not {limit} e ({example}), so their hydrogen bonds are missing: name the atoms, "
        f"such as {_REMEDIES[kind]}"
    )
    warnings.warn(message, MdreelWarning, stacklevel=caller_level())


def _labels(atoms: "AtomGroup") -> list[tuple[str, str]]:
    return list(zip(atoms.resnames.tolist(), atoms.names.tolist(), strict=True))
