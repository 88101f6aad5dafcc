"""AMBER NetCDF files of every make, written with SciPy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np
from scipy.io import netcdf_file

UNITS = {
    "time": "picosecond",
    "coordinates": "angstrom",
    "cell_lengths": "angstrom",
    "cell_angles": "degree",
    "velocities": "angstrom/picosecond",
    "forces": "kilocalorie/mole/angstrom",
}
SHAPES = {
    "time": (),
    "coordinates": ("atom", "spatial"),
    "cell_lengths": ("cell_spatial",),
    "cell_angles": ("cell_angular",),
    "velocities": ("atom", "spatial"),
    "forces": ("atom", "spatial"),
}


@dataclass
class Make:
    """How to write a file; `types` and `scales` for variables other than float32 without a scale."""

    variables: tuple[str, ...] = tuple(UNITS)
    types: dict[str, str] = field(default_factory=dict)
    scales: dict[str, np.floating] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    n_frames: int = 4
    n_atoms: int = 11
    fixed_frames: bool = False
    version: int = 2
    conventions: str = "AMBER"


def write(path: Path, make: Make, content: Mapping[str, np.ndarray] = MappingProxyType({})) -> None:
    """Write the variables of a make: what is given for them, of every frame or for all, else random numbers."""
    random = np.random.default_rng(17)
    with netcdf_file(str(path), "w", version=make.version) as file:
        file.Conventions, file.ConventionVersion = make.conventions, "1.0"
        file.program, file.programVersion = "test", "1"
        file.createDimension("frame", make.n_frames if make.fixed_frames else None)
        for name, length in (("spatial", 3), ("atom", make.n_atoms), ("cell_spatial", 3), ("cell_angular", 3)):
            file.createDimension(name, length)
        for name in make.variables:
            variable = file.createVariable(name, make.types.get(name, "f4"), ("frame", *SHAPES[name]))
            variable.units = make.units.get(name, UNITS[name])
            if name in make.scales:
                variable.scale_factor = make.scales[name]
        for name in make.variables:
            shape = [file.dimensions[dimension] for dimension in SHAPES[name]]
            shape = [make.n_frames, *shape]
            numbers = np.broadcast_to(content[name], shape) if name in content else random.uniform(1, 90, shape)
            for i, values in enumerate(np.sort(numbers, axis=0) if name == "time" else numbers):
                file.variables[name][i] = values
