"""Topology files and selections: what is wrong with them is said with the file."""

from pathlib import Path

import pytest
from MDAnalysisTests.datafiles import PSF

from mdreel.analysis.topology.topology_file import open_topology, select_atoms
from mdreel.errors import FormatError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def test_topology_is_opened_and_atoms_are_selected() -> None:
    universe = open_topology(PSF)
    assert len(select_atoms(universe, "name CA", PSF)) == 214


def test_bad_topologies_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none.psf: No such file or directory"):
        open_topology(tmp_path / "none.psf")
    with pytest.raises(IsADirectoryError, match="not a file"):
        open_topology(tmp_path)
    (tmp_path / "bad.psf").write_text("not a topology\n")
    with pytest.raises(FormatError, match=r"bad.psf: cannot be read as a topology"):
        open_topology(tmp_path / "bad.psf")


@pytest.mark.parametrize(
    ("selection", "words"), [("name CA and (", "name CA and"), ("resname XYZ", "none of the 3,341")]
)
def test_bad_selections_are_refused(selection: str, words: str) -> None:
    with pytest.raises(SelectionError, match=words.replace("(", "")):
        select_atoms(open_topology(PSF), selection, PSF)
