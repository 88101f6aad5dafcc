"""AMBER NetCDF files of SciPy, MDAnalysis and mdtraj, read as MDAnalysis reads them: the same bits."""

from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from scipy.io import netcdf_file

import mdreel
from conformance.mdanalysis_oracle import Frames, differences, frames_of_mdanalysis, frames_of_mdreel
from conformance.netcdf_writer import SHAPES, UNITS, Make, write
from mdreel.errors import UnsupportedError
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.universe import source_of

pytestmark = pytest.mark.filterwarnings(
    "ignore:NCDF trajectory does not contain `time` information:UserWarning",
    "ignore:Reader has no dt information:UserWarning",
    "ignore:Could not find netCDF4 module:UserWarning",
    "ignore:Warning. The 'netCDF4' Python package is not installed:UserWarning",
)
DOUBLES = dict.fromkeys(UNITS, "f8")
SINGLE_SCALES = {name: np.float32(scale) for name, scale in zip(UNITS, (0.1, 3.3, 1.7, 0.9, 20.455, 0.3), strict=True)}
DOUBLE_SCALES = {name: np.float64(scale) for name, scale in zip(UNITS, (0.1, 3.3, 1.7, 0.9, 20.455, 0.3), strict=True)}
MAKES = {
    "single": Make(),
    "double": Make(types=DOUBLES),
    "single times single": Make(scales=SINGLE_SCALES),
    "single times double": Make(scales=DOUBLE_SCALES),
    "double times single": Make(types=DOUBLES, scales=SINGLE_SCALES),
    "double times double": Make(types=DOUBLES, scales=DOUBLE_SCALES),
    "scale of nearly one": Make(scales={"velocities": np.float64(1 + 1e-10), "coordinates": np.float32(1)}),
    "as AMBER": Make(
        types={"cell_lengths": "f8", "cell_angles": "f8"}, scales={"velocities": np.float32(20.455)}
    ),
    "without times": Make(variables=("coordinates", "velocities")),
    "without a cell": Make(variables=("time", "coordinates", "forces")),
    "coordinates alone": Make(variables=("coordinates",)),
    "another order": Make(variables=("forces", "cell_angles", "coordinates", "time", "velocities", "cell_lengths")),
    "fixed number of frames": Make(fixed_frames=True),
    "one atom": Make(n_atoms=1),
    "nine atoms": Make(n_atoms=9),
    "one frame": Make(n_frames=1),
    "more than one load": Make(n_atoms=60_000),
}  # fmt: skip


def check(path: Path) -> Frames:
    ours = frames_of_mdreel(path)
    assert differences(ours, frames_of_mdanalysis(path)) == {}
    return ours


@pytest.mark.parametrize("make", MAKES)
def test_file_of_scipy_has_the_bits_that_mdanalysis_reads(tmp_path: Path, make: str) -> None:
    path = tmp_path / "made.nc"
    write(path, MAKES[make])
    frames = check(path)
    assert frames.positions.shape == (MAKES[make].n_frames, MAKES[make].n_atoms, 3)
    assert np.isfinite(frames.forces).all() == ("forces" in MAKES[make].variables)


def test_file_of_32_bit_offsets_has_the_bits_of_one_of_64(tmp_path: Path) -> None:
    """MDAnalysis insists on 64 bits."""
    for version in (1, 2):
        write(tmp_path / f"{version}.nc", Make(version=version))
    assert open_trajectory(tmp_path / "1.nc").describe()[0]["version"] == "CDF-1"
    assert differences(frames_of_mdreel(tmp_path / "1.nc"), frames_of_mdreel(tmp_path / "2.nc")) == {}


@pytest.mark.parametrize(
    "quantities", [{}, {"velocities": True}, {"forces": True}, {"velocities": True, "forces": True}]
)
@pytest.mark.parametrize("has_cell", [True, False])
def test_file_of_mdanalysis_has_the_bits_that_it_reads(
    tmp_path: Path, quantities: dict[str, bool], has_cell: bool
) -> None:
    path = tmp_path / "mdanalysis.ncdf"
    universe = MDAnalysis.Universe.empty(13, trajectory=True, velocities=True, forces=True)
    random = np.random.default_rng(5)
    with MDAnalysis.Writer(str(path), 13, **quantities) as writer:
        for i in range(3):
            ts = universe.trajectory.ts
            ts.positions, ts.velocities, ts.forces = random.normal(0, 30, (3, 13, 3))
            ts.dimensions = [30 + i, 40, 50, 80, 90, 70] if has_cell else None
            ts.time = 0.3 * i
            writer.write(universe.atoms)
    frames = check(path)
    assert np.isnan(frames.dimensions).any() != has_cell
    np.testing.assert_allclose(frames.times, [0, 0.3, 0.6], rtol=1e-6)


@pytest.mark.parametrize("has_cell", [True, False])
def test_file_of_mdtraj_has_the_bits_that_mdanalysis_reads(tmp_path: Path, has_cell: bool) -> None:
    from mdtraj.formats import NetCDFTrajectoryFile

    path = tmp_path / "mdtraj.nc"
    random = np.random.default_rng(6)
    cell = (random.uniform(30, 40, (4, 3)), random.uniform(70, 110, (4, 3))) if has_cell else (None, None)
    with NetCDFTrajectoryFile(str(path), "w") as file:
        file.write(random.normal(0, 30, (4, 12, 3)).astype(np.float32), np.arange(4) * 0.5, *cell)
    assert np.isnan(check(path).dimensions).any() != has_cell


def test_restart_file_is_a_trajectory_of_one_frame(tmp_path: Path) -> None:
    """MDAnalysis does not read these: the numbers are those that were written."""
    path = tmp_path / "restart.ncrst"
    positions, velocities = np.random.default_rng(8).normal(0, 30, (2, 12, 3))
    with netcdf_file(str(path), "w", version=2) as file:
        file.Conventions, file.ConventionVersion = "AMBERRESTART", "1.0"
        for name, length in (("spatial", 3), ("atom", 12), ("cell_spatial", 3), ("cell_angular", 3)):
            file.createDimension(name, length)
        for name, numbers in (
            ("coordinates", positions),
            ("velocities", velocities),
            ("time", np.array(7.1)),
            ("cell_lengths", np.array([30, 40, 50])),
            ("cell_angles", np.array([80, 90, 70])),
        ):
            variable = file.createVariable(name, "f8", SHAPES[name])
            variable.units = UNITS[name]
            variable.data[...] = numbers
        file.variables["velocities"].scale_factor = np.float64(20.455)
    frames = frames_of_mdreel(path)
    np.testing.assert_array_equal(frames.positions, positions[None].astype(np.float32))
    np.testing.assert_array_equal(frames.velocities, (velocities[None] * 20.455).astype(np.float32))
    np.testing.assert_array_equal(frames.dimensions, [[30, 40, 50, 80, 90, 70]])
    assert frames.times.tolist() == [7.1]


def test_universe_of_netcdf_is_opened_once_more(tmp_path: Path) -> None:
    write(tmp_path / "made.nc", Make())
    universe = MDAnalysis.Universe.empty(11)
    universe.load_new(str(tmp_path / "made.nc"))
    source = source_of(universe)
    assert (source.format, source.n_frames, source.quantities) == ("NCDF", 4, ["positions", "velocities", "forces"])
    np.testing.assert_array_equal(source.times(), [ts.time for ts in universe.trajectory])


@pytest.mark.parametrize("number", ["f4", "f8"])
@pytest.mark.parametrize("scale", [None, np.float32(2), np.float64(2)])
def test_femtoseconds_are_converted(tmp_path: Path, number: str, scale: Any) -> None:
    units = {"time": "femtoseconds", "velocities": "angstrom/femtosecond"}
    scales = {} if scale is None else {"time": scale, "velocities": scale}
    content = {"time": np.arange(4) * 500.0, "velocities": np.full((4, 11, 3), 0.25)}
    types = {"time": number, "velocities": number}
    write(tmp_path / "fs.nc", Make(types=types, scales=scales, units=units), content)
    found = mdreel.read(tmp_path / "fs.nc", quantities=("positions", "velocities"))
    factor = 1 if scale is None else 2
    np.testing.assert_allclose(found.times, np.arange(4) * 0.5 * factor, rtol=1e-6)
    np.testing.assert_allclose(found.velocities, 250.0 * factor, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "missing"),
    [
        (Make(conventions="CF-1.6"), "expected AMBER among its Conventions"),
        (Make(variables=("time", "velocities")), "no variable coordinates"),
        (Make(variables=("coordinates", "cell_lengths")), "no cell_angles"),
        (Make(units={"coordinates": "nanometer"}), "coordinates in angstrom, got .nanometer"),
        (Make(units={"time": "second"}), "time in picosecond"),
        (Make(types={"coordinates": "i4"}), "coordinates as float or double"),
    ],
)
def test_netcdf_that_is_no_trajectory_is_refused_with_what_is_missing(tmp_path: Path, make: Make, missing: str) -> None:
    write(tmp_path / "other.nc", make)
    with pytest.raises(UnsupportedError, match=rf"other\.nc: a NetCDF file, but no trajectory .*{missing}"):
        open_trajectory(tmp_path / "other.nc")
