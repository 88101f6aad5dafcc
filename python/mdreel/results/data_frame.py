"""Tables of results as pandas and polars data frames."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.results.column import Column, check_table

LIBRARIES = ("pandas", "polars")


def data_frame(make_table: Callable[[], Sequence[Column]], metadata: Mapping[str, Any], library: str = "pandas") -> Any:
    """Return a table as a data frame.

    Parameters
    ----------
    make_table : callable
        Function that returns the columns, all of the same length. It is called after the library has been found.
    metadata : mapping
        Description of the table, which is stored in ``frame.attrs["metadata"]`` for pandas.
    library : {"pandas", "polars"}
        The library for the data frame.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame
        The data frame, with a copy of the values. The column names do not contain units. A pandas data frame has the
        units in ``frame.attrs["units"]``. Polars data frames cannot store units.

    Raises
    ------
    MismatchError
        If `library` is unknown.
    UnsupportedError
        If the library is not installed.
    ValueError
        If the columns differ in length, or if two columns have the same name.
    """
    make = check_library(library)
    columns = make_table()
    check_table(columns)
    values = {one.name: one.values.tolist() if one.is_text else one.values.copy() for one in columns}
    frame = make(values)
    if library == "pandas":
        frame.attrs.update(units={one.name: one.unit for one in columns}, metadata=dict(metadata))
    return frame


def check_library(library: str) -> Any:
    """Return the data frame class of a library. See `data_frame` for the errors."""
    if library not in LIBRARIES:
        raise MismatchError(f"library must be one of {', '.join(LIBRARIES)}, not {library!r}")
    try:
        return _pandas_frame() if library == "pandas" else _polars_frame()
    except ImportError as error:
        raise UnsupportedError(f"a data frame needs the package {library}: pip install {library}") from error


def wide_frame(
    frames: NDArray[np.int64], names: Sequence[tuple[str, str, str]], values: NDArray[Any], library: str
) -> Any:
    """Return a fingerprint as a data frame with one row per frame, and with the layout of ProLIF in pandas.

    Parameters
    ----------
    frames : ndarray, shape (n_frames,), int64
        Numbers of the frames.
    names : sequence of tuple of str, shape (n_columns,)
        First residue, second residue and interaction of each column.
    values : ndarray, shape (n_frames, n_columns), bool or uint32
        The values.
    library : {"pandas", "polars"}
        The library for the data frame.
    """
    make = check_library(library)
    if library == "polars":
        return make({"Frame": frames, **{" ".join(name): values[:, i] for i, name in enumerate(names)}})
    from pandas import Index, MultiIndex

    levels = ["ligand", "protein", "interaction"]
    columns = MultiIndex.from_tuples(names, names=levels) if names else MultiIndex.from_arrays([[]] * 3, names=levels)
    return make(values, index=Index(frames, name="Frame"), columns=columns)


def _pandas_frame() -> Any:
    from pandas import DataFrame

    return DataFrame


def _polars_frame() -> Any:
    from polars import DataFrame

    return DataFrame
