"""Arrays of results with named dimensions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import UnsupportedError
from mdreel.results.column import Column

if TYPE_CHECKING:
    from xarray import Dataset


@dataclass(frozen=True)
class LabelledArray:
    """An array with named dimensions and a unit.

    Attributes
    ----------
    name : str
        An identifier, such as ``rmsf``.
    dimensions : tuple of str
        Name of each dimension, for example ``("frame", "atom")``.
    unit : str
        Unit in its usual notation (``ps``, ``Å``), or an empty string for dimensionless values.
    values : ndarray
        The values, with one axis for each dimension.
    """

    name: str
    dimensions: tuple[str, ...]
    unit: str
    values: NDArray[Any]

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers rather than strings or Boolean values."""
        return self.values.dtype.kind in "fiu"


def column_arrays(columns: Sequence[Column], dimension: str) -> list[LabelledArray]:
    """Return the columns of a table as arrays along a dimension."""
    return [LabelledArray(column.name, (dimension,), column.unit, column.values) for column in columns]


def dataset(
    arrays: Sequence[LabelledArray], coordinates: Sequence[LabelledArray], metadata: Mapping[str, Any]
) -> "Dataset":
    """Return an xarray Dataset.

    Parameters
    ----------
    arrays : sequence of LabelledArray
        The variables. Their values are not copied.
    coordinates : sequence of LabelledArray
        Labels for the dimensions. Labels are omitted if no variable has their dimension, or if they have the same name
        as a variable.
    metadata : mapping
        Attributes of the Dataset. Boolean values become strings, so that the Dataset can be written to NetCDF files.

    Raises
    ------
    UnsupportedError
        If xarray is not installed.
    """
    try:
        import xarray
    except ImportError as error:
        raise UnsupportedError("a Dataset needs the package xarray: pip install xarray") from error
    used = {dimension for array in arrays for dimension in array.dimensions}
    names = {array.name for array in arrays}
    kept = [one for one in coordinates if used.issuperset(one.dimensions) and one.name not in names]
    return xarray.Dataset(
        data_vars={one.name: _variable(one) for one in arrays},
        coords={one.name: _variable(one) for one in kept},
        attrs={name: str(value) if isinstance(value, bool) else value for name, value in metadata.items()},
    )


def _variable(array: LabelledArray) -> tuple[tuple[str, ...], NDArray[Any], dict[str, str]]:
    return array.dimensions, np.asarray(array.values), {"units": array.unit} if array.unit else {}
