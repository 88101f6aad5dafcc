"""Opening of trajectory files."""

from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any, TypeAlias

from mdreel._core import OpenFiles, Source, chain_sources, is_hdf5
from mdreel.errors import FormatError
from mdreel.foundation.urls import is_remote
from mdreel.trajectory.h5md import open_h5md
from mdreel.trajectory.hdf5 import open_hdf5
from mdreel.trajectory.mdanalysis_source import open_foreign
from mdreel.trajectory.netcdf4 import is_amber, open_netcdf4
from mdreel.trajectory.remote import RemoteFile

Location: TypeAlias = str | PathLike[str] | RemoteFile

Stored: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]] | Source
"""One file, several files, or an open source."""

# What the core recognises and reads by itself, and what it reads when HDF5's structure was read for it.
CORE_FORMATS = ("XTC", "TRR", "DCD", "NCDF")
HDF5_FORMATS = ("H5MD", "NETCDF-4")


def read(
    paths: Location | Sequence[Location],
    *,
    format: str | None = None,  # noqa: A002 (MDAnalysis's word)
    access: str = "auto",
    index: str = "cache",
    overlaps: str = "keep",
    group: str | None = None,
    n_atoms: int | None = None,
) -> Source:
    """Open a trajectory, whatever its file is called.

    Parameters
    ----------
    paths : path, URL or RemoteFile, or sequence of them
        One file, or several that are read one after another; they must have the same atoms. A URL (``https://``,
        ``s3://``...) needs the extra ``remote``; of such a file only the bytes that are needed are fetched. Files of
        HDF5, and those that MDAnalysis reads, must be in a file system.
    format : str, optional
        The format; by default the content of each file decides among XTC, TRR, DCD, NCDF (AMBER NetCDF), H5MD and
        NetCDF-4. Any other name is one of MDAnalysis's, whose reader then reads the file, slower.
    access : {"auto", "map", "read"}
        The way to the bytes: a memory map, positioned reads, or whichever pays.
    index : {"cache", "beside", "none"}
        Where an index of the frames of an XTC or TRR file is kept: in the user's cache directory, next to the file,
        nowhere.
    overlaps : {"keep", "drop"}
        What is done where the times of several files overlap: all frames are kept, or each file ends where the next
        one begins, as after a simulation that went on from a checkpoint.
    group : str, optional
        The group of particles of an H5MD file; may be left out where there is one.
    n_atoms : int, optional
        The number of atoms, for files read by MDAnalysis that do not say it, such as TRZ.

    Returns
    -------
    Source
        The trajectory. It is immutable, and safe to use from several threads.

    Raises
    ------
    FileNotFoundError, PermissionError, IsADirectoryError
        If a file cannot be opened.
    FormatError
        If a file is not what its format says, or of no known format.
    MismatchError
        If files have different numbers of atoms; of files of which overlaps are dropped, if time goes back within one.
    UnsupportedError
        If a name is unknown; if a file is of HDF5, and h5py is not installed or the core cannot read how it is stored.

    Notes
    -----
    Only the first header of each file is read. The frames of several files are numbered on; their times stay as each
    file has them. Of several files only some are open at a time: thousands of segments need no more than 64.
    """
    several = [_located(path) for path in ([paths] if isinstance(paths, (str, PathLike, RemoteFile)) else paths)]
    known = None if format is None else format.upper()
    if known is None or known in CORE_FORMATS:
        try:
            return Source.open(several, format, access, index, overlaps)
        except FormatError:
            if known is not None or not any(_is_hdf5(path) for path in several):
                raise
    options = {"format": format, "access": access, "index": index, "group": group, "n_atoms": n_atoms}
    open_files = OpenFiles()
    parts = [_open_one(path, options, open_files) for path in several]
    if len(parts) == 1:
        return parts[0]
    names = [path.url if isinstance(path, RemoteFile) else path for path in several]
    return chain_sources(names, parts, overlaps, (_open_again, (several, {**options, "overlaps": overlaps})))


def _located(path: Location) -> str | RemoteFile:
    if isinstance(path, RemoteFile):
        return path
    return RemoteFile(path) if isinstance(path, str) and is_remote(path) else fspath(path)


def _is_hdf5(path: str | RemoteFile) -> bool:
    return not isinstance(path, RemoteFile) and is_hdf5(path)


def _open_again(paths: list[str | RemoteFile], options: dict[str, Any]) -> Source:
    """Open what was pickled."""
    return read(paths, **options)


def _open_one(path: str | RemoteFile, options: dict[str, Any], open_files: OpenFiles) -> Source:
    format_ = options["format"]
    if isinstance(path, RemoteFile):
        return Source.open([path], format_, options["access"], options["index"])
    if format_ is not None and format_.upper() not in HDF5_FORMATS:
        return open_foreign(path, format_, options["n_atoms"])
    if not is_hdf5(path):
        if format_ is not None:
            raise FormatError(f"{path}: byte 0: expected a file of HDF5, as {format_} is")
        return Source.open([path], None, options["access"], options["index"])
    recipe = (_open_again, ([path], options))
    with open_hdf5(path) as file:
        if is_amber(file) if format_ is None else format_.upper() == "NETCDF-4":
            return open_netcdf4(file, path, access=options["access"], recipe=recipe, open_files=open_files)
        return open_h5md(
            file, path, group=options["group"], access=options["access"], recipe=recipe, open_files=open_files
        )
