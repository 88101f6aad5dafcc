"""Guessed selections of donors, hydrogens and acceptors, and pairs of donors and hydrogens."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel._core import contacts_of
from mdreel.analysis.topology.unguessed_atoms import (
    bonds_both_ways,
    polar_hydrogens,
    possible_acceptors,
    possible_donors,
    warn_of_unguessed,
)
from mdreel.errors import MismatchError, SelectionError, UnsupportedError
from mdreel.trajectory.placeholder_cell import cell_of
from mdreel.trajectory.selection import Atoms
from mdreel.trajectory.selection_remedies import reason_with_remedy

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

_DEPEND_ON_POSITIONS = frozenset(("around", "sphlayer", "sphzone", "isolayer", "cylayer", "cyzone", "point", "prop"))
"""Selection keywords for which the selected atoms may change from frame to frame."""

_REMEDY = "use one with charges and bonds, such as TPR or PSF, or give hydrogens_sel and acceptors_sel"

Between: TypeAlias = "Sequence[tuple[AtomGroup, AtomGroup]] | None"
"""Pairs of groups between which to find hydrogen bonds. None stands for all atoms."""

_MOST_PAIRS = 32  # pairs in `between`, which take two bits each of a 64-bit mask


def may_change(selection: str) -> bool:
    """Return whether the atoms that a selection string selects may change from frame to frame."""
    words = re.findall(r"[^\s()]+", selection)
    return not _DEPEND_ON_POSITIONS.isdisjoint(words) or any(
        word == "same" and following in ("x", "y", "z") for word, following in pairwise(words)
    )


def select(universe: Atoms, selection: str, name: str) -> "AtomGroup":
    """Return the atoms of a selection, which may be empty.

    Raises
    ------
    SelectionError
        If the selection is invalid.
    """
    if not selection:
        return universe.atoms[[]]
    try:
        return universe.select_atoms(selection)
    except Exception as error:
        raise SelectionError(f"{name} '{selection}': {reason_with_remedy(error)}") from error


def guess_hydrogens(
    universe: "Universe", within: str, masses: tuple[float, float], min_charge: float, between: Between = None
) -> str:
    """Return a selection of polar hydrogens based on masses and charges.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The system.
    within : str
        Selection of the atoms to consider.
    masses : tuple of float
        Lower and upper limit for the mass in u, both exclusive.
    min_charge : float
        Lower limit (exclusive) for the charge, in e.
    between : sequence of tuple of AtomGroup, optional
        Pairs of groups. Atoms that are not in any group are not counted in warnings.

    Raises
    ------
    MismatchError
        If no mass can lie between the limits.
    MissingDataError
        If the topology has no masses, charges or names.

    Warns
    -----
    MdreelWarning
        If the charges of hydrogens that are bonded to nitrogen or oxygen are not above the limit.
    """
    if masses[0] >= masses[1]:
        raise MismatchError(f"min_mass is higher than (or equal to) max_mass: {masses[0]:g} and {masses[1]:g} u")
    atoms = select(universe, within, "select")
    of_atoms = _values(atoms, "masses", "mass")
    charges = _values(atoms, "charges", "charge")
    is_light = (of_atoms > masses[0]) & (of_atoms < masses[1])
    guessed = atoms[is_light & (charges > min_charge)]
    candidates = polar_hydrogens(universe, atoms[is_light])
    warn_of_unguessed("hydrogens", candidates, _mask(guessed), f"above {min_charge:g}", between)
    return _selection_of(guessed)


def guess_acceptors(universe: "Universe", within: str, max_charge: float, between: Between = None) -> str:
    """Return a selection of the atoms whose charge is below a limit. For the parameters, see `guess_hydrogens`.

    Raises
    ------
    MissingDataError
        If the topology has no charges or names.

    Warns
    -----
    MdreelWarning
        If the charges of oxygens, or of nitrogens that can accept a hydrogen bond, are not below the limit.
    """
    atoms = select(universe, within, "select")
    guessed = atoms[_values(atoms, "charges", "charge") < max_charge]
    candidates = atoms.intersection(possible_acceptors(universe))
    warn_of_unguessed("acceptors", candidates, _mask(guessed), f"below {max_charge:g}", between)
    return _selection_of(guessed)


def guess_donors(
    universe: "Universe",
    within: str,
    max_charge: float,
    hydrogens: "AtomGroup",
    d_h_cutoff: float,
    between: Between = None,
) -> str:
    """Return a selection of the atoms that are bonded to hydrogens and whose charge is below a limit.

    If the topology has no bonds, atoms within `d_h_cutoff` of a hydrogen in the current frame are considered bonded.

    Raises
    ------
    MissingDataError
        If the topology has no charges or names.

    Warns
    -----
    MdreelWarning
        If nitrogen or oxygen atoms that are bound to hydrogens have charges above the limit.
    """
    every = select(universe, within, "select")
    atoms = every[_values(every, "charges", "charge") < max_charge]
    candidates = every.intersection(possible_donors(universe, hydrogens))
    warn_of_unguessed("donors", candidates, _mask(atoms), f"below {max_charge:g}", between)
    bonds = bonds_both_ways(universe)
    if bonds is not None:
        partners = bonds[np.isin(bonds[:, 0], hydrogens.ix), 1]
    elif len(atoms) and len(hydrogens):
        partners = pairs_within(atoms.ix, hydrogens.ix, universe.atoms.positions, cell_of(universe), d_h_cutoff)[:, 0]
    else:
        partners = np.empty(0, np.int64)
    return _selection_of(atoms[np.isin(atoms.ix, partners)])


def both_ways(universe: "Universe") -> NDArray[np.int64]:
    """Return the atoms of each bond, in both orders, shape (2 * n_bonds, 2).

    Raises
    ------
    MissingDataError
        If the topology has no bonds.
    """
    bonds = bonds_both_ways(universe)
    if bonds is None:
        from mdreel.analysis.topology.missing_data import MissingDataError

        message = "donors are found by bonds, but the topology has no bond information"
        raise MissingDataError(f"{message}: give donors_sel, load a topology with bonds, or guess them")
    return bonds


def bonded_pairs(hydrogens: NDArray[np.int64], bonds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the donor to which each hydrogen is bonded.

    Parameters
    ----------
    hydrogens : ndarray, shape (n_hydrogens,), int64
        Indices, in ascending order.
    bonds : ndarray, shape (2 * n_bonds, 2), int64
        Atoms of each bond, in both orders.

    Returns
    -------
    ndarray, shape (n_hydrogens, 2), int64
        Donor and hydrogen. Bonds between hydrogens, as in rigid water models, are ignored.

    Raises
    ------
    SelectionError
        If a hydrogen has no bond.
    """
    of_hydrogens = bonds[np.isin(bonds[:, 0], hydrogens) & ~np.isin(bonds[:, 1], hydrogens)]
    of_hydrogens = of_hydrogens[np.lexsort(of_hydrogens.T[::-1])]
    bonded, places = np.unique(of_hydrogens[:, 0], return_index=True)
    if len(bonded) < len(hydrogens):
        alone = np.setdiff1d(hydrogens, bonded)
        message = f"atom {alone[0]} is one of {len(alone):,} hydrogens without a bond to a donor"
        raise SelectionError(f"hydrogen bonds: {message}: give donors_sel, or another hydrogens_sel")
    return of_hydrogens[places][:, ::-1]


def pairs_within(
    donors: NDArray[np.int64],
    hydrogens: NDArray[np.int64],
    positions: NDArray[np.float32],
    dimensions: NDArray[np.float32] | None,
    cutoff: float,
) -> NDArray[np.int64]:
    """Return all pairs of a donor and a hydrogen whose distance does not exceed a cutoff.

    Parameters
    ----------
    donors, hydrogens : ndarray, shape (n,), int64
        Indices.
    positions : ndarray, shape (n_atoms, 3), float32
        Positions in Å.
    dimensions : ndarray, shape (6,), float32, or None
        Cell lengths in Å and angles in degrees.
    cutoff : float
        Largest distance in Å.

    Returns
    -------
    ndarray, shape (n_pairs, 2), int64
        Donor and hydrogen, sorted by donor and then by hydrogen.
    """
    if not len(donors) or not len(hydrogens):
        return np.empty((0, 2), np.int64)
    of_donors, of_hydrogens = (np.asarray(positions[each], np.float64) for each in (donors, hydrogens))
    places = contacts_of(of_donors, of_hydrogens, dimensions, cutoff)[0].astype(np.intp)
    pairs = np.stack([donors[places[:, 0]], hydrogens[places[:, 1]]], axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    ordered: NDArray[np.int64] = pairs[np.lexsort(pairs.T[::-1])]
    return ordered


def _values(atoms: "AtomGroup", attribute: str, name: str) -> NDArray[np.float64]:
    if not hasattr(atoms, attribute):
        from mdreel.analysis.topology.missing_data import MissingDataError

        raise MissingDataError(f"hydrogen bonds: the topology has no {name} information: {_REMEDY}")
    return np.asarray(getattr(atoms, attribute), np.float64)


def _mask(atoms: "AtomGroup") -> NDArray[np.bool_]:
    """Return a mask of the atoms of the Universe that are in a group, shape (n_universe_atoms,)."""
    mask = np.zeros(len(atoms.universe.atoms), np.bool_)
    mask[atoms.ix] = True
    return mask


def _selection_of(atoms: "AtomGroup") -> str:
    """Return a selection of all atoms with the same residue and atom names, or else types, as in a group."""
    if hasattr(atoms, "resnames") and hasattr(atoms, "names"):
        found = sorted(set(zip(atoms.resnames.tolist(), atoms.names.tolist(), strict=True)))
        return " or ".join(f"(resname {resname} and name {name})" for resname, name in found)
    return " or ".join(f"type {kind}" for kind in sorted(set(_types(atoms))))


def _types(atoms: "AtomGroup") -> Any:
    if not hasattr(atoms, "types"):
        from mdreel.analysis.topology.missing_data import MissingDataError

        message = "hydrogen bonds: the topology has no type information, nor names of atoms and residues"
        raise MissingDataError(f"{message}: {_REMEDY}")
    return atoms.types.tolist()


def groups_between(universe: "Universe", between: Any) -> "list[tuple[AtomGroup, AtomGroup]] | None":
    """Return the two groups for each pair of selections."""
    if between is None:
        return None
    if not len(between):
        raise MismatchError("between has no pairs of selections")
    pairs = [between] if isinstance(between[0], str) else between
    if wrong := [pair for pair in pairs if isinstance(pair, str) or len(pair) != 2]:
        raise MismatchError(f"between must have pairs of selections, got {wrong[0]!r}")
    if len(pairs) > _MOST_PAIRS:
        raise UnsupportedError(f"between has {len(pairs)} pairs of selections: expected {_MOST_PAIRS} at most")
    first, second = zip(*pairs, strict=True)
    groups = ([select(universe, one, "between") for one in side] for side in (first, second))
    return list(zip(*groups, strict=True))


def masks_between(
    between: "Sequence[tuple[AtomGroup, AtomGroup]] | None",
    donors: NDArray[np.int64],
    acceptors: NDArray[np.int64],
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]] | None:
    """Return bit masks of donors and acceptors that share a bit if the atoms are on different sides of a pair."""
    if between is None:
        return None
    of_donors, of_acceptors = np.zeros(len(donors), np.uint64), np.zeros(len(acceptors), np.uint64)
    for number, (first, second) in enumerate(between):
        for bit, (one, other) in enumerate(((first, second), (second, first)), 2 * number):
            of_donors |= np.isin(donors, one.ix).astype(np.uint64) << np.uint64(bit)
            of_acceptors |= np.isin(acceptors, other.ix).astype(np.uint64) << np.uint64(bit)
    return of_donors, of_acceptors
