"""Donors, hydrogens and acceptors of water bridges, and the atoms near another group."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel._core import contacts_of
from mdreel.analysis.topology.unguessed_atoms import bonds_both_ways

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

# Names of atoms in CHARMM, GROMOS, OPLS-AA and Amber, and types of atoms in GLYCAM06, as MDAnalysis has them.
_WATER = ("OH2", "OW")
_BOTH = ("SG", "ND1", "NE2", "OG", "OG1", "OH")
_DONORS = ("N", "NE", "NH1", "NH2", "ND2", "NZ", "NE1")
_ACCEPTORS = ("O", "OC1", "OC2", "OD1", "OD2", "OE1", "OE2", "SD")

DEFAULT_DONORS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"CHARMM27": (*_DONORS, *_BOTH, *_WATER), "GLYCAM06": ("N", "NT", "N3", "OH", "OW"), "other": ()}
)
"""Names of heavy atoms that donate hydrogen bonds, by force field."""

DEFAULT_ACCEPTORS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "CHARMM27": (*_ACCEPTORS, *_BOTH, *_WATER),
        "GLYCAM06": ("N", "NT", "O", "O2", "OH", "OS", "OW", "OY", "SM"),
        "other": (),
    }
)
"""Names of atoms that accept hydrogen bonds, by force field."""

BOND_LENGTHS: Mapping[str, float] = MappingProxyType({"N": 1.31, "O": 1.31, "P": 1.58, "S": 1.55})
"""Longest distances of a hydrogen from its donor in Å, by the first letter of the donor's name."""

_OTHER_LENGTH = 1.5  # Å, of other donors

_CHUNK = 4096  # atoms whose neighbours are in memory together


def hydrogens_of_donors(
    universe: "Universe",
    residues: NDArray[np.int64],
    donors: Collection[str],
    lengths: Mapping[str, float],
    dimensions: NDArray[np.float32] | None,
) -> NDArray[np.int64]:
    """Return the donors of some residues with their hydrogens.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The system. Without positions, hydrogens are found by bonds.
    residues : ndarray, shape (n_residues,), int64
        Indices of the residues.
    donors : collection of str
        Names of donors.
    lengths : mapping of str to float
        Longest distance of a hydrogen from its donor in Å, by the first letter of the donor's name.
    dimensions : ndarray, shape (6,), float32, or None
        Cell for minimum images.

    Returns
    -------
    ndarray, shape (n_hydrogens, 2), int64
        Indices of donor and hydrogen, in ascending order. A hydrogen occurs once.

    Raises
    ------
    MissingDataError
        If the topology has no names of atoms, or neither positions nor bonds.

    Notes
    -----
    As in MDAnalysis, hydrogens are first found by distance in the current frame, and then by name. If a hydrogen is
    near a donor in one residue, atoms with the same names are bonded in all residues with the same name.
    """
    atoms = universe.atoms
    if not hasattr(atoms, "names"):
        raise _missing("the topology has no names of atoms")
    inside = np.flatnonzero(np.isin(atoms.resindices, residues))
    names = np.asarray(atoms.names, str)
    types = np.asarray(atoms.types, str) if hasattr(atoms, "types") else names
    is_hydrogen = (types == "H") | np.array([name.startswith(("H", "1H", "2H", "3H")) for name in names.tolist()])
    is_donor = np.isin(names, sorted(donors))
    given, taken = inside[is_donor[inside]], inside[is_hydrogen[inside] & ~is_donor[inside]]
    near = _near_hydrogens(universe, given, taken, (names, lengths), dimensions)
    resnames = np.asarray(getattr(atoms, "resnames", [""] * len(atoms)), object)
    of_names: dict[tuple[str, str], set[str]] = defaultdict(set)
    for donor, hydrogen in near.tolist():
        of_names[resnames[donor], names[donor]].add(names[hydrogen])
    of_residues: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for residue, name, hydrogen in zip(
        atoms.resindices[taken].tolist(), names[taken].tolist(), taken.tolist(), strict=True
    ):
        of_residues[residue][name].append(hydrogen)
    pairs: dict[int, int] = {}
    for donor, residue in zip(given.tolist(), atoms.resindices[given].tolist(), strict=True):
        here = of_residues[residue]
        for name in of_names.get((resnames[donor], names[donor]), ()):
            for hydrogen in here.get(name, ()):
                pairs[hydrogen] = donor
    found = np.array([(donor, hydrogen) for hydrogen, donor in pairs.items()], np.int64).reshape(-1, 2)
    ordered: NDArray[np.int64] = found[np.lexsort(found.T[::-1])]
    return ordered


def _near_hydrogens(
    universe: "Universe",
    donors: NDArray[np.int64],
    hydrogens: NDArray[np.int64],
    limits_of: tuple[NDArray[np.str_], Mapping[str, float]],
    dimensions: NDArray[np.float32] | None,
) -> NDArray[np.int64]:
    """Return pairs of a donor and a hydrogen of the same residue that are bonded, shape (n_pairs, 2)."""
    if not len(donors) or not len(hydrogens):
        return np.empty((0, 2), np.int64)
    residues, (names, lengths) = universe.atoms.resindices, limits_of
    if hasattr(universe, "trajectory"):
        limits = np.array([lengths.get(name[:1], _OTHER_LENGTH) for name in names[donors].tolist()])
        places, distances = _contacts(universe, donors, hydrogens, float(limits.max()), dimensions)
        places = places[distances <= limits[places[:, 0]]]
        pairs = np.stack([donors[places[:, 0]], hydrogens[places[:, 1]]], axis=1)
    else:
        bonds = bonds_both_ways(universe)
        if bonds is None:
            raise _missing("hydrogens are found by positions or bonds, but the Universe has neither")
        pairs = bonds[np.isin(bonds[:, 0], donors) & np.isin(bonds[:, 1], hydrogens)]
    same: NDArray[np.int64] = pairs[residues[pairs[:, 0]] == residues[pairs[:, 1]]]
    return same


def near_group(
    universe: "Universe",
    atoms: NDArray[np.int64],
    others: NDArray[np.int64],
    distance: float,
    dimensions: NDArray[np.float32] | None,
) -> NDArray[np.int64]:
    """Return those of some atoms that are within a distance of any of the others in the current frame.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The system, with positions.
    atoms, others : ndarray, shape (n,), int64
        Indices of atoms.
    distance : float
        Distance in Å.
    dimensions : ndarray, shape (6,), float32, or None
        Cell for minimum images.

    Returns
    -------
    ndarray, shape (n_near,), int64
        Indices, in ascending order.
    """
    if not len(atoms) or not len(others):
        return atoms[:0]
    is_near = np.isin(atoms, others)
    # Most atoms have a near neighbour, and few have to be compared with all that are within the whole distance.
    for radius in (distance / 4, distance / 2, distance):
        left = np.flatnonzero(~is_near)
        for start in range(0, len(left), _CHUNK):
            part = left[start : start + _CHUNK]
            places, _ = _contacts(universe, atoms[part], others, radius, dimensions)
            is_near[part[np.unique(places[:, 0])]] = True
    return atoms[is_near]


def _contacts(
    universe: "Universe",
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    distance: float,
    dimensions: NDArray[np.float32] | None,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    positions = universe.atoms.positions
    of_first, of_second = (np.asarray(positions[each], np.float64) for each in (first, second))
    places, distances = contacts_of(of_first, of_second, dimensions, distance)
    return places.astype(np.intp), distances


def sites_of(
    atoms: "AtomGroup", acceptors: Collection[str], donors: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the atoms of a group that donate or accept hydrogen bonds, and those that accept them.

    Parameters
    ----------
    atoms : MDAnalysis.AtomGroup
        The group.
    acceptors : collection of str
        Names of acceptors.
    donors : ndarray, shape (n_donors,), int64
        Indices of donors with hydrogens.
    """
    accepting = (
        np.unique(atoms.ix[np.isin(np.asarray(atoms.names, str), sorted(acceptors))]) if len(atoms) else atoms.ix
    )
    return np.union1d(accepting, np.intersect1d(atoms.ix, donors)), accepting


def _missing(message: str) -> Any:
    from mdreel.analysis.topology.missing_data import MissingDataError

    remedy = "load a structure or a topology with bonds, such as PSF or TPR"
    return MissingDataError(f"water bridges: {message}: {remedy}")
