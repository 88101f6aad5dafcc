"""The AMBER NetCDF file that our encoder writes (kept by its test in Rust), as other programs read it."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import netcdf_file

from conformance.mdanalysis_oracle import differences, frames_of_mdanalysis, frames_of_mdreel

WRITTEN = Path(__file__).parent.parent / "golden" / "written.nc"
N_FRAMES, N_ATOMS = 3, 10
NUMBERS = (np.arange(N_FRAMES * N_ATOMS * 3, dtype=np.float32) + np.float32(0.125)).reshape(N_FRAMES, N_ATOMS, 3)
POSITIONS = NUMBERS / np.float32(7)
VELOCITIES, FORCES = POSITIONS - np.float32(3), POSITIONS - np.float32(6)
TIMES = np.array([0, 0.5, 1])
SCALES = 1 + np.arange(N_FRAMES)[:, None] / 64
CELLS = np.hstack([np.array([30, 40, 50]) * SCALES, np.tile([80, 90, 100], (N_FRAMES, 1))]).astype(np.float32)

pytestmark = pytest.mark.filterwarnings("ignore:Warning. The 'netCDF4' Python package is not installed:UserWarning")


def test_written_file_gives_what_went_into_it() -> None:
    frames = frames_of_mdreel(WRITTEN)
    np.testing.assert_array_equal(frames.positions, POSITIONS)
    np.testing.assert_array_equal(frames.velocities, VELOCITIES)
    # Divided when written and multiplied when read, each time rounded to float32.
    np.testing.assert_array_max_ulp(frames.forces, FORCES, maxulp=1)
    np.testing.assert_array_equal(frames.times, TIMES)
    np.testing.assert_array_equal(frames.dimensions, CELLS)


def test_written_file_is_the_same_to_mdanalysis() -> None:
    assert differences(frames_of_mdreel(WRITTEN), frames_of_mdanalysis(WRITTEN)) == {}


def test_written_file_is_the_same_to_mdtraj() -> None:
    from mdtraj.formats import NetCDFTrajectoryFile

    with NetCDFTrajectoryFile(str(WRITTEN)) as file:
        positions, times, lengths, angles = file.read()
    np.testing.assert_array_equal(positions, POSITIONS)
    np.testing.assert_array_equal(times, TIMES)
    np.testing.assert_array_equal(np.hstack([lengths, angles]).astype(np.float32), CELLS)


def test_written_file_keeps_the_convention_as_scipy_sees_it() -> None:
    with netcdf_file(str(WRITTEN), mmap=False) as file:
        assert (file.version_byte, file._recs) == (2, N_FRAMES)
        assert (file.Conventions, file.ConventionVersion) == (b"AMBER", b"1.0")
        assert file.dimensions == {
            "frame": None, "spatial": 3, "atom": N_ATOMS, "cell_spatial": 3, "cell_angular": 3, "label": 5
        }  # fmt: skip
        units = {name: variable.units for name, variable in file.variables.items() if hasattr(variable, "units")}
        assert units == {
            "time": b"picosecond",
            "coordinates": b"angstrom",
            "cell_lengths": b"angstrom",
            "cell_angles": b"degree",
            "velocities": b"angstrom/picosecond",
            "forces": b"kilocalorie/mole/angstrom",
        }
        assert file.variables["spatial"][:].tobytes() == b"xyz"
        assert file.variables["cell_spatial"][:].tobytes() == b"abc"
        assert file.variables["cell_angular"][:].tobytes() == b"alphabeta gamma"
        np.testing.assert_array_equal(file.variables["velocities"][:], VELOCITIES)
        np.testing.assert_array_equal(file.variables["forces"][:], FORCES / np.float32(4.184))
        np.testing.assert_array_equal(file.variables["cell_angles"][:], CELLS[:, 3:])


def test_written_file_has_no_byte_too_many() -> None:
    """The last record ends where the file does."""
    with netcdf_file(str(WRITTEN), mmap=False) as file:
        record = file._recsize
    assert record == 4 + 3 * 12 * N_ATOMS + 48
    whole = WRITTEN.read_bytes()
    assert whole[-4:] == (FORCES[-1, -1, -1:] / np.float32(4.184)).astype(">f4").tobytes()
    np.testing.assert_array_equal(np.frombuffer(whole[-record:][:4], ">f4"), TIMES[2])
