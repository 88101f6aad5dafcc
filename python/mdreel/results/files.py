"""Output of result tables to files, in formats selected by the file extension."""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from mdreel.errors import UnsupportedError
from mdreel.foundation.atomic_files import check_target, replacing
from mdreel.results import csv, json, netcdf3, npz, parquet, xlsx, xvg
from mdreel.results.column import Column, check_table

Metadata = Mapping[str, str | int | float | bool]
Writer = Callable[[Path, Sequence[Column], Metadata], None]

WRITERS: Mapping[str, Writer] = {
    ".csv": csv.write,
    ".xvg": xvg.write,
    ".npz": npz.write,
    ".parquet": parquet.write,
    ".json": json.write,
    ".nc": netcdf3.write,
    ".xlsx": xlsx.write,
}

PACKAGES: Mapping[str, tuple[str, str]] = {
    ".parquet": ("pyarrow", "Parquet files"),
    ".xlsx": ("openpyxl", "Excel files"),
}
"""Optional package that each file extension requires, and name of the format."""


def check_output(path: Path, force: bool = False) -> None:
    """Check that a table can be written to `path`, before starting a computation.

    Parameters
    ----------
    path : Path
        Path of the table. The file extension selects the format.
    force : bool
        Whether to replace an existing file.

    Raises
    ------
    UnsupportedError
        If the file extension is unknown, or if its format requires a package that is not installed.
    OSError
        If the file exists and `force` is false, or if its directory does not exist or is not writable.

    Examples
    --------
    >>> from pathlib import Path
    >>> from mdreel.results import check_output
    >>> check_output(Path("rmsd.csv"))
    """
    _writer(path)
    check_target(path, force)


def write(path: Path, columns: Sequence[Column], metadata: Metadata, force: bool = False) -> None:
    """Write a table atomically, so that `path` does not change on failure.

    Parameters
    ----------
    path : Path
        Path of the table. The file extension selects the format (``.csv .xvg .npz .parquet .json .nc .xlsx``).
    columns : sequence of Column
        The columns, all of the same length.
    metadata : mapping
        Description and provenance of the table. ``title`` is its title. CSV files do not contain the metadata.
    force : bool
        Whether to replace an existing file.

    Raises
    ------
    UnsupportedError, OSError
        See `check_output`. Also raised if the disk is full. No partial file remains.
    ValueError
        If the columns differ in length, or if two columns have the same name.

    Examples
    --------
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from mdreel.results import Column, write
    >>> columns = [Column("time", "ps", np.array([0.0, 1.0])), Column("rmsd", "Å", np.array([0.0, 1.2]))]
    >>> write(Path("rmsd.csv"), columns, {"title": "RMSD"})
    >>> print(Path("rmsd.csv").read_text(), end="")
    time_ps,rmsd_angstrom
    0.0,0.0
    1.0,1.2
    """
    writer = _writer(path)
    check_table(columns)
    with replacing(path, force) as temporary:
        writer(temporary, columns, metadata)


def _writer(path: Path) -> Writer:
    ending = path.suffix.lower()
    writer = WRITERS.get(ending)
    if writer is None:
        found = f"ends in {path.suffix!r}" if path.suffix else "has no ending"
        raise UnsupportedError(f"the name {found}; known endings of tables: {', '.join(WRITERS)}", path=path)
    package, kind = PACKAGES.get(ending, (None, ""))
    if package is not None and find_spec(package) is None:
        raise UnsupportedError(f"{kind} need the package {package}: pip install 'mdreel[{ending[1:]}]'", path=path)
    return writer
