"""Opening a single file based on its content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mdreel._core import OpenFiles, Source, is_hdf5
from mdreel.errors import FormatError
from mdreel.trajectory.h5md import open_h5md
from mdreel.trajectory.hdf5 import open_hdf5
from mdreel.trajectory.mdanalysis_source import open_foreign
from mdreel.trajectory.netcdf4 import is_amber, open_netcdf4
from mdreel.trajectory.remote import RemoteFile

# Formats that the core recognises and reads by itself, and formats for which h5py reads the structure of the file.
CORE_FORMATS = ("XTC", "TRR", "DCD", "NCDF")
HDF5_FORMATS = ("H5MD", "NETCDF-4")


def open_one(
    path: str | RemoteFile, options: dict[str, Any], open_files: OpenFiles, reopen: Callable[..., Source]
) -> Source:
    """Open one file.

    Parameters
    ----------
    path : str or RemoteFile
        The file.
    options : dict
        Options of `mdreel.trajectory.open.open`.
    open_files : OpenFiles
        Limit on the number of open files, including this file.
    reopen : callable
        Function that opens a pickled trajectory, given paths and options.

    Returns
    -------
    Source
        The file.

    Raises
    ------
    FormatError, UnsupportedError, OSError
        See `mdreel.trajectory.open.open`.
    """
    format_ = options["format"]
    if isinstance(path, RemoteFile) or (format_ is not None and format_.upper() in CORE_FORMATS):
        return Source.open([path], format_, options["access"], options["index"], among=open_files)
    if format_ is not None and format_.upper() not in HDF5_FORMATS:
        return open_foreign(path, format_, options["n_atoms"])
    if format_ is None:
        try:
            return Source.open([path], None, options["access"], options["index"], among=open_files)
        except FormatError:
            if not is_hdf5(path):
                raise
    elif not is_hdf5(path):
        raise FormatError(f"byte 0: expected an HDF5 file, because {format_} files are HDF5", path=path)
    recipe = (reopen, ([path], options))
    with open_hdf5(path) as file:
        if is_amber(file) if format_ is None else format_.upper() == "NETCDF-4":
            return open_netcdf4(file, path, access=options["access"], recipe=recipe, open_files=open_files)
        return open_h5md(
            file, path, group=options["group"], access=options["access"], recipe=recipe, open_files=open_files
        )
