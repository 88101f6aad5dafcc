"""Tests that the cell of 1 x 1 x 1 Å of structures without a periodic cell is not used."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import PSF

import mdreel
from mdreel.analysis.periodic.periodic_cell import PeriodicCell
from mdreel.trajectory.placeholder_cell import is_placeholder

PLACEHOLDER = np.array([1, 1, 1, 90, 90, 90], np.float32)
N_FRAMES = 3

ANALYSES: dict[str, Callable[[MDAnalysis.Universe], Any]] = {
    "dihedrals": lambda u: mdreel.Dihedrals(u.select_atoms("resid 1:20")).run().results.angles,
    "rdf": lambda u: mdreel.InterRDF(*[u.select_atoms("name CA")] * 2, norm="none", range=(0, 20)).run().results.count,
    "contacts": lambda u: (
        mdreel.Contacts(u, *[(u.select_atoms("name CA"), u.select_atoms("name N"))] * 2).run().results.timeseries
    ),
    "hydrogen bonds": lambda u: (
        mdreel.HydrogenBondAnalysis(u, "name N", "name HN", "name O", update_selections=False).run().results.hbonds
    ),
    "states": lambda u: mdreel.DSSP(u).run().results.dssp,
    "rmsd": lambda u: mdreel.RMSD(u.select_atoms("name CA")).run().results.rmsd,
}


def adk(adk_positions: np.ndarray, cell: np.ndarray | None) -> MDAnalysis.Universe:
    """Return AdK in memory, with the cell in all frames."""
    cells = None if cell is None else np.tile(cell, (N_FRAMES, 1))
    return MDAnalysis.Universe(PSF, adk_positions[:N_FRAMES], dimensions=cells)


@pytest.mark.filterwarnings("ignore:the groups share atoms")
@pytest.mark.parametrize("name", ANALYSES)
def test_analysis_of_frames_in_memory_does_not_use_a_placeholder(name: str, adk_positions: np.ndarray) -> None:
    expected = ANALYSES[name](adk(adk_positions, None))
    with pytest.warns(UserWarning, match=r"placeholder .* not using periodic boundary conditions") as caught:
        found = ANALYSES[name](adk(adk_positions, PLACEHOLDER))
    assert {warning.filename for warning in caught} == {__file__}
    assert len(caught) == 1
    np.testing.assert_array_equal(found, expected)
    assert np.size(expected) > 0


@pytest.mark.filterwarnings("ignore:Supplied", "ignore:Reader has no dt", "ignore:missing")
def test_analysis_of_a_file_of_mdanalysis_does_not_use_a_placeholder(tmp_path: Path, adk_positions: np.ndarray) -> None:
    path = tmp_path / "one.gro"
    universe = adk(adk_positions, PLACEHOLDER)
    universe.atoms.write(path)
    structure = MDAnalysis.Universe(path)
    assert is_placeholder(structure.dimensions)
    with pytest.warns(UserWarning, match="placeholder"):
        found = mdreel.Dihedrals(structure.select_atoms("resid 1:20")).run().results.angles
    structure.dimensions = None
    in_memory = structure.copy().load_new(structure.atoms.positions[None])
    expected = mdreel.Dihedrals(in_memory.select_atoms("resid 1:20")).run().results.angles
    np.testing.assert_array_equal(found, expected)


def test_placeholder_is_recognized_exactly() -> None:
    cells = np.array([PLACEHOLDER, PLACEHOLDER * 2, [1, 1, 1, 90, 90, 60], [0] * 6])
    assert is_placeholder(cells).tolist() == [True, False, False, False]
    assert PeriodicCell.of_dimensions(PLACEHOLDER) is None
    assert PeriodicCell.of(np.eye(3)) is None
    assert PeriodicCell.of(np.eye(3) * 2) is not None
