"""Tables of results as pandas and polars data frames."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
    if library not in LIBRARIES:
        raise MismatchError(f"library must be one of {', '.join(LIBRARIES)}, not {library!r}")
    try:
        make = _pandas_frame() if library == "pandas" else _polars_frame()
    except ImportError as error:
        raise UnsupportedError(f"a data frame needs the package {library}: pip install {library}") from error
    columns = make_table()
    check_table(columns)
    values = {one.name: one.values.tolist() if one.is_text else one.values.copy() for one in columns}
    frame = make(values)
    if library == "pandas":
        frame.attrs.update(units={one.name: one.unit for one in columns}, metadata=dict(metadata))
    return frame


def _pandas_frame() -> Any:
    from pandas import DataFrame

    return DataFrame


def _polars_frame() -> Any:
    from polars import DataFrame

    return DataFrame
