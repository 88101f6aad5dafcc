"""Index files of GROMACS: groups, errors, and selections with groups."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import PSF

import mdreel
from mdreel.analysis.topology.index_file import read_index
from mdreel.analysis.topology.topology_file import open_topology, select_atoms
from mdreel.errors import AtomOrderWarning, FormatError, MismatchError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

TEXT = """\
; a comment
[ Protein ]
1 2 3
5   4   ; not in order

[ Water and ions ]
10 11 12
[ (CA) ]
20
[Empty]
[ Twice ]
1
[ Twice ]
2
[ Same ]
7 8
[ Same ]
7 8
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "index.ndx"
    path.write_text(TEXT)
    return path


def test_groups_are_read_in_their_order_from_0(path: Path) -> None:
    index = read_index(path)
    assert [group.name for group in index.groups][:4] == ["Protein", "Water and ions", "(CA)", "Empty"]
    assert index["Protein"].tolist() == [0, 1, 2, 4, 3]
    assert index["Same"].tolist() == [6, 7]
    assert index.groups[1].line == 6


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("protein", "no group 'protein' in .*its groups: Protein, Water and ions"),
        ("Empty", "'Empty' in line 10 of .* has no atoms"),
        ("Twice", "lines 11 and 13 of .* two different groups 'Twice'"),
    ],
)
def test_groups_that_cannot_be_used_are_refused(path: Path, name: str, words: str) -> None:
    with pytest.raises(SelectionError, match=words):
        read_index(path)[name]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[ A ]\n1 0 2\n", "line 2: atoms count from 1, found 0"),
        ("[ A ]\n-3\n", "line 2: atoms count from 1, found -3"),
        ("[ A ]\n1 2.5\n", "line 2: expected the number of an atom, found '2.5'"),
        ("[ A ]\n9999999999999999999999\n", "line 2: expected the number of an atom"),
        ("[ A ]\n1-3\n", "line 2: expected the number of an atom, found '1-3'"),
        ("[ A\n1\n", r"line 1: expected \[ name \]"),
        ("[ ]\n1\n", r"line 1: expected \[ name \]"),
        ("1 2 3\n", "not an index file: line 1 comes before"),
        ("", "not an index file"),
        ("; only a comment\n", "not an index file"),
    ],
)
def test_files_that_are_no_index_files_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "bad.ndx").write_text(text)
    with pytest.raises(FormatError, match=f"bad.ndx: .*{words}"):
        read_index(tmp_path / "bad.ndx")


def test_bytes_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes.ndx").write_bytes(b"\xff\xfe[ A ]\n1\n")
    with pytest.raises(FormatError, match="it is not text"):
        read_index(tmp_path / "bytes.ndx")
    with pytest.raises(FileNotFoundError):
        read_index(tmp_path / "none.ndx")


def test_index_file_of_another_system_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.ndx").write_text("[ A ]\n1 3341\n")
    open_topology(PSF, tmp_path / "index.ndx")
    (tmp_path / "index.ndx").write_text("[ A ]\n1 3342\n")
    with pytest.raises(MismatchError, match="has atom 3342, but the topology has 3341 atoms"):
        open_topology(PSF, tmp_path / "index.ndx")


def test_selections_name_groups(path: Path) -> None:
    universe, plain = open_topology(PSF, path), MDAnalysis.Universe(PSF)
    groups = {"water": plain.atoms[[9, 10, 11]], "ca": plain.atoms[[19]]}
    for selection, expected in (
        ('group "Water and ions"', "group water"),
        ("group 'Water and ions' or (group \"(CA)\" and all)", "group water or (group ca and all)"),
        ('index 0:30 and not group "Water and ions"', "index 0:30 and not group water"),
    ):
        found = select_atoms(universe, selection, PSF)
        np.testing.assert_array_equal(found.ix, plain.select_atoms(expected, **groups).ix)


def test_selection_in_another_order_warns(path: Path) -> None:
    universe = open_topology(PSF, path)
    with pytest.warns(AtomOrderWarning, match="'Protein' of .*repeat or do not ascend"):
        assert select_atoms(universe, "group Protein", PSF).ix.tolist() == [0, 1, 2, 3, 4]


def test_analyses_take_groups_where_they_take_selections(path: Path) -> None:
    universe = open_topology(PSF, path)
    rmsd = mdreel.RMSD(universe, select="group Same", groupselections=['group "Water and ions"'])
    assert rmsd.atoms.tolist() == [6, 7, 9, 10, 11]


def test_group_without_an_index_file_says_what_is_missing() -> None:
    with pytest.raises(SelectionError, match=r"give the index file that has the group \(-n\)"):
        select_atoms(open_topology(PSF), "group Protein", PSF)
