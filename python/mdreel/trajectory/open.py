"""Opening of trajectory files."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any, TypeAlias

from mdreel._core import OpenFiles, Source, chain_sources, is_hdf5
from mdreel.errors import FormatError
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.urls import is_remote
from mdreel.trajectory.h5md import open_h5md
from mdreel.trajectory.hdf5 import open_hdf5
from mdreel.trajectory.mdanalysis_source import open_foreign
from mdreel.trajectory.netcdf4 import is_amber, open_netcdf4
from mdreel.trajectory.remote import RemoteFile

Location: TypeAlias = str | PathLike[str] | RemoteFile

Stored: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]] | Source
"""One file, several files, or an open source."""

# Formats that the core recognises and reads by itself, and formats for which h5py reads the structure of the file.
CORE_FORMATS = ("XTC", "TRR", "DCD", "NCDF")
HDF5_FORMATS = ("H5MD", "NETCDF-4")


@checked_arguments
def open(  # noqa: A001 (the word of gzip and mdtraj)
    paths: Location | Sequence[Location],
    *,
    format: str | None = None,  # noqa: A002 (MDAnalysis's word)
    access: str = "auto",
    index: str = "cache",
    overlaps: str = "keep",
    group: str | None = None,
    n_atoms: int | None = None,
) -> Source:
    """Open a trajectory; its format is detected from the content of the file.

    Parameters
    ----------
    paths : path, URL or RemoteFile, or sequence of them
        One file, or several files that are read one after another and have the same atoms. A URL (``https://``,
        ``s3://``...) needs the extra ``remote``; mdreel fetches only the bytes that it needs. HDF5 files, and files
        that MDAnalysis reads, must be in a file system.
    format : str, optional
        Format of the files; by default, mdreel detects XTC, TRR, DCD, NCDF (AMBER NetCDF), H5MD and NetCDF-4 by the
        content of each file. For any other format of MDAnalysis, its slower reader reads the file.
    access : {"auto", "map", "read"}
        Access to the bytes: a memory map, positioned reads, or the faster of the two.
    index : {"cache", "beside", "none"}
        Location of the frame index of an XTC or TRR file: the user's cache directory, beside the file, or nowhere.
    overlaps : {"keep", "drop"}
        Handling of overlapping times of several files: keep all frames, or end each file where the next file begins, as
        for a simulation that continued from a checkpoint.
    group : str, optional
        Particle group of an H5MD file; by default the only one.
    n_atoms : int, optional
        Number of atoms, for files without this number that MDAnalysis reads, such as TRZ.

    Returns
    -------
    Source
        The trajectory, which is immutable and thread-safe.

    Raises
    ------
    FileNotFoundError, PermissionError, IsADirectoryError
        If a file cannot be opened.
    FormatError
        If a file is damaged, or has an unknown format.
    MismatchError
        If the files have different numbers of atoms. With ``overlaps="drop"``, if times decrease within a file.
    UnsupportedError
        If the format is unknown. For an HDF5 file, if h5py is not installed, or the storage layout is not supported.

    Notes
    -----
    Only the first header of each file is read, once: worker processes open a file when they read its first frame.
    Frames are numbered across files; times are those in the files. At most 64 files are open at the same time.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD
    >>> source = mdreel.open(DCD)
    >>> source.n_frames, source.n_atoms
    (98, 3341)

    Read two files as one trajectory:

    >>> mdreel.open([DCD, DCD]).n_frames
    196
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
    recipe = (_open_again, (several, {**options, "overlaps": overlaps}))

    def workers(chain: Source) -> tuple[Any, Any]:
        return _chain_elsewhere, (names, [part.for_workers() for part in parts], overlaps, recipe, chain.describe())

    return chain_sources(names, parts, overlaps, recipe, workers)


def _located(path: Location) -> str | RemoteFile:
    if isinstance(path, RemoteFile):
        return path
    return RemoteFile(path) if isinstance(path, str) and is_remote(path) else fspath(path)


def _is_hdf5(path: str | RemoteFile) -> bool:
    return not isinstance(path, RemoteFile) and is_hdf5(path)


def _open_again(paths: list[str | RemoteFile], options: dict[str, Any]) -> Source:
    """Open a pickled trajectory."""
    return open(paths, **options)


def _chain_elsewhere(
    names: list[str], parts: list[Source], overlaps: str, recipe: tuple[Any, Any], facts: list[dict[str, Any]]
) -> Source:
    """Chain files that another process has opened; each is opened here when its first frame is read."""
    return chain_sources(names, parts, overlaps, recipe, facts=facts)


def _open_one(path: str | RemoteFile, options: dict[str, Any], open_files: OpenFiles) -> Source:
    format_ = options["format"]
    if isinstance(path, RemoteFile):
        return Source.open([path], format_, options["access"], options["index"])
    if format_ is not None and format_.upper() not in HDF5_FORMATS:
        return open_foreign(path, format_, options["n_atoms"])
    if not is_hdf5(path):
        if format_ is not None:
            raise FormatError(f"byte 0: expected an HDF5 file, because {format_} files are HDF5", path=path)
        return Source.open([path], None, options["access"], options["index"])
    recipe = (_open_again, ([path], options))
    with open_hdf5(path) as file:
        if is_amber(file) if format_ is None else format_.upper() == "NETCDF-4":
            return open_netcdf4(file, path, access=options["access"], recipe=recipe, open_files=open_files)
        return open_h5md(
            file, path, group=options["group"], access=options["access"], recipe=recipe, open_files=open_files
        )
