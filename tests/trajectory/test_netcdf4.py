"""NetCDF-4 in AMBER's convention: what the library of NetCDF wrote, in our units."""

import pickle
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from mdreel._core import Frames, FrameSet, Source
from mdreel.errors import FormatError, UnsupportedError
from mdreel.trajectory.open import open as open_trajectory
from netcdf4_writer import write_netcdf4

N_FRAMES, N_ATOMS = 12, 31
POSITIONS = np.random.default_rng(5).normal(0, 30, (N_FRAMES, N_ATOMS, 3)).astype(np.float32)
OTHERS = {"velocities": POSITIONS / 7, "forces": POSITIONS * 3}


def read_frames(source: Source) -> Frames:
    everything = FrameSet.range(0, 1, source.n_frames)
    return source.read(everything, np.arange(source.n_atoms, dtype=np.uint32), ["positions", "velocities", "forces"])


@pytest.mark.parametrize(
    "storage",
    [
        {},
        {"contiguous": False, "chunksizes": (5, 10, 2)},
        {"zlib": True, "complevel": 4, "shuffle": True},
        {"zlib": True, "fletcher32": True, "chunksizes": (3, 31, 3)},
        {"number": ">f4"},
        {"number": "<f8", "zlib": True},
    ],
)
def test_netcdf4_has_what_the_library_reads(tmp_path: Path, storage: dict[str, Any]) -> None:
    path = write_netcdf4(tmp_path / "run.nc", POSITIONS, others=OTHERS, **storage)
    source = pickle.loads(pickle.dumps(open_trajectory(path)))
    frames = read_frames(source)
    assert source.describe()[0]["convention"] == "AMBER 1.0"
    with netCDF4.Dataset(path) as file:
        np.testing.assert_array_equal(frames.positions, np.asarray(file["coordinates"][:], np.float32))
        np.testing.assert_array_equal(frames.velocities, np.asarray(file["velocities"][:], np.float32))
        kilojoules = np.asarray(file["forces"][:], np.float32) * np.float32(4.184)
        np.testing.assert_array_equal(frames.forces, kilojoules)
        np.testing.assert_array_equal(frames.times, file["time"][:])
    assert not frames.has_cell.any()


@pytest.mark.parametrize("number", [np.float32, np.float64])
def test_netcdf4_is_scaled_in_the_precision_of_the_factor(tmp_path: Path, number: type) -> None:
    scales = {"velocities": number(20.455)}
    path = write_netcdf4(tmp_path / "run.nc", POSITIONS, others=OTHERS, scales=scales)
    expected = (OTHERS["velocities"] * number(20.455)).astype(np.float32)
    np.testing.assert_array_equal(read_frames(open_trajectory(path)).velocities, expected)


def test_netcdf4_cells_are_lengths_and_angles(tmp_path: Path) -> None:
    cells = np.array([50, 60, 70, 90, 80, 109.4712190]) + np.arange(N_FRAMES)[:, None] / 8
    cells[3] = 0
    frames = read_frames(open_trajectory(write_netcdf4(tmp_path / "run.nc", POSITIONS, cells=cells)))
    assert np.flatnonzero(~frames.has_cell).tolist() == [3]
    np.testing.assert_array_equal(frames.dimensions[frames.has_cell], np.delete(cells, 3, 0).astype(np.float32))


def test_netcdf4_velocities_that_were_not_written_are_absent(tmp_path: Path) -> None:
    path = write_netcdf4(tmp_path / "run.nc", POSITIONS, others={"velocities": OTHERS["velocities"][:5]})
    frames = read_frames(open_trajectory(path))
    assert frames.has_velocities.tolist() == [True] * 5 + [False] * 7
    np.testing.assert_array_equal(frames.velocities[:5], OTHERS["velocities"][:5])


def test_netcdf4_agrees_with_mdanalysis_on_the_same_classic_file(tmp_path: Path) -> None:
    """MDAnalysis reads classic files only: the same variables, copied."""
    from MDAnalysis.coordinates.TRJ import NCDFReader

    cells = np.full((N_FRAMES, 6), 90.0)
    path = write_netcdf4(tmp_path / "run.nc", POSITIONS, others=OTHERS, cells=cells, scales={"velocities": 20.455})
    classic = tmp_path / "classic.nc"
    with netCDF4.Dataset(path) as old, netCDF4.Dataset(classic, "w", format="NETCDF3_64BIT_OFFSET") as new:
        new.setncatts({name: old.getncattr(name) for name in old.ncattrs()})
        for name, dimension in old.dimensions.items():
            new.createDimension(name, None if dimension.isunlimited() else len(dimension))
        for name, variable in old.variables.items():
            copied = new.createVariable(name, variable.dtype, variable.dimensions)
            copied.setncatts({key: variable.getncattr(key) for key in variable.ncattrs()})
            variable.set_auto_maskandscale(False)
            copied.set_auto_maskandscale(False)
            copied[:] = variable[:]
    frames = read_frames(open_trajectory(path))
    with NCDFReader(str(classic)) as reader:
        for i, ts in enumerate(reader):
            np.testing.assert_array_equal(frames.positions[i], ts.positions)
            np.testing.assert_array_equal(frames.velocities[i], ts.velocities)
            np.testing.assert_array_equal(frames.forces[i], ts.forces)
            np.testing.assert_array_equal(frames.dimensions[i], ts.dimensions)
            assert frames.times[i] == ts.time


def test_netcdf4_femtoseconds_are_converted(tmp_path: Path) -> None:
    path = write_netcdf4(tmp_path / "run.nc", POSITIONS, others=OTHERS)
    expected = read_frames(open_trajectory(path))
    with netCDF4.Dataset(path, "a") as file:
        file["time"].units, file["velocities"].units = "femtoseconds", "angstrom/femtosecond"
    found = read_frames(open_trajectory(path))
    np.testing.assert_allclose(found.times, expected.times / 1000)
    np.testing.assert_allclose(found.velocities, expected.velocities * 1000, rtol=1e-6)


def test_netcdf4_of_other_units_or_without_coordinates_is_refused(tmp_path: Path) -> None:
    path = write_netcdf4(tmp_path / "run.nc", POSITIONS)
    with netCDF4.Dataset(path, "a") as file:
        file["coordinates"].units = "nanometer"
    with pytest.raises(UnsupportedError, match="/coordinates: the unit 'nanometer' is not supported"):
        open_trajectory(path)
    with netCDF4.Dataset(path, "a") as file:
        file.renameVariable("coordinates", "places")
    with pytest.raises(FormatError, match="expected coordinates, velocities or forces, found"):
        open_trajectory(path)
