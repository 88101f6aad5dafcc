"""What tests share of the files of MDAnalysisTests is what MDAnalysis reads."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from MDAnalysis import NoDataError, Universe
from MDAnalysis.coordinates.GRO import GROReader
from MDAnalysis.coordinates.timestep import Timestep
from MDAnalysis.coordinates.TPR import TPRReader
from MDAnalysisTests.datafiles import (
    DCD,
    GRO,
    PSF,
    TPR,
    XTC,
    GRO_incomplete_vels,
    GRO_velocity,
    TPR_xvf,
    two_water_gro,
    waterPSF,
)

from parsed_topologies import READERS, find_all, fragments_of, parse_once

pytestmark = pytest.mark.filterwarnings("ignore:No coordinate reader:UserWarning")


def values(frame: Timestep) -> dict[str, Any]:
    """Return everything that a frame holds."""
    arrays = {name: getattr(frame, name) for name in ("positions", "velocities") if getattr(frame, f"has_{name}")}
    cell = None if frame.dimensions is None else frame.dimensions.tobytes()
    described = {name: (array.dtype, array.tobytes()) for name, array in arrays.items()}
    return {**described, "cell": cell, "data": frame.data, "number": frame.frame}


@pytest.mark.parametrize(
    ("reader", "path"), [(TPRReader, TPR), (TPRReader, TPR_xvf), (GROReader, GRO), (GROReader, GRO_velocity)]
)
@pytest.mark.parametrize("options", [{}, {"dt": 3.0, "time_offset": 2.0}, {"convert_units": False}])
def test_frames_have_the_bits_that_mdanalysis_reads(reader: type, path: str, options: dict[str, Any]) -> None:
    shared = reader(path, **options)
    expected = reader(path, **options)
    READERS[reader](expected)
    assert values(shared.ts) == values(expected.ts)
    assert shared.n_atoms == expected.n_atoms == len(shared.ts.positions)


def test_frame_that_a_test_changes_is_not_that_of_the_next_test() -> None:
    before = Universe(GRO).atoms.positions
    changed = Universe(GRO)
    changed.atoms.positions += 1
    np.testing.assert_array_equal(Universe(GRO).atoms.positions, before)
    changed.trajectory.rewind()
    np.testing.assert_array_equal(changed.atoms.positions, before)


def test_files_of_users_are_read_each_time(tmp_path: Path) -> None:
    path = tmp_path / "own.gro"
    path.write_bytes(Path(two_water_gro).read_bytes())
    before = Universe(path).atoms.positions
    path.write_text(path.read_text(encoding="utf-8").replace("0.", "1."), encoding="utf-8")
    assert (Universe(path).atoms.positions != before).any()


def test_copy_is_read_as_its_original_until_a_byte_differs(tmp_path: Path) -> None:
    path = tmp_path / "copy.gro"
    content = Path(GRO).read_bytes()
    path.write_bytes(content)
    before = Universe(path)
    np.testing.assert_array_equal(before.atoms.positions, Universe(GRO).atoms.positions)
    assert str(before.trajectory.filename) == str(path)
    first = content.splitlines(keepends=True)[2]
    changed = first.replace(b"MET      N", b"GLY     CA").replace(first[20:28], b"   1.500")
    assert len(changed) == len(first) != 0
    path.write_bytes(content.replace(first, changed, 1))
    after = Universe(path)
    assert after.atoms[0].position[0] == pytest.approx(15)
    assert (after.atoms[0].resname, after.atoms[0].name) == ("GLY", "CA")


def test_warning_of_a_reader_comes_each_time() -> None:
    for _ in range(2):
        with pytest.warns(UserWarning, match="velocities"):
            GROReader(GRO_incomplete_vels)


@pytest.mark.parametrize("files", [(TPR, XTC), (PSF, DCD), (waterPSF,)])
def test_fragments_are_those_of_mdanalysis(files: tuple[str, ...]) -> None:
    universe = Universe(*files)
    found, expected = fragments_of(universe), find_all(Universe(*files))
    assert list(found) == list(expected)
    assert [part.ix for part in found.values()] == [part.ix for part in expected.values()]
    for mine, theirs in zip(found.values(), expected.values(), strict=True):
        assert mine.fragment.universe is universe
        if mine.fragment.ix is not theirs.fragment.ix:
            np.testing.assert_array_equal(mine.fragment.ix, theirs.fragment.ix)


def test_fragments_follow_bonds_that_a_test_adds() -> None:
    universe = Universe(waterPSF)
    n_fragments = universe.atoms.n_fragments
    universe.add_bonds([(0, 3)])
    assert universe.atoms.n_fragments == n_fragments - 1


def test_topology_without_bonds_has_no_fragments() -> None:
    with pytest.raises(NoDataError):
        _ = Universe(GRO).atoms.fragments


def test_reading_once_twice_changes_nothing() -> None:
    parse_once()
    assert Universe(TPR).atoms.n_fragments == len({part.ix for part in find_all(Universe(TPR)).values()})
