"""Velocities and forces written to TRR and NetCDF: MDAnalysis finds what it finds in the file they are from."""

from pathlib import Path

import numpy as np
import pytest
from MDAnalysis.lib.formats.libmdaxdr import TRRFile
from MDAnalysisTests.datafiles import TRR, TRR_xvf

from conformance.mdanalysis_oracle import differences, frames_of_mdanalysis, frames_of_mdreel
from mdreel.errors import MismatchError
from mdreel.trajectory.convert import convert

QUANTITIES = ("positions", "velocities", "forces")
# What products of float32 leave on the way: nm to Å and back, kJ to kcal and back. The same bits where there is none.
ROUNDED = {("trr", name): 2 for name in QUANTITIES} | {("nc", "forces"): 1}


def agree_with_mdanalysis(path: Path) -> None:
    ours, theirs = frames_of_mdreel(path), frames_of_mdanalysis(path)
    found = differences(ours, theirs)
    if path.suffix == ".trr" and found.pop("dimensions", None):  # see test_real_files.py: the vectors have all bits
        np.testing.assert_array_max_ulp(ours.dimensions, theirs.dimensions, maxulp=2)
    assert found == {}


def write_mixed(path: Path, present: dict[str, list[bool]]) -> Path:
    """A TRR file of 12 atoms whose frames have positions, and velocities and forces where `present` says so."""
    numbers = np.random.default_rng(5).uniform(1, 3, (3, 12, 3)).astype(np.float32)
    with TRRFile(str(path), "w") as file:
        for i, has in enumerate(zip(present["velocities"], present["forces"], strict=True)):
            velocities, forces = (array if is_in else None for array, is_in in zip(numbers[1:], has, strict=True))
            file.write(numbers[0], velocities, forces, np.eye(3, dtype=np.float32) * 4, i, float(i), 0.0, 12)
    return path


@pytest.mark.parametrize("ending", ["trr", "nc"])
@pytest.mark.parametrize("original", [TRR, TRR_xvf])
def test_mdanalysis_reads_the_quantities_of_the_original(tmp_path: Path, original: str, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    convert(original, path)
    agree_with_mdanalysis(path)
    found, expected = frames_of_mdanalysis(path), frames_of_mdanalysis(Path(original))
    for name in QUANTITIES:
        mine, other = getattr(found, name), getattr(expected, name)
        np.testing.assert_array_equal(np.isnan(mine), np.isnan(other))
        np.testing.assert_array_max_ulp(mine[~np.isnan(mine)], other[~np.isnan(other)], ROUNDED.get((ending, name), 0))
    np.testing.assert_array_equal(found.times, expected.times)
    np.testing.assert_allclose(found.dimensions, expected.dimensions, rtol=1e-6)
    assert not np.isnan(found.velocities).any()
    assert np.isnan(found.forces).any() == (original == TRR)


@pytest.mark.parametrize("ending", ["trr", "nc"])
def test_wanted_atoms_and_frames_keep_their_velocities_and_forces(tmp_path: Path, ending: str) -> None:
    path, atoms = tmp_path / f"a.{ending}", np.r_[3:40:2, 500:900, 19000]
    convert(TRR_xvf, path, atoms=atoms, start=1)
    agree_with_mdanalysis(path)
    found, expected = frames_of_mdanalysis(path), frames_of_mdanalysis(Path(TRR_xvf))
    for name in QUANTITIES:
        other = getattr(expected, name)[1:, atoms]
        np.testing.assert_array_max_ulp(getattr(found, name), other, ROUNDED.get((ending, name), 0))


def test_trr_keeps_the_quantities_of_each_frame(tmp_path: Path) -> None:
    present = {"velocities": [True, False, False, True], "forces": [False, False, True, True]}
    convert(write_mixed(tmp_path / "mixed.trr", present), tmp_path / "a.trr")
    agree_with_mdanalysis(tmp_path / "a.trr")
    found = frames_of_mdanalysis(tmp_path / "a.trr")
    assert [not np.isnan(frame).any() for frame in found.velocities] == present["velocities"]
    assert [not np.isnan(frame).any() for frame in found.forces] == present["forces"]


def test_netcdf_leaves_out_what_not_all_frames_have(tmp_path: Path) -> None:
    present = {"velocities": [True, False, False, True], "forces": [True, True, True, True]}
    convert(write_mixed(tmp_path / "mixed.trr", present), tmp_path / "a.nc")
    agree_with_mdanalysis(tmp_path / "a.nc")
    found = frames_of_mdanalysis(tmp_path / "a.nc")
    assert np.isnan(found.velocities).all()
    assert not np.isnan(found.forces).any()


def test_netcdf_refuses_a_frame_without_what_others_have(tmp_path: Path) -> None:
    present = {"velocities": [True, True, False, True], "forces": [False] * 4}
    mixed = write_mixed(tmp_path / "mixed.trr", present)
    with pytest.raises(MismatchError, match=r"frame 2: no velocities, which AMBER NetCDF demands"):
        convert(mixed, tmp_path / "a.nc")
    assert not (tmp_path / "a.nc").exists()
