"""Trajectories in files."""

from collections.abc import Sequence
from os import PathLike, fspath
from typing import TypeAlias

from mdreel._core import Source
from mdreel.sources.remote import RemoteFile, is_remote

Location: TypeAlias = str | PathLike[str] | RemoteFile


def open_source(
    paths: Location | Sequence[Location],
    *,
    format: str | None = None,  # noqa: A002 (MDAnalysis's word)
    access: str = "auto",
    index: str = "cache",
    overlaps: str = "keep",
) -> Source:
    """Open a trajectory, whatever its file is called.

    Parameters
    ----------
    paths : path, URL or RemoteFile, or sequence of them
        One file, or several that are read one after another; they must have the same atoms. A URL (``https://``,
        ``s3://``...) needs the extra ``remote``; of such a file only the bytes that are needed are fetched.
    format : {"XTC", "DCD"}, optional
        The format; by default the content of each file decides.
    access : {"auto", "map", "read"}
        The way to the bytes: a memory map, positioned reads, or whichever pays.
    index : {"cache", "beside", "none"}
        Where an index of the frames of an XTC file is kept: in the user's cache directory, next to the file, nowhere.

    overlaps : {"keep", "drop"}
        What is done where the times of several files overlap: all frames are kept, or each file ends where the next
        one begins, as after a simulation that went on from a checkpoint.

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
        If a name is unknown.

    Notes
    -----
    Only the first header of each file is read. The frames of several files are numbered on; their times stay as each
    file has them. Of several files only some are open at a time: thousands of segments need no more than 64.
    """
    several = [paths] if isinstance(paths, (str, PathLike, RemoteFile)) else paths
    return Source.open([_located(path) for path in several], format, access, index, overlaps)


def _located(path: Location) -> str | RemoteFile:
    if isinstance(path, RemoteFile):
        return path
    return RemoteFile(path) if isinstance(path, str) and is_remote(path) else fspath(path)
