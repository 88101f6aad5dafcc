"""AMBER trajectories in NetCDF-4 files (https://ambermd.org/netcdf/nctraj.xhtml)."""

from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel._core import OpenFiles, Source
from mdreel.errors import FormatError, UnsupportedError
from mdreel.trajectory.hdf5 import Dataset, check_length, chunked, describe_dataset, text_of

if TYPE_CHECKING:
    import h5py

# Variables of atoms, their names in the core, their units, and the factors to the units of mdreel.
VARIABLES = {
    "coordinates": ("positions", "angstrom", 1.0),
    "velocities": ("velocities", "angstrom/picosecond", 1.0),
    "forces": ("forces", "kilocalorie/mole/angstrom", 4.184),
}

# Units that some programs write instead of those of the convention, and the factors to the units of the convention.
OTHER_UNITS = {
    ("femtosecond", "picosecond"): 1e-3,
    ("angstrom/femtosecond", "angstrom/picosecond"): 1e3,
}


def is_amber(file: "h5py.File") -> bool:
    """Return whether a file follows the AMBER convention.

    Parameters
    ----------
    file : h5py.File
        An HDF5 file.

    Returns
    -------
    bool
        Whether the ``Conventions`` attribute of the file contains AMBER.
    """
    return "AMBER" in text_of(file.attrs.get("Conventions", "")).replace(",", " ").split()


def open_netcdf4(
    file: "h5py.File", path: str, *, access: str, recipe: tuple[Any, Any], open_files: OpenFiles
) -> Source:
    """Open a trajectory that follows the AMBER convention.

    Parameters
    ----------
    file, path, access, recipe, open_files
        See `open_h5md`.

    Returns
    -------
    Source
        The trajectory, with positions in Å, velocities in Å/ps, forces in kJ/(mol Å), and times in ps.

    Raises
    ------
    FormatError
        If the file violates the convention.
    UnsupportedError
        If a unit differs from the unit in the convention, or if the storage layout is not supported.

    Notes
    -----
    This function reads only the times.
    """
    here = [name for name in VARIABLES if name in file]
    if not here:
        raise FormatError(
            f"expected coordinates, velocities or forces, found {', '.join(file) or 'nothing'}", path=path
        )
    first = file[here[0]]
    check_length(first, path)
    if len(first.shape) != 3:
        raise FormatError(f"{first.name}: expected the shape (n_frames, n_atoms, 3), got {first.shape}", path=path)
    n_frames = int(first.shape[0])
    quantities = []
    for name in here:
        own, unit, factor = VARIABLES[name]
        own_factor = factor * _factor_to(unit, file[name], path)
        quantities.append((own, _describe(file[name], n_frames, path, None, own_factor)))
    cells = None
    if "cell_lengths" in file and "cell_angles" in file:
        _factor_to("angstrom", file["cell_lengths"], path)
        _factor_to("degree", file["cell_angles"], path)
        cells = tuple(_describe(file[name], n_frames, path, 1, 1.0) for name in ("cell_lengths", "cell_angles"))
    facts = {
        "format": "NetCDF-4",
        "path": Path(path),
        "size": Path(path).stat().st_size,
        "convention": f"AMBER {text_of(file.attrs.get('ConventionVersion', ''))}".strip(),
        **{own: described.summary for own, described in quantities},
        "unit cell": cells is not None,
        "times": "stored" if "time" in file else "none: frames are counted",
    }
    steps = np.arange(n_frames, dtype=np.int64)
    return chunked(path, access, _times(file, n_frames, path), steps, quantities, cells, facts, recipe, open_files)


def _factor_to(expected: str, variable: "h5py.Dataset", path: str) -> float:
    """Return the factor that converts the unit of a variable to the unit in the convention."""
    # Some programs write the plural of degree.
    unit = text_of(variable.attrs.get("units", expected)).removesuffix("s")
    if unit == expected:
        return 1.0
    if (unit, expected) not in OTHER_UNITS:
        raise UnsupportedError(f"{variable.name}: the unit {unit!r} is not supported, expected {expected!r}", path=path)
    return OTHER_UNITS[unit, expected]


def _scale(variable: "h5py.Dataset") -> tuple[float, bool]:
    """Return the scale factor in the file, and whether it has double precision."""
    scale = np.ravel(variable.attrs.get("scale_factor", np.ones(1)))
    if isclose(scale[0], 1):
        return 1.0, False
    return float(scale[0]), scale.dtype.itemsize == 8


def _describe(variable: "h5py.Dataset", n_frames: int, path: str, n_rows: int | None, unit: float) -> Dataset:
    """Return the position and storage of a variable, which may be shorter than the trajectory."""
    scale, in_double = _scale(variable)
    n_own = int(variable.shape[0]) if variable.shape else 0
    frames = None if n_own == n_frames else np.where(np.arange(n_frames) < n_own, np.arange(n_frames), -1)
    conversion = {"scale": scale, "in_double": in_double, "unit": unit, "frames": frames}
    return describe_dataset(variable, path, n_rows=n_rows, **conversion)


def _times(file: "h5py.File", n_frames: int, path: str) -> NDArray[np.float64]:
    """Return the times in ps, shape (n_frames,)."""
    if "time" not in file:
        return np.arange(n_frames, dtype=np.float64)
    variable = file["time"]
    to_ps = _factor_to("picosecond", variable, path)
    check_length(variable, path)
    if variable.ndim != 1 or len(variable) < n_frames:
        raise FormatError(f"{variable.name}: expected the shape ({n_frames},), got {variable.shape}", path=path)
    scale, in_double = _scale(variable)
    times = variable[:n_frames]
    if scale != 1:
        times = times * (np.float64(scale) if in_double else np.float32(scale))
    return np.asarray(times, np.float64) * to_ps
