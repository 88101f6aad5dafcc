"""Chemical perception of the residues of a group, from standard residues and from RDKit."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.fingerprints.chemistry import Chemistry, connected
from mdreel.analysis.fingerprints.standard_residues import assign_standard, standard_name
from mdreel.analysis.topology.missing_data import MissingDataError
from mdreel.analysis.topology.required_attributes import check_attributes
from mdreel.analysis.topology.residue_labels import residue_names
from mdreel.errors import SelectionError, UnsupportedError

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

_MOST_ATOMS = 3
"""Most atoms of a molecule with carbon that is assumed to need no hydrogens, such as carbon dioxide."""


def perceive(atomgroup: "AtomGroup", name: str) -> Chemistry:
    """Return the bonds, bond orders, formal charges and aromatic atoms of all residues of a group.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms.
    name : str
        Name of the group in error messages.

    Raises
    ------
    MissingDataError
        If the topology lacks names, hydrogens, or bonds that cannot be guessed.
    UnsupportedError
        If a residue is not a standard one and RDKit is not installed.
    SelectionError
        If RDKit cannot perceive a residue.

    Notes
    -----
    Amino acids, nucleotides, water and ions are assigned from the names of their atoms and their hydrogens. All other
    residues are converted by the RDKit converter of MDAnalysis (C. Bouysset and S. Fiorucci, J. Cheminform. 13, 72,
    2021), together with the residues to which they are bonded.
    """
    check_attributes(atomgroup, "names", "resnames")
    chemistry = connected(atomgroup, name)
    residues, first = np.unique(chemistry.residues, return_index=True)
    order = np.argsort(chemistry.residues, kind="stable")
    of_residues = np.split(order, np.cumsum(np.unique(chemistry.residues, return_counts=True)[1])[:-1])
    resnames = np.asarray(chemistry.atoms.resnames, str)[first]
    others, bare = [], []
    for residue, resname, atoms in zip(residues.tolist(), resnames.tolist(), of_residues, strict=True):
        kind = standard_name(resname)
        if _lacks_hydrogens([chemistry.elements[atom] for atom in atoms.tolist()], kind):
            bare.append(residue)
        if kind or len(atoms) == 1:
            assign_standard(chemistry, atoms, kind)
        else:
            others.append(residue)
    if bare:
        named = residue_names(chemistry.atoms.universe.residues[bare])
        message = f"residues of {name} have no hydrogens, which interactions between atoms depend on ({named})"
        raise MissingDataError(f"{message}: add them to the structure, for example with pdb2gmx or pdb4amber")
    if others:
        _assign_others(chemistry, np.array(others, np.int64), name)
    return chemistry


def _lacks_hydrogens(elements: Sequence[str], kind: str) -> bool:
    """Return whether a residue has no hydrogens, although an amino acid, a nucleotide, water or a ligand has some."""
    if "H" in elements:
        return False
    return kind == "HOH" or ("C" in elements and (bool(kind) or len(elements) > _MOST_ATOMS))


def _assign_others(chemistry: Chemistry, residues: NDArray[np.int64], name: str) -> None:
    """Assign the bond orders, formal charges and aromatic atoms of residues that RDKit perceives."""
    universe = chemistry.atoms.universe
    group = universe.residues[residues]
    try:
        import rdkit  # noqa: F401 (MDAnalysis imports it)
    except ImportError as error:
        message = f"{name} has residues that are not amino acids, nucleotides, water or ions ({residue_names(group)})"
        remedy = "their chemistry needs RDKit: pip install 'mdreel[rdkit]'"
        raise UnsupportedError(f"{message}: {remedy}") from error
    is_other = np.isin(chemistry.residues, residues)
    bonded = {other for atom in np.flatnonzero(is_other).tolist() for other in chemistry.outside[atom]} - {-1}
    context = universe.residues[np.union1d(residues, chemistry.residues[sorted(bonded)])].atoms
    molecule = _converted(chemistry, context, name, residue_names(group))
    places = np.searchsorted(chemistry.atoms.ix, context.ix)
    numbers = [0] * len(context)
    for atom in molecule.GetAtoms():
        number = int(places[atom.GetIntProp("_MDAnalysis_index")])
        numbers[atom.GetIdx()] = number
        if is_other[number]:
            chemistry.charges[number] = atom.GetFormalCharge()
            chemistry.is_aromatic[number] = atom.GetIsAromatic()
    for bond in molecule.GetBonds():
        first, second = numbers[bond.GetBeginAtomIdx()], numbers[bond.GetEndAtomIdx()]
        if is_other[first] and second in chemistry.bonds[first]:
            chemistry.bonds[first][second] = chemistry.bonds[second][first] = bond.GetBondTypeAsDouble()


def _converted(chemistry: Chemistry, context: "AtomGroup", name: str, named: str) -> Any:
    """Return the molecule of RDKit for some residues."""
    from rdkit import rdBase

    part = _complete(chemistry, context, named)
    with warnings.catch_warnings(), rdBase.BlockLogs():
        warnings.simplefilter("ignore")
        try:
            return part.atoms.convert_to.rdkit()
        except Exception as error:
            # RDKit also reports places in its source code.
            reason = " ".join(str(error).split()).removeprefix("Post-condition Violation ")
            reason = reason.partition(" Violation occurred")[0]
            message = f"{name}: RDKit cannot perceive the residues {named} ({reason})"
            raise SelectionError(f"{message}: check their bonds, elements and hydrogens") from error


def _complete(chemistry: Chemistry, context: "AtomGroup", named: str) -> "AtomGroup":
    """Return atoms that have elements and bonds: the given ones, or a copy of them with what the topology lacks."""
    import MDAnalysis

    universe = context.universe
    elements = getattr(context, "elements", None)
    if not chemistry.has_guessed_bonds and elements is not None and (np.asarray(elements, str) != "").all():
        return context
    if not hasattr(universe, "trajectory"):
        message = f"the topology lacks elements or bonds of the residues {named}"
        raise MissingDataError(f"{message}: use a topology that has them, such as PRMTOP, or load a structure")
    part = MDAnalysis.Merge(context)
    places = np.searchsorted(chemistry.atoms.ix, context.ix)
    part.add_TopologyAttr("elements", [chemistry.elements[place] for place in places.tolist()])
    if hasattr(part, "bonds"):
        part.del_TopologyAttr("bonds")
    part.add_TopologyAttr("bonds", chemistry.bonds_among(places))
    return part.atoms
