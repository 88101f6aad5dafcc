"""Opening trajectory files."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any, TypeAlias

from mdreel._core import OpenFiles, Source, chain_sources, is_hdf5
from mdreel.errors import FormatError
from mdreel.execution.shared_files import with_own_files
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.urls import is_remote
from mdreel.trajectory.kept_chain import keep_when_whole, open_kept
from mdreel.trajectory.open_one import CORE_FORMATS, open_one
from mdreel.trajectory.open_together import Opened, open_together
from mdreel.trajectory.remote import RemoteFile

Location: TypeAlias = str | PathLike[str] | RemoteFile

Stored: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]] | Source
"""One file, several files, or an open source."""


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
    """Open a trajectory, whose format is detected from the content of the file.

    Parameters
    ----------
    paths : path, URL or RemoteFile, or sequence of them
        One file, or several files that contain the same atoms and are read one after another. You can also pass URLs
        (``https://``, ``s3://``...), which require the extra ``remote``, and from which only the necessary bytes are
        fetched. HDF5 files, and files that are read with MDAnalysis, must be in a file system.
    format : str, optional
        Format of the files. By default, XTC, TRR, DCD, NCDF (AMBER NetCDF), H5MD and NetCDF-4 are detected from the
        content of each file. Any other format is read with MDAnalysis, which is slower.
    access : {"auto", "map", "read"}
        How to access the bytes. You can use a memory map (``"map"``), positioned reads (``"read"``), or the faster of
        the two (``"auto"``).
    index : {"cache", "beside", "none"}
        Where to store the frame index of an XTC or TRR file: in the user's cache directory, beside the file, or
        nowhere.
    overlaps : {"keep", "drop"}
        How to treat overlapping times of several files. You can keep all frames, or end each file where the next file
        begins. The latter is useful if you have continued a simulation from a checkpoint.
    group : str, optional
        Particle group of an H5MD file. You only need to specify it if the file has several groups.
    n_atoms : int, optional
        Number of atoms, for formats that are read with MDAnalysis and do not store this number, such as TRZ.

    Returns
    -------
    Source
        The trajectory, which is immutable and thread-safe.

    Raises
    ------
    FileNotFoundError, PermissionError, IsADirectoryError
        When a file cannot be opened.
    FormatError
        When a file is damaged or has an unknown format.
    MismatchError
        When your files have different numbers of atoms, or times decrease within a file and you use
        ``overlaps="drop"``.
    UnsupportedError
        When the format is unknown. For HDF5 files, when h5py is not installed, or the storage layout is not supported.

    Notes
    -----
    When a trajectory is opened, only the first header of each file is read, and only once. Worker processes open a file
    when they read its first frame. If you use MPI, the ranks share the task of reading these headers. A description of
    all files is then stored beside their frame indexes, so that the headers do not have to be read again in later runs
    with MPI.

    Frames are numbered across all files, and their times are read from the files. At most 64 files are open at the same
    time.

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
    given = [paths] if isinstance(paths, (str, PathLike, RemoteFile)) else paths
    # Thousands of plain paths are recognized here, without a call for each.
    several = [path if type(path) is str and "://" not in path else _located(path) for path in given]
    known = None if format is None else format.upper()
    options = {"format": format, "access": access, "index": index, "group": group, "n_atoms": n_atoms}
    if (kept := open_kept(several, options, overlaps)) is not None:
        return kept
    names = [path.url if isinstance(path, RemoteFile) else path for path in several]
    recipe = (_open_again, (several, {**options, "overlaps": overlaps}))
    shared = open_together(several, options, _open_again)
    if shared is not None:
        chain = _chain(names, shared.pieces, overlaps, recipe, shared)
        keep_when_whole(chain, several, options, overlaps, shared.facts)
        return chain
    if known is None or known in CORE_FORMATS:
        try:
            return Source.open(several, format, access, index, overlaps)
        except FormatError:
            if known is not None or not any(_is_hdf5(path) for path in several):
                raise
    open_files = OpenFiles()
    parts = [open_one(path, options, open_files, _open_again) for path in several]
    return parts[0] if len(parts) == 1 else _chain(names, [parts], overlaps, recipe)


def _chain(
    names: list[str],
    pieces: list[list[Source]],
    overlaps: str,
    recipe: tuple[Any, Any],
    shared: Opened | None = None,
) -> Source:
    """Chain open files, which are given as one list for each process that has opened some of them."""

    def workers(chain: Source) -> tuple[Any, Any]:
        described = [[file.for_workers() for file in files] for files in pieces]
        token = "" if shared is None else shared.token
        return _chain_elsewhere, (names, described, overlaps, recipe, chain.describe(), token)

    files = [file for piece in pieces for file in piece]
    return chain_sources(names, files, overlaps, recipe, workers, None if shared is None else shared.facts)


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
    names: list[str],
    pieces: list[list[Source]],
    overlaps: str,
    recipe: tuple[Any, Any],
    facts: list[dict[str, Any]],
    token: str,
) -> Source:
    """Chain files that another process has opened. This process opens each file when its first frame is read."""
    return chain_sources(names, with_own_files(pieces, token), overlaps, recipe, facts=facts)
