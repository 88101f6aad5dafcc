"""Tests of the chemistry of interaction fingerprints, against lists of atoms by residue."""

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.guesser.default_guesser import DefaultGuesser
from MDAnalysisTests.datafiles import DCD, PSF, RNA_PDB, RNA_PSF, TPR, XTC

from mdreel.analysis.fingerprints.bonds import guessed_bonds
from mdreel.analysis.fingerprints.perception import perceive
from mdreel.analysis.fingerprints.sites import FINDERS
from mdreel.analysis.fingerprints.standard_residues import standard_name
from mdreel.analysis.topology.missing_data import MissingDataError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
RING = "CG CD1 CD2 CE1 CE2 CZ"
HYDROPHOBIC = {
    "ALA": "",
    "ARG": "CB CG",
    "ASN": "CB",
    "ASP": "CB",
    "CYS": "CB",
    "GLN": "CB CG",
    "GLU": "CB CG",
    "GLY": "",
    "HIS": "CB",
    "ILE": "CB CG1",
    "LEU": "CB CG",
    "LYS": "CB CG CD",
    "MET": "CB CG SD",
    "PHE": f"CB {RING}",
    "PRO": "",
    "SER": "",
    "THR": "",
    "TYR": "CB CG CD1 CD2 CE1 CE2",
    "VAL": "CB",
}
HYDROGENS = {"ARG": "NE NH1 NH1 NH2 NH2", "ASN": "ND2 ND2", "GLN": "NE2 NE2", "LYS": "NZ NZ NZ", "SER": "OG"}
HYDROGENS |= {"THR": "OG1", "TYR": "OH", "CYS": "SG"}
ACCEPTORS = {"ASN": "OD1", "ASP": "OD1 OD2", "GLN": "OE1", "GLU": "OE1 OE2", "SER": "OG", "THR": "OG1", "TYR": "OH"}
CATIONS = {"ARG": "NE NH1 NH2", "LYS": "NZ"}
ANIONS = {"ASP": "OD1 OD2", "GLU": "OE1 OE2"}


def by_residue(atoms: MDAnalysis.AtomGroup, kind: str) -> dict[int, list[str]]:
    """Names of the first atom of each site of the residues of a group."""
    chemistry = perceive(atoms, "atoms")
    found: dict[int, list[str]] = {int(residue): [] for residue in atoms.residues.ix}
    for site in FINDERS[kind](chemistry):
        atom = chemistry.atoms[site[0]]
        found[int(atom.resindex)].append(str(atom.name).replace("OT1", "OXT").replace("OT2", "O"))
    return found


@pytest.fixture(scope="module", params=["CHARMM", "OPLS-AA", "CHARMM without bonds"])
def protein(request: pytest.FixtureRequest) -> MDAnalysis.AtomGroup:
    if request.param == "OPLS-AA":
        return MDAnalysis.Universe(TPR, XTC).select_atoms("protein")
    atoms = MDAnalysis.Universe(PSF, DCD).atoms
    if request.param == "CHARMM":
        return atoms
    bare = MDAnalysis.Universe.empty(len(atoms), len(atoms.residues), atom_resindex=atoms.resindices, trajectory=True)
    for name in ("names", "types"):
        bare.add_TopologyAttr(name, atoms.names if name == "names" else [each[0] for each in atoms.names])
    for name in ("resnames", "resids"):
        bare.add_TopologyAttr(name, getattr(atoms.residues, name))
    bare.atoms.positions = atoms.positions
    return bare.atoms


def common_name(resname: str) -> str:
    """Names without protonation states."""
    names = {"HSD": "HIS", "HSE": "HIS", "HISB": "HIS", "HISA": "HIS", "LYSH": "LYS", "CYSH": "CYS"}
    return names.get(resname, resname)


def check(atoms: MDAnalysis.AtomGroup, kind: str, side_chains: dict[str, str], backbone: dict[str, str]) -> None:
    found, residues = by_residue(atoms, kind), atoms.residues
    for residue in residues:
        is_first, is_last = residue.ix == residues.ix[0], residue.ix == residues.ix[-1]
        name = common_name(residue.resname)
        ends = backbone["first" if is_first else "last" if is_last else "PRO" if name == "PRO" else "inner"]
        wanted = sorted(f"{side_chains.get(name, '')} {ends}".split())
        assert sorted(found[int(residue.ix)]) == wanted, (kind, residue)


def test_sites_of_amino_acids_are_those_of_the_lists(protein: MDAnalysis.AtomGroup) -> None:
    nothing = dict.fromkeys(("first", "last", "PRO", "inner"), "")
    check(protein, "hydrophobic", HYDROPHOBIC, nothing)
    histidine = set(protein.select_atoms("resname HIS HSD HSE HISA HISB").names)
    donor, acceptor = ("ND1", "NE2") if "HD1" in histidine else ("NE2", "ND1")
    assert ("HE2" in histidine) is (donor == "NE2")
    check(protein, "donors", {**HYDROGENS, "HIS": donor}, {**nothing, "first": "N N N", "last": "N", "inner": "N"})
    ends = dict.fromkeys(nothing, "O") | {"last": "O OXT"}
    last = {str(name).replace("OT1", "OXT").replace("OT2", "O") for name in protein.residues[-1].atoms.names}
    if "OXT" not in last:
        ends["last"] = " ".join(sorted(name for name in last if name in ("O1", "O2")))
    check(protein, "acceptors", {**ACCEPTORS, "HIS": acceptor}, ends)
    check(protein, "cations", CATIONS, {**nothing, "first": "N"})
    check(protein, "anions", ANIONS, {**nothing, "last": ends["last"]})


def test_rings_begin_with_their_first_atom_and_go_to_its_nearer_neighbour(protein: MDAnalysis.AtomGroup) -> None:
    chemistry = perceive(protein, "protein")
    rings = FINDERS["rings"](chemistry)
    counts = {"PHE": 1, "TYR": 1, "HIS": 1, "TRP": 2}
    assert len(rings) == sum(counts.get(common_name(residue.resname), 0) for residue in protein.residues) > 10
    for ring in rings:
        atoms = chemistry.atoms[list(ring)]
        assert len(set(atoms.resindices)) == 1
        assert ring[0] == min(ring)
        assert ring[1] < ring[-1]
        for one, other in zip(ring, (*ring[1:], ring[0]), strict=True):
            d = MDAnalysis.lib.distances.calc_bonds(*chemistry.atoms[[one, other]].positions, protein.dimensions)
            assert 1.2 < d < 1.7


def test_sites_of_nucleotides() -> None:
    atoms = MDAnalysis.Universe(RNA_PSF, RNA_PDB).select_atoms("resname ADE CYT GUA URA")
    rings = FINDERS["rings"](perceive(atoms, "atoms"))
    kinds = [standard_name(residue.resname) for residue in atoms.residues]
    assert set(kinds) == {"purine", "pyrimidine"}
    assert len(rings) == sum({"purine": 2, "pyrimidine": 1}[kind] for kind in kinds)
    donors, acceptors, anions = (by_residue(atoms, kind) for kind in ("donors", "acceptors", "anions"))
    for residue in atoms.residues[1:-1]:
        number, kind = int(residue.ix), residue.resname
        base = {"GUA": "N1 N2 N2", "ADE": "N6 N6", "CYT": "N4 N4", "URA": "N3"}[kind]
        assert sorted(donors[number]) == sorted(f"{base} O2'".split())
        ends = {"GUA": "N3 N7 O6", "ADE": "N1 N3 N7", "CYT": "O2 N3", "URA": "O2 O4"}[kind]
        assert set(acceptors[number]) == {"O1P", "O2P", "O5'", "O4'", "O2'", "O3'", *ends.split()}
        assert sorted(anions[number]) == ["O1P", "O2P"]


def test_ions_have_charges_and_bind_metals() -> None:
    names = ["NA", "CL", "MG", "ZN", "K"]
    universe = MDAnalysis.Universe.empty(5, 5, atom_resindex=range(5), trajectory=True)
    for attribute, values in (("names", names), ("resnames", names), ("elements", ["Na", "Cl", "Mg", "Zn", "K"])):
        universe.add_TopologyAttr(attribute, values)
    chemistry = perceive(universe.atoms, "ions")
    assert chemistry.charges == [1, -1, 2, 2, 1]
    assert [list(FINDERS[kind](chemistry)) for kind in ("metals", "ligands of metals", "anions")] == [
        [(2,), (3,)],
        [(1,)],
        [(1,)],
    ]


def test_protonation_follows_from_hydrogens() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)

    def charges(resname: str, without: str) -> dict[str, int]:
        residue = next(each for each in universe.residues[5:200] if each.resname == resname)
        copy = MDAnalysis.Merge(residue.atoms.select_atoms(f"not name {without}"))
        chemistry = perceive(copy.atoms, "atoms")
        return {str(name): charge for name, charge in zip(copy.atoms.names, chemistry.charges, strict=True) if charge}

    assert charges("LYS", "HZ3 N HN C O") == {}
    assert charges("LYS", "N HN C O") == {"NZ": 1}
    assert charges("TYR", "HH N HN C O") == {"OH": -1}
    assert charges("CYS", "HG1 N HN C O") == {"SG": -1}
    assert charges("ARG", "N HN C O") == {"NH1": 1}
    assert charges("ARG", "HH11 N HN C O") == {}


def test_guessed_bonds_are_those_of_mdanalysis_for_the_elements() -> None:
    """The types of OPLS-AA are no elements, and the waters of TIP4P have virtual sites."""
    universe = MDAnalysis.Universe(TPR, XTC)
    atoms = universe.select_atoms("protein and resid 1:60")
    copy = MDAnalysis.Merge(atoms)
    copy.atoms.types = copy.atoms.elements
    guesser = DefaultGuesser(copy, box=universe.dimensions)
    expected = np.unique(np.sort(guesser.guess_bonds(copy.atoms, atoms.positions), axis=1), axis=0)
    np.testing.assert_array_equal(guessed_bonds(atoms), atoms.ix[expected])
    water = universe.select_atoms("resname SOL").residues[:9].atoms
    pairs = guessed_bonds(water)
    assert len(pairs) == 18
    assert set(universe.atoms[pairs.ravel()].names) == {"OW", "HW1", "HW2"}


def test_element_without_a_radius_is_refused_in_molecules_and_allowed_as_an_ion() -> None:
    universe = MDAnalysis.Universe.empty(4, 2, atom_resindex=[0, 0, 0, 1], trajectory=True)
    universe.add_TopologyAttr("elements", ["C", "D", "C", "Fe"])
    universe.atoms.positions = [[0, 0, 0], [1, 0, 0], [-1.5, 0, 0], [0, 1.5, 0]]
    np.testing.assert_array_equal(guessed_bonds(universe.atoms), [[0, 1], [0, 2]])
    universe.atoms.elements = ["C", "Lr", "C", "Fe"]
    with pytest.raises(
        MissingDataError, match="the element 'Lr' of atom 1 has no van der Waals radius: use a topology"
    ):
        guessed_bonds(universe.atoms)


def test_topology_without_bonds_and_positions_is_refused() -> None:
    universe = MDAnalysis.Universe.empty(2, 1, atom_resindex=[0, 0])
    universe.add_TopologyAttr("names", ["OH2", "H1"])
    universe.add_TopologyAttr("resnames", ["SOL"])
    with pytest.raises(MissingDataError, match="no positions from which to guess them"):
        perceive(universe.atoms, "atomgroup")


@pytest.mark.parametrize(
    ("resname", "kind"),
    [
        ("HSP", "HIS"),
        ("CHIE", "HIS"),
        ("NALA", "ALA"),
        ("DA5", "purine"),
        ("U3", "pyrimidine"),
        ("TIP3", "HOH"),
        ("LIG", ""),
        ("NA", ""),
        ("TYM", "TYR"),
        ("GUA", "purine"),
        ("ASH", "ASH"),
    ],
)
def test_names_of_residues(resname: str, kind: str) -> None:
    assert standard_name(resname) == kind
