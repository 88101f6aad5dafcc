"""Atoms, bonded atoms and rings that can interact, according to their chemistry."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from mdreel.analysis.fingerprints.chemistry import Chemistry

Sites: TypeAlias = Sequence[tuple[int, ...]]
"""Numbers of the atoms of each site."""

METALS = frozenset(("Ca", "Cd", "Co", "Cu", "Fe", "Mg", "Mn", "Ni", "Zn"))
_HALOGENS = frozenset(("F", "Cl", "Br", "I"))


def atoms_of(chemistry: Chemistry) -> Sites:
    """Return all atoms."""
    return [(atom,) for atom in range(len(chemistry.elements))]


def hydrophobic_atoms(chemistry: Chemistry) -> Sites:
    """Return the hydrophobic atoms.

    All of them are neutral. They are bromine, iodine, aromatic sulfurs, sulfurs with two bonds but no hydrogen, and
    carbons without a bond to nitrogen, oxygen or fluorine. Of these carbons, methyl groups do not count, and neither do
    groups in rings that are not aromatic and have as many hydrogens as CH2 or =CH-.
    """
    return [(atom,) for atom in range(len(chemistry.elements)) if _is_hydrophobic(chemistry, atom)]


def _is_hydrophobic(chemistry: Chemistry, atom: int) -> bool:
    if chemistry.charges[atom]:
        return False
    match chemistry.elements[atom]:
        case "Br" | "I":
            return True
        case "S":
            is_thioether = chemistry.n_hydrogens(atom) == 0 and chemistry.valence(atom) == 2
            return chemistry.is_aromatic[atom] or is_thioether
        case "C":
            return _is_hydrophobic_carbon(chemistry, atom)
    return False


def _is_hydrophobic_carbon(chemistry: Chemistry, atom: int) -> bool:
    if any(element in ("N", "O", "F") for _, element, _ in chemistry.neighbours(atom)):
        return False
    # Numbers of bonded atoms and of hydrogens, in any place or only outside of rings.
    numbers = (len(chemistry.bonds[atom]), chemistry.n_hydrogens(atom))
    is_open = numbers in ((2, 0), (3, 1), (4, 2))
    is_substituted = numbers in ((3, 0), (4, 0), (4, 1))
    return chemistry.is_aromatic[atom] or is_substituted or (is_open and not chemistry.is_in_ring(atom))


def donors(chemistry: Chemistry) -> Sites:
    """Return the donors of hydrogen bonds, each with a hydrogen.

    These are neutral nitrogens, oxygens and sulfurs, nitrogens of ammonium groups, and both nitrogens of charged
    imidazoles.
    """
    found = []
    for atom, element in enumerate(chemistry.elements):
        charge, is_aromatic = chemistry.charges[atom], chemistry.is_aromatic[atom]
        match element:
            case "O" | "S":
                is_donor = charge == 0 and not is_aromatic
            case "N" if charge == 0:
                is_donor = True
            case "N" if is_aromatic:
                is_donor = charge > 0 and _is_in_imidazole(chemistry, atom)
            case "N":
                is_donor = charge == 1 and chemistry.valence(atom) == 4
            case _:
                is_donor = False
        if is_donor:
            neighbours = chemistry.neighbours(atom)
            found += [(atom, other) for other, symbol, order in neighbours if symbol == "H" and order == 1]
    return found


def _is_in_imidazole(chemistry: Chemistry, atom: int) -> bool:
    """Return whether a carbon between an aromatic nitrogen and another one with a hydrogen is aromatic."""
    return any(
        symbol == "N" and other != atom and chemistry.is_aromatic[other] and chemistry.n_hydrogens(other) > 0
        for carbon, element, _ in chemistry.neighbours(atom)
        if element == "C" and chemistry.is_aromatic[carbon]
        for other, symbol, _ in chemistry.neighbours(carbon)
    )


def acceptors(chemistry: Chemistry) -> Sites:
    """Return the acceptors of hydrogen bonds.

    Nitrogens are acceptors, except those of amides, amidines, anilines and ammonium groups, and aromatic ones with
    three bonds. Oxygens are acceptors, except those between two carbons of an ester, of nitro groups, and between
    aromatic atoms. A fluorine is an acceptor if its carbon has no other halogen.
    """
    return [(atom,) for atom in range(len(chemistry.elements)) if _is_acceptor(chemistry, atom)]


def _is_acceptor(chemistry: Chemistry, atom: int) -> bool:
    neighbours = list(chemistry.neighbours(atom))
    charge = chemistry.charges[atom]
    match chemistry.elements[atom]:
        case "N" if chemistry.is_aromatic[atom]:
            is_next_to_cation = any(
                element == "N" and chemistry.is_aromatic[other] and chemistry.charges[other] > 0
                for other, element, _ in neighbours
            )
            return charge == 0 and chemistry.n_connections(atom) != 3 and not is_next_to_cation
        case "N":
            is_ammonium = charge == 1 and chemistry.valence(atom) == 4
            is_planar = _is_planar_nitrogen(chemistry, atom, ("O", "N", "P", "S"))
            return not (is_ammonium or is_planar or _is_imine_of_amidine(chemistry, atom))
        case "O" if chemistry.is_aromatic[atom]:
            return charge == 0
        case "O":
            return not (_is_ester(chemistry, atom) or _is_nitro(chemistry, atom, neighbours))
        case "F":
            carbons = [other for other, element, order in neighbours if element == "C" and order == 1]
            others = [
                element for carbon in carbons for other, element, _ in chemistry.neighbours(carbon) if other != atom
            ]
            return bool(carbons) and _HALOGENS.isdisjoint(others)
    return False


def _is_imine_of_amidine(chemistry: Chemistry, atom: int) -> bool:
    """Return whether a nitrogen has a double bond to a carbon with another nitrogen and another carbon or nitrogen."""
    for carbon, element, order in chemistry.neighbours(atom):
        if element == "C" and order == 2:
            single = [
                symbol
                for other, symbol, of_carbon in chemistry.neighbours(carbon)
                if of_carbon == 1 and symbol in ("C", "N") and not chemistry.is_aromatic[other]
            ]
            if "N" in single and len(single) > 1:
                return True
    return False


def _is_planar_nitrogen(chemistry: Chemistry, atom: int, partners: Sequence[str] | None) -> bool:
    """Return whether a nitrogen with three bonds is part of an aromatic ring, an aniline, an amide or an amidine.

    `partners` are the elements at the other end of the double bond. With None, these are all except carbon.
    """
    if chemistry.n_connections(atom) != 3:
        return False
    if chemistry.is_aromatic[atom] or _is_peptide_nitrogen(chemistry, atom):
        return True
    for neighbour, _, order in chemistry.neighbours(atom):
        if order != 1:
            continue
        if chemistry.is_aromatic[neighbour]:
            return True
        for other, element, of_neighbour in chemistry.neighbours(neighbour):
            is_partner = element != "C" if partners is None else element in partners
            if of_neighbour == 2 and other != atom and is_partner and not chemistry.is_aromatic[other]:
                return True
    return False


def _is_peptide_nitrogen(chemistry: Chemistry, atom: int) -> bool:
    """Return whether a nitrogen is bonded to the carbonyl group of another residue."""
    for other in chemistry.outside[atom]:
        if other < 0 or any(element == "O" and order == 2 for _, element, order in chemistry.neighbours(other)):
            return True
    return False


def _is_ester(chemistry: Chemistry, atom: int) -> bool:
    """Return whether an oxygen is between two aromatic atoms, or between a carbon and a carbonyl group."""
    neighbours = list(chemistry.neighbours(atom))
    if sum(chemistry.is_aromatic[other] for other, _, _ in neighbours) > 1:
        return True
    if chemistry.n_connections(atom) != 2:
        return False
    carbons = [other for other, element, _ in neighbours if element == "C" and not chemistry.is_aromatic[other]]
    return len(carbons) == 2 and any(
        element == "O" and order == 2 for carbon in carbons for _, element, order in chemistry.neighbours(carbon)
    )


def _is_nitro(chemistry: Chemistry, atom: int, neighbours: Sequence[tuple[int, str, float]]) -> bool:
    """Return whether an oxygen is bonded to a nitrogen that has a double bond to oxygen and another bond."""
    for nitrogen, element, order in neighbours:
        if element != "N" or chemistry.is_aromatic[nitrogen]:
            continue
        others = [one for one in chemistry.neighbours(nitrogen) if one[0] != atom]
        is_charged = order == 1 and chemistry.charges[atom] == -1
        if order == 2 and any(of_other == 1 for _, _, of_other in others):
            return True
        if is_charged and any(symbol == "O" and of_other == 2 for _, symbol, of_other in others):
            return True
    return False


def cations(chemistry: Chemistry) -> Sites:
    """Return atoms with a positive charge, and the other nitrogens of charged amidines and guanidines.

    An atom that is bonded to an atom with a negative charge is not a cation.
    """
    return [
        (atom,)
        for atom, element in enumerate(chemistry.elements)
        if _has_charge(chemistry, atom, 1) or (element == "N" and _is_in_amidine(chemistry, atom))
    ]


def _has_charge(chemistry: Chemistry, atom: int, sign: int) -> bool:
    """Return whether an atom has a charge of a sign, and its neighbours do not have the opposite charge."""
    is_charged = chemistry.charges[atom] * sign > 0
    return is_charged and all(chemistry.charges[other] * sign >= 0 for other in chemistry.bonds[atom])


def _is_in_amidine(chemistry: Chemistry, atom: int) -> bool:
    if chemistry.n_connections(atom) != 3 or chemistry.is_aromatic[atom]:
        return False
    if any(element == "O" and order == 1 for _, element, order in chemistry.neighbours(atom)):
        return False
    carbons = [other for other, element, order in chemistry.neighbours(atom) if element == "C" and order == 1]
    return any(
        element == "N" and order == 2 and chemistry.charges[other] > 0 and chemistry.n_connections(other) == 3
        for carbon in carbons
        if not chemistry.is_aromatic[carbon]
        for other, element, order in chemistry.neighbours(carbon)
    )


def anions(chemistry: Chemistry) -> Sites:
    """Return atoms with a negative charge, and the other oxygens of carboxylates, phosphates and sulfonates.

    An atom that is bonded to an atom with a positive charge is not an anion.
    """
    found = []
    for atom, element in enumerate(chemistry.elements):
        centres = [
            other
            for other, symbol, order in chemistry.neighbours(atom)
            if element == "O" and order == 2 and symbol in ("C", "P", "S")
        ]
        is_resonant = any(
            symbol == "O" and order == 1 and chemistry.charges[other] == -1
            for centre in centres
            for other, symbol, order in chemistry.neighbours(centre)
        )
        if _has_charge(chemistry, atom, -1) or is_resonant:
            found.append((atom,))
    return found


def metals(chemistry: Chemistry) -> Sites:
    """Return the metals: Ca, Cd, Co, Cu, Fe, Mg, Mn, Ni and Zn."""
    return [(atom,) for atom, element in enumerate(chemistry.elements) if element in METALS]


def ligands_of_metals(chemistry: Chemistry) -> Sites:
    """Return atoms that bind metals: anions, and neutral oxygens and nitrogens.

    Nitrogens of amides, anilines and ammonium groups and aromatic ones with three bonds do not bind metals.
    """
    found = []
    for atom, element in enumerate(chemistry.elements):
        charge = chemistry.charges[atom]
        is_oxygen = element == "O" and not chemistry.is_aromatic[atom]
        is_nitrogen = (
            element == "N"
            and not _is_planar_nitrogen(chemistry, atom, None)
            and not (chemistry.n_connections(atom) == 4 and not chemistry.is_aromatic[atom])
        )
        if charge < 0 or (charge == 0 and (is_oxygen or is_nitrogen)):
            found.append((atom,))
    return found


def halogen_donors(chemistry: Chemistry) -> Sites:
    """Return the donors of halogen bonds: C, N, Si or a halogen, with the chlorine, bromine or iodine at it."""
    return [
        (atom, halogen)
        for atom, element in enumerate(chemistry.elements)
        if element in ("C", "N", "Si", *_HALOGENS)
        for halogen, symbol, order in chemistry.neighbours(atom)
        if symbol in ("Cl", "Br", "I", "At") and order == 1
    ]


def halogen_acceptors(chemistry: Chemistry) -> Sites:
    """Return the acceptors of halogen bonds (N, O, P, S, Se, Te, aromatic atoms), each with an atom at it."""
    found = []
    for atom, element in enumerate(chemistry.elements):
        is_acceptor = element in ("N", "O", "P", "S", "Se", "Te") or chemistry.is_aromatic[atom]
        if is_acceptor and chemistry.charges[atom] <= 0:
            found += [(atom, other) for other, _, order in chemistry.neighbours(atom) if order != 3]
    return found


def rings(chemistry: Chemistry) -> Sites:
    """Return the aromatic rings of 5 or 6 atoms."""
    return chemistry.rings()


FINDERS: Mapping[str, Callable[[Chemistry], Sites]] = {
    "atoms": atoms_of,
    "hydrophobic": hydrophobic_atoms,
    "donors": donors,
    "acceptors": acceptors,
    "cations": cations,
    "anions": anions,
    "metals": metals,
    "ligands of metals": ligands_of_metals,
    "halogen donors": halogen_donors,
    "halogen acceptors": halogen_acceptors,
    "rings": rings,
}
"""Functions that find sites, by name."""
