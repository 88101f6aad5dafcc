"""NetCDF-4 files in AMBER's convention, written by the library of NetCDF, for tests."""

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

UNITS = {"coordinates": "angstrom", "velocities": "angstrom/picosecond", "forces": "kilocalorie/mole/angstrom"}


def write_netcdf4(
    path: Path,
    positions: np.ndarray,
    *,
    others: dict[str, np.ndarray] | None = None,
    cells: np.ndarray | None = None,
    scales: dict[str, Any] | None = None,
    number: str = "f4",
    **storage: Any,
) -> Path:
    """Write positions (n_frames, n_atoms, 3), cells (n_frames, 6), and others for as many frames as they have.

    What is given is what is stored: `scales` are attributes. `storage` goes to createVariable.
    """
    n_frames, n_atoms, _ = positions.shape
    order = "big" if number.startswith(">") else "little"
    with netCDF4.Dataset(path, "w", format="NETCDF4") as file:
        file.Conventions, file.ConventionVersion = "AMBER", "1.0"
        file.program, file.programVersion = "the tests of mdreel", "1"
        for name, length in (("frame", None), ("atom", n_atoms), ("spatial", 3), ("cell_spatial", 3)):
            file.createDimension(name, length)
        time = file.createVariable("time", "f4", ("frame",))
        time.units = "picosecond"
        time[:] = np.arange(n_frames)
        arrays = {"coordinates": positions, **(others or {})}
        for name, values in arrays.items():
            variable = file.createVariable(
                name, np.dtype(number), ("frame", "atom", "spatial"), endian=order, **storage
            )
            variable.units = UNITS[name]
            variable.set_auto_maskandscale(False)
            if name in (scales or {}):
                variable.scale_factor = scales[name]
            variable[: len(values)] = values
        if cells is not None:
            for name, columns, unit in (
                ("cell_lengths", cells[:, :3], "angstrom"),
                ("cell_angles", cells[:, 3:], "degree"),
            ):
                variable = file.createVariable(name, "f8", ("frame", "cell_spatial"))
                variable.units = unit
                variable[:] = columns
    return path
