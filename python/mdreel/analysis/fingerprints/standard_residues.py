"""Bond orders, formal charges and aromatic rings of amino acids, nucleotides, water and ions."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.fingerprints.chemistry import AROMATIC, Chemistry

# fmt: off
AMINO_ACIDS = frozenset((
    "ALA", "ARG", "ASN", "ASP", "CYS", "GLN", "GLU", "GLY", "HIS", "ILE", "LEU", "LYS", "MET", "PHE", "PRO", "SER",
    "THR", "TRP", "TYR", "VAL",
    # Other protonation states and names in force fields.
    "ARGN", "ARN", "ASH", "ASPH", "ASPP", "CYM", "CYS1", "CYS2", "CYSH", "CYX", "GLH", "GLUH", "GLUP", "HID", "HIE",
    "HIP", "HISA", "HISB", "HISD", "HISE", "HISH", "HSD", "HSE", "HSP", "LSN", "LYN", "LYSH", "TYM",
    # Caps of chains.
    "ACE", "NH2", "NHE", "NMA", "NME",
))
# fmt: on
WATERS = frozenset(("HOH", "H2O", "OH2", "SOL", "SPC", "TIP", "TIP2", "TIP3", "TIP4", "TIP3P", "TP3", "TP4", "WAT"))
_BASES = {
    **dict.fromkeys(("A", "G", "DA", "DG", "RA", "RG", "ADE", "GUA"), "purine"),
    **dict.fromkeys(("C", "T", "U", "DC", "DT", "RC", "RU", "CYT", "THY", "URA", "DU"), "pyrimidine"),
}
_PYRIMIDINE = ("N1", "C2", "N3", "C4", "C5", "C6")
_RINGS: Mapping[str, Sequence[Sequence[str]]] = {
    "PHE": [("CG", "CD1", "CE1", "CZ", "CE2", "CD2")],
    "TYR": [("CG", "CD1", "CE1", "CZ", "CE2", "CD2")],
    "TRP": [("CG", "CD1", "NE1", "CE2", "CD2"), ("CD2", "CE2", "CZ2", "CH2", "CZ3", "CE3")],
    "HIS": [("CG", "ND1", "CE1", "NE2", "CD2")],
    "purine": [("N9", "C8", "N7", "C5", "C4"), _PYRIMIDINE],
    "pyrimidine": [_PYRIMIDINE],
}
_CATIONS = {
    **dict.fromkeys(("Li", "Na", "K", "Rb", "Cs", "Ag"), 1),
    **dict.fromkeys(("Be", "Mg", "Ca", "Sr", "Ba", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Cd"), 2),
    "Al": 3,
}
_ANIONS = ("F", "Cl", "Br", "I")


def standard_name(resname: str) -> str:
    """Return a common name for residues with the same rings: ``"purine"``, ``"HIS"``, ... Other names stay the same.

    The result is empty if the name is not that of an amino acid, a nucleotide or water.
    """
    name = resname.strip().upper()
    if name in WATERS:
        return "HOH"
    if name in AMINO_ACIDS:
        is_histidine = name.startswith(("HI", "HS"))
        return "HIS" if is_histidine else "TYR" if name == "TYM" else name
    if len(name) == 4 and name[0] in "NC" and name[1:] in AMINO_ACIDS:  # ends of chains in Amber
        return standard_name(name[1:])
    base = name[:-1] if len(name) > 1 and name[-1] in "35N" else name
    return _BASES.get(base, "")


def assign_standard(chemistry: Chemistry, atoms: NDArray[np.int64], kind: str) -> None:
    """Set the bond orders, formal charges and aromatic atoms of a standard residue or an ion.

    Parameters
    ----------
    chemistry : Chemistry
        The atoms, which are changed.
    atoms : ndarray, shape (n,), int64
        Numbers of the atoms of the residue.
    kind : str
        Result of `standard_name`. For ions, the empty string.

    Notes
    -----
    Hydrogens determine the protonation state. A histidine with both hydrogens, a lysine with three and a chain that
    starts with three hydrogens are cations. An acid without a hydrogen is an anion.
    """
    numbers = atoms.tolist()
    if len(numbers) == 1 and not kind:
        element = chemistry.elements[numbers[0]]
        chemistry.charges[numbers[0]] = -1 if element in _ANIONS else _CATIONS.get(element, 0)
        return
    names = dict(zip(np.asarray(chemistry.atoms.names[atoms], str).tolist(), numbers, strict=True))
    for ring in _RINGS.get(kind, ()):
        _make_aromatic(chemistry, [names.get(name, -1) for name in ring])
    for atom in numbers:
        if chemistry.elements[atom] in ("C", "P", "S"):
            _assign_oxygens(chemistry, atom, is_carbonyl=kind in ("purine", "pyrimidine"))
        if chemistry.elements[atom] == "C":
            _assign_guanidine(chemistry, atom)
    for atom in numbers:
        _assign_charge(chemistry, atom)
    if kind == "HIS":
        nitrogens = [names[name] for name in ("ND1", "NE2") if name in names]
        if len(nitrogens) == 2 and all(chemistry.n_connections(atom) == 3 for atom in nitrogens):
            chemistry.charges[nitrogens[0]] = 1


def _make_aromatic(chemistry: Chemistry, ring: Sequence[int]) -> None:
    """Make the bonds of a ring aromatic, if all of its atoms and bonds exist."""
    pairs = list(zip(ring, (*ring[1:], ring[0]), strict=True))
    if -1 in ring or any(other not in chemistry.bonds[one] for one, other in pairs):
        return
    for one, other in pairs:
        chemistry.bonds[one][other] = chemistry.bonds[other][one] = AROMATIC
        chemistry.is_aromatic[one] = True


def _assign_oxygens(chemistry: Chemistry, atom: int, is_carbonyl: bool) -> None:
    """Assign double bonds and charges to the oxygens that are bonded to this atom alone."""
    neighbours = chemistry.neighbours(atom)
    ends = sorted(other for other, element, _ in neighbours if element == "O" and chemistry.n_connections(other) == 1)
    n_double = {"C": 1, "P": 1, "S": 2}[chemistry.elements[atom]]
    if chemistry.elements[atom] == "C":
        is_planar = chemistry.n_connections(atom) == 3
        n_double = int(is_planar and (is_carbonyl or not chemistry.is_aromatic[atom]))
    for other in ends[:n_double]:
        chemistry.bonds[atom][other] = chemistry.bonds[other][atom] = 2.0
    for other in ends[n_double:]:
        chemistry.charges[other] = -1


def _assign_guanidine(chemistry: Chemistry, atom: int) -> None:
    """Assign the double bond and the charge of the three nitrogens that are bonded to a carbon."""
    nitrogens = [other for other, element, _ in chemistry.neighbours(atom) if element == "N"]
    if len(nitrogens) < 3 or chemistry.is_aromatic[atom]:
        return
    neutral = [other for other in nitrogens if chemistry.n_connections(other) == 2]
    ends = [other for other in sorted(nitrogens) if chemistry.n_hydrogens(other) > 1]
    double = (neutral or ends or nitrogens)[0]
    chemistry.bonds[atom][double] = chemistry.bonds[double][atom] = 2.0
    chemistry.charges[double] = 0 if neutral else 1


def _assign_charge(chemistry: Chemistry, atom: int) -> None:
    """Assign the charge of a nitrogen with four bonds, and of an oxygen or a sulfur with one or three bonds."""
    n_connections = chemistry.n_connections(atom)
    match chemistry.elements[atom]:
        case "N" if n_connections == 4:
            chemistry.charges[atom] = 1
        case "O" if n_connections == 3:
            chemistry.charges[atom] = 1
        case "S" if n_connections == 1 and 2.0 not in chemistry.bonds[atom].values():
            chemistry.charges[atom] = -1
