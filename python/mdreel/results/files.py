"""Tables of results as files."""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from mdreel.errors import UnsupportedError
from mdreel.foundation.atomic_files import check_target, replacing
from mdreel.results import csv, json, netcdf3, npz, parquet, xvg
from mdreel.results.column import Column

Metadata = Mapping[str, str | int | float | bool]
Writer = Callable[[Path, Sequence[Column], Metadata], None]

WRITERS: Mapping[str, Writer] = {
    ".csv": csv.write,
    ".xvg": xvg.write,
    ".npz": npz.write,
    ".parquet": parquet.write,
    ".json": json.write,
    ".nc": netcdf3.write,
}


def check_output(path: Path, force: bool = False) -> None:
    """Check, before the work begins, that a table can be written to `path` at its end.

    Parameters
    ----------
    path : Path
        Where the table shall be; its ending says the format.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    UnsupportedError
        If the ending is unknown, or its format needs a package that is not installed.
    OSError
        If the file exists (and `force` is false), or its directory does not or cannot be written to.
    """
    _writer(path)
    check_target(path, force)


def write(path: Path, columns: Sequence[Column], metadata: Metadata, force: bool = False) -> None:
    """Write a table; `path` is complete afterwards, or untouched.

    Parameters
    ----------
    path : Path
        Where; the ending says the format (``.csv .xvg .npz .parquet .json .nc``).
    columns : sequence of Column
        The columns, of one length.
    metadata : mapping
        What the table is and how it was made; ``title`` heads it. A CSV file has no place for it.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    UnsupportedError, OSError
        As `check_output`, or if the disk is full; nothing is left behind.
    ValueError
        If the columns differ in length.
    """
    writer = _writer(path)
    lengths = {column.name: len(column.values) for column in columns}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"the columns of a table must have one length, not {lengths}")
    with replacing(path, force) as temporary:
        writer(temporary, columns, metadata)


def _writer(path: Path) -> Writer:
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        found = f"ends in {path.suffix!r}" if path.suffix else "has no ending"
        raise UnsupportedError(f"{path}: the name {found}; known endings of tables: {', '.join(WRITERS)}")
    if writer is parquet.write and find_spec("pyarrow") is None:
        raise UnsupportedError(f"{path}: Parquet files need the package pyarrow: pip install 'mdreel[parquet]'")
    return writer
