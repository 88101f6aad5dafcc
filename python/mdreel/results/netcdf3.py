"""Tables as NetCDF-3 (64-bit offset), with the attributes of the CF conventions."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.results.column import Column

_LARGEST_INTEGER = np.iinfo(np.int32).max


def write(path: Path, columns: Sequence[Column], metadata: Mapping[str, Any]) -> None:
    """Write one variable for each column along the ``frame`` dimension, and the metadata as global attributes."""
    from scipy.io import netcdf_file

    # Written in memory first: netcdf_file writes again when it is collected, and would report a full disk twice.
    memory = io.BytesIO()
    file = netcdf_file(memory, "w", version=2)
    file.Conventions = "CF-1.11"
    for name, value in metadata.items():
        setattr(file, name, _attribute(value))
    file.createDimension("frame", len(columns[0].values))
    for column in columns:
        values = np.asarray(column.values)
        if column.is_text:
            _add_text(file, column.name, values.astype(np.str_))
            continue
        if values.dtype.kind == "i" and (values.size == 0 or values.max() <= _LARGEST_INTEGER):
            values = values.astype(np.int32)  # the format's widest integer
        else:
            values = values.astype(np.float64)
        variable = file.createVariable(column.name, values.dtype, ("frame",))
        variable.units = column.ascii_unit or "1"
        variable.long_name = column.name
        variable[:] = values
    file.flush()
    path.write_bytes(memory.getvalue())


def _add_text(file: Any, name: str, values: NDArray[np.str_]) -> None:
    """Add a text variable, which is stored as characters with a dimension for the length."""
    encoded = np.array([value.encode() for value in values.tolist()], np.bytes_)
    width = max(encoded.dtype.itemsize, 1)
    file.createDimension(f"{name}_length", width)
    variable = file.createVariable(name, "c", ("frame", f"{name}_length"))
    variable.long_name = name
    variable[:] = encoded.astype(f"S{width}").view("S1").reshape(-1, width)


def _attribute(value: str | int | float | bool) -> bytes | int | float:
    """Return a number that NetCDF-3 can store unchanged, and convert any other value to text as bytes."""
    if isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST_INTEGER:
        return value
    return str(value).encode()
