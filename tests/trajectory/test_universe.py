"""The trajectory of a Universe, read by the core."""

from pathlib import Path

import h5py
import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.transformations import translate
from MDAnalysisTests.datafiles import DCD, GRO, PSF, TRR

from h5md_writer import write_h5md
from mdreel._core import FrameSet
from mdreel.errors import UnsupportedError
from mdreel.trajectory.universe import source_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ATOMS = np.array([0, 5, 3340], np.uint32)


def test_universe_of_a_file_is_opened_once_more() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    source = source_of(universe)
    assert (source.format, source.n_frames) == ("DCD", 98)
    np.testing.assert_array_equal(source.times(), [ts.time for ts in universe.trajectory])


def test_universe_of_a_trr_file_is_opened_once_more() -> None:
    universe = MDAnalysis.Universe.empty(47681, trajectory=False).load_new(TRR)
    source = source_of(universe)
    assert (source.format, source.n_atoms, source.n_frames) == ("TRR", 47681, 10)
    assert source.quantities == ["positions", "velocities", "forces"]


def test_universe_of_several_files_becomes_a_chain(adk_xtc: Path) -> None:
    universe = MDAnalysis.Universe(PSF, [str(adk_xtc), DCD])
    source = source_of(universe)
    assert source.n_frames == universe.trajectory.n_frames == 196
    positions = source.read(FrameSet.list(np.array([3, 130], np.uint64)), ATOMS).positions
    expected = [universe.trajectory[i].positions[ATOMS] for i in (3, 130)]
    np.testing.assert_array_equal(positions, expected)


@pytest.mark.parametrize("order", ["fac", "afc", "caf"])
def test_universe_in_memory_is_copied_whatever_its_order(adk_positions: np.ndarray, order: str) -> None:
    axes = ["fac".index(axis) for axis in order]
    universe = MDAnalysis.Universe(PSF, adk_positions[:5].transpose(axes).copy(), order=order, dt=2.5)
    source = source_of(universe)
    frames = source.read(FrameSet.range(0, 2, 3), ATOMS)
    np.testing.assert_array_equal(frames.positions, adk_positions[:5:2, ATOMS])
    np.testing.assert_array_equal(frames.times, [0, 5, 10])
    assert not frames.has_cell.any()


def test_universe_in_memory_keeps_its_cells(adk_positions: np.ndarray) -> None:
    cell = [50, 60, 70, 90, 80, 70]
    universe = MDAnalysis.Universe(PSF, adk_positions[:2], dimensions=np.array(cell))
    frames = source_of(universe).read(FrameSet.range(0, 1, 2), ATOMS)
    assert frames.has_cell.all()
    np.testing.assert_allclose(frames.dimensions, [cell, cell], rtol=1e-6)


def test_universe_is_refused_when_its_frames_are_not_those_of_the_file(adk_xtc: Path) -> None:
    transformed = MDAnalysis.Universe(PSF, DCD)
    transformed.trajectory.add_transformations(translate([1, 2, 3]))
    for universe, reason in (
        (transformed, "transformations"),
        (MDAnalysis.Universe(PSF, str(adk_xtc), dt=7), "dt"),
        (MDAnalysis.Universe(PSF, str(adk_xtc), time_offset=7), "time_offset"),
        (MDAnalysis.Universe(PSF, DCD, dt=7), "dt"),
        (MDAnalysis.Universe(PSF, str(adk_xtc), convert_units=False), "convert_units"),
    ):
        with pytest.raises(UnsupportedError, match=reason):
            source_of(universe)


def test_universe_of_another_format_is_read_by_mdanalysis() -> None:
    universe = MDAnalysis.Universe(GRO)
    source = source_of(universe)
    assert source.describe()[0]["read by"] == "MDAnalysis (GROReader)"
    frames = source.read(FrameSet.range(0, 1, 1), np.arange(source.n_atoms, dtype=np.uint32))
    np.testing.assert_array_equal(frames.positions[0], universe.atoms.positions)


def test_universe_of_h5md_has_the_group_that_mdanalysis_reads(tmp_path: Path) -> None:
    positions = np.arange(90, dtype=np.float32).reshape(2, 15, 3)
    path = write_h5md(tmp_path / "run.h5md", {"position": positions}, groups=("water", "protein"))
    with h5py.File(path, "a") as file:
        file["particles/water/position/value"][:] += 100
    universe = MDAnalysis.Universe.empty(15)
    universe.load_new(str(path))
    source = source_of(universe)
    assert source.describe()[0]["format"] == "H5MD"
    frames = source.read(FrameSet.range(0, 1, 2), np.arange(15, dtype=np.uint32))
    np.testing.assert_array_equal(frames.positions, [ts.positions.copy() for ts in universe.trajectory])


def test_universe_of_h5md_that_the_core_cannot_read_is_read_by_mdanalysis(tmp_path: Path) -> None:
    positions = np.arange(90, dtype=np.float16).reshape(2, 15, 3)
    universe = MDAnalysis.Universe.empty(15)
    universe.load_new(str(write_h5md(tmp_path / "half.h5md", {"position": positions})))
    source = source_of(universe)
    assert source.describe()[0]["read by"] == "MDAnalysis (H5MDReader)"
    frames = source.read(FrameSet.range(0, 1, 2), np.arange(15, dtype=np.uint32))
    np.testing.assert_array_equal(frames.positions, positions)


def test_universe_of_a_topology_alone_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="no trajectory"):
        source_of(MDAnalysis.Universe(PSF))
