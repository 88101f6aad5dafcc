"""Tests of torsions across insertion codes, bonds and gaps against atoms chosen by hand."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import dihedrals
from MDAnalysis.lib.distances import calc_bonds
from MDAnalysisTests.datafiles import PDB_HOLE, TPR, XTC, PDB_full, PDB_icodes, PDB_janin, PDB_rama

import mdreel
from mdreel.analysis.topology.residue_labels import residue_names
from mdreel.analysis.topology.residue_neighbours import numbers_follow
from mdreel.analysis.topology.torsions import torsions_of
from mdreel.errors import MismatchError

NAMES = ("N", "CA", "C", "O")
N, CA, C = 0, 1, 2
CODED = (("A", 51, " "), ("A", 52, " "), ("A", 52, "A"), ("A", 52, "B"), ("A", 53, " "), ("B", 54, " "))
"""Chain, number and insertion code of each residue; the last one begins another chain."""


def peptide(folder: Path, residues: tuple[tuple[str, int, str], ...]) -> MDAnalysis.Universe:
    """Return a Universe of alanines with random positions, read from a PDB file."""
    lines = []
    positions = np.random.default_rng(1).uniform(0, 20, (len(residues), len(NAMES), 3))
    for i, (chain, number, code) in enumerate(residues):
        for k, (name, (x, y, z)) in enumerate(zip(NAMES, positions[i], strict=True)):
            where = f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {name[0]:>2}"
            lines.append(f"ATOM  {4 * i + k + 1:5d}  {name:<3} ALA {chain}{number:4d}{code}   {where}")
    path = folder / "peptide.pdb"
    path.write_text("\n".join([*lines, "END"]) + "\n")
    return MDAnalysis.Universe(path)


def angle(four: np.ndarray) -> float:
    """Return the dihedral angle of four positions, in degrees."""
    a, b, c = np.diff(four.astype(float), axis=0)
    normals = np.cross(a, b), np.cross(b, c)
    return float(np.degrees(np.arctan2(np.linalg.norm(b) * (a @ normals[1]), normals[0] @ normals[1])))


def quadruples(universe: MDAnalysis.Universe) -> dict[str, list[list[int]]]:
    """Return the atoms of each kind of backbone torsion."""
    found = torsions_of(universe.atoms, ("phi", "psi", "omega"))
    return {
        kind: [four for four, one in zip(found.atoms.tolist(), found.kinds, strict=True) if one == kind]
        for kind in ("phi", "psi", "omega")
    }


def test_torsions_join_the_residues_of_a_chain_with_insertion_codes(tmp_path: Path) -> None:
    universe = peptide(tmp_path, CODED)
    with pytest.warns(UserWarning, match=r"^3 residues .*: ALA 52, ALA 52A, ALA 52B\. .* whereas MDAnalysis"):
        found = quadruples(universe)
    links = [(i, i + 1) for i in range(4)]
    assert found == {
        "phi": [[4 * i + C, 4 * j + N, 4 * j + CA, 4 * j + C] for i, j in links],
        "psi": [[4 * i + N, 4 * i + CA, 4 * i + C, 4 * j + N] for i, j in links],
        "omega": [[4 * i + CA, 4 * i + C, 4 * j + N, 4 * j + CA] for i, j in links],
    }


@pytest.mark.filterwarnings("ignore:Reader has no dt")
def test_ramachandran_with_insertion_codes_has_the_angles_of_atoms_chosen_by_hand(tmp_path: Path) -> None:
    universe = peptide(tmp_path, CODED)
    with pytest.warns(UserWarning, match="insertion codes"), pytest.warns(UserWarning, match="left out"):
        ramachandran = mdreel.Ramachandran(universe, check_protein=False).run()
    assert [(residue.resid, residue.icode) for residue in ramachandran.residues] == [(52, ""), (52, "A"), (52, "B")]
    at = universe.atoms.positions
    expected = [
        [angle(at[[4 * i - 4 + C, 4 * i + N, 4 * i + CA, 4 * i + C]]), angle(at[4 * i + np.array([N, CA, C, 4 + N])])]
        for i in (1, 2, 3)
    ]
    np.testing.assert_allclose(ramachandran.results.angles[0], expected, rtol=0, atol=1e-4)
    assert ramachandran.residue_labels == ["ALA 52", "ALA 52A", "ALA 52B"]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("file", [PDB_rama, PDB_janin, PDB_full, PDB_HOLE, PDB_icodes])
def test_linked_atoms_are_at_the_distance_of_a_bond(file: str) -> None:
    universe = MDAnalysis.Universe(file)
    found = torsions_of(universe.select_atoms("protein"), ("phi", "psi"))
    is_phi = np.array(found.kinds) == "phi"
    pairs = np.where(is_phi[:, None], found.atoms[:, :2], found.atoms[:, 2:])
    lengths = calc_bonds(*(universe.atoms[side].positions for side in pairs.T))
    # In these files, at most a few residues that are not linked have consecutive numbers.
    assert np.count_nonzero(lengths > 1.6) <= 4
    if file == PDB_icodes:
        assert (lengths < 1.6).all()
        assert {residue.icode for residue in found.residues} == {"", *"ABCDEFGHIJ"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:Cannot determine phi", "ignore:Some residues")
def test_mdanalysis_joins_residues_that_are_not_linked_by_number() -> None:
    protein = MDAnalysis.Universe(PDB_icodes).select_atoms("protein")
    with pytest.warns(UserWarning, match="^12 residues .*VAL 163A"), pytest.warns(UserWarning, match="left out"):
        ours = mdreel.Ramachandran(protein)
    theirs = dihedrals.Ramachandran(protein)
    shared = np.isin(ours.ag3.ix, theirs.ag3.ix)
    assert not np.array_equal(ours.ag1.ix[shared], theirs.ag1.ix)


def test_bonds_decide_where_the_topology_has_them(tmp_path: Path) -> None:
    universe = peptide(tmp_path, (("A", 1, " "), ("A", 2, " "), ("A", 3, " "), ("A", 9, " ")))
    within = [(4 * i + a, 4 * i + b) for i in range(4) for a, b in ((N, CA), (CA, C), (C, 3))]
    universe.add_TopologyAttr("bonds", [*within, (C, 4 + N), (8 + C, 12 + N)])
    with pytest.warns(UserWarning, match=r"^3 residues .*: ALA 2, ALA 3, ALA 9"):
        found = quadruples(universe)
    assert found["psi"] == [[N, CA, C, 4 + N], [8 + N, 8 + CA, 8 + C, 12 + N]]
    assert found["phi"] == [[C, 4 + N, 4 + CA, 4 + C], [8 + C, 12 + N, 12 + CA, 12 + C]]


def test_numbers_decide_where_only_other_bonds_are_known(tmp_path: Path) -> None:
    universe = peptide(tmp_path, (("A", 1, " "), ("A", 2, " "), ("A", 3, " ")))
    expected = quadruples(universe)
    universe.add_TopologyAttr("bonds", [(N, 8 + CA), (C, CA), (C, 3)])  # as of a ligand or a disulphide
    assert quadruples(universe) == expected
    assert len(expected["phi"]) == 2


def test_bonds_and_numbers_agree_on_a_simulated_protein() -> None:
    universe = MDAnalysis.Universe(TPR, XTC)
    with_bonds = quadruples(universe)
    universe.del_TopologyAttr("bonds")
    assert quadruples(universe) == with_bonds


def test_chains_that_share_a_segment_keep_their_neighbours(tmp_path: Path) -> None:
    numbers = (("A", 1, " "), ("A", 2, " "), ("A", 3, " "))
    universe = peptide(tmp_path, (*numbers, *numbers))
    with_one_segment = MDAnalysis.Merge(universe.atoms)
    with_one_segment.del_TopologyAttr("chainIDs")
    assert len(with_one_segment.segments) == 1
    found = quadruples(with_one_segment)
    assert [four[0] for four in found["phi"]] == [C, 4 + C, 12 + C, 16 + C]


def test_residues_in_messages_have_their_insertion_codes(tmp_path: Path) -> None:
    universe = peptide(tmp_path, CODED)
    assert residue_names(universe.residues[1:3]) == "ALA 52, ALA 52A"
    assert residue_names(universe.residues) == "ALA 51, ALA 52, ALA 52A, ALA 52B, ..."


def test_numbers_follow_by_one_or_with_another_insertion_code(tmp_path: Path) -> None:
    residues = peptide(tmp_path, (*CODED, ("B", 56, "A"))).residues
    assert numbers_follow(residues[:-1], residues[1:]).tolist() == [True] * 5 + [False]
    no_codes = MDAnalysis.Universe.empty(3, 3, atom_resindex=[0, 1, 2], residue_segindex=[0] * 3)
    no_codes.add_TopologyAttr("resids", [1, 1, 2])
    assert numbers_follow(no_codes.residues[:-1], no_codes.residues[1:]).tolist() == [False, True]


def test_residues_with_insertion_codes_in_another_order_are_refused(tmp_path: Path) -> None:
    residues = peptide(tmp_path, CODED).residues
    other = peptide(tmp_path, CODED).residues
    mdreel.transformations.fit_rot_trans(residues[[1, 2]].atoms, other[[1, 2]].atoms)
    with pytest.raises(MismatchError, match=r"another order .* ALA 52\), would be compared with .* ALA 52A\)"):
        mdreel.transformations.fit_rot_trans(residues[[1, 2]].atoms, other[[2, 1]].atoms)
