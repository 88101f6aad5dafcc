"""Opening a chain of files in several processes, each of which opens some files and describes them to the first."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from mdreel._core import OpenFiles, Source
from mdreel.errors import FormatError
from mdreel.execution.serving_processes import current_helpers, current_kept
from mdreel.execution.shared_files import SharedFiles, take_places
from mdreel.trajectory.open_one import CORE_FORMATS, HDF5_FORMATS, open_one
from mdreel.trajectory.remote import RemoteFile

_Seen: TypeAlias = tuple[int, ...]
"""Size of a file, followed by values that distinguish it from other files on the same host."""


@dataclass(frozen=True)
class Opened:
    """The files of a chain that several processes have opened together.

    Attributes
    ----------
    token : str
        Name of the chain in all processes.
    pieces : list of list of Source
        The files of each process. This process opens files of other processes when it reads their first frame.
    facts : list of dict
        Facts about each file, as returned by `Source.describe`.
    """

    token: str
    pieces: list[list[Source]]
    facts: list[dict[str, Any]]


@dataclass(frozen=True)
class _Described:
    """Files that a process has opened, described for the process that it serves."""

    files: list[Source]
    places: list[NDArray[np.uint8]]
    facts: list[dict[str, Any]]
    is_located: bool
    is_whole: bool
    host: str
    seen: list[_Seen]


def open_together(
    paths: Sequence[str | RemoteFile], options: dict[str, Any], reopen: Callable[..., Source]
) -> Opened | None:
    """Open the files of a chain in all processes that serve this one.

    Parameters
    ----------
    paths : sequence of str or RemoteFile
        The files.
    options : dict
        Options of `mdreel.trajectory.open.open`.
    reopen : callable
        Function that opens a pickled trajectory, given paths and options.

    Returns
    -------
    Opened or None
        The files, or None if this process has to open all files by itself. This is the case if no processes serve it,
        if there are fewer files than processes, if a file is remote, or if the format is read with MDAnalysis. It is
        also the case if a process cannot open a file or finds a different file at its path. The error is then the same
        as with a single process.
    """
    helpers, kept = current_helpers(), current_kept()
    if helpers is None or kept is None or not 1 < helpers.n_processes <= len(paths):
        return None
    local = [path for path in paths if isinstance(path, str)]
    format_ = options["format"]
    is_ours = format_ is None or format_.upper() in (*CORE_FORMATS, *HDF5_FORMATS)
    if len(local) < len(paths) or not is_ours:
        return None
    n = helpers.n_processes
    edges = [i * len(paths) // n for i in range(n + 1)]
    token = uuid4().hex
    at_work = Path.cwd()
    shares = [(token, i, local[a:b], at_work, options, reopen) for i, (a, b) in enumerate(pairwise(edges))]
    described: list[_Described] | None = helpers.call(_describe, shares)
    if described is None or not _are_seen_here(local, described[1:], edges[1]):
        kept.item = None
        return None
    pieces: list[list[Source]] = [kept.item.own, *(one.files for one in described[1:])]
    take_places(chain.from_iterable(pieces), (places for one in described for places in one.places))
    is_located, is_whole = all(one.is_located for one in described), all(one.is_whole for one in described)
    kept.item = SharedFiles(token, 0, kept.item.own, pieces, is_located, is_whole)
    return Opened(token, pieces, [facts for one in described for facts in one.facts])


def _describe(
    token: str,
    process: int,
    paths: list[str],
    folder: Path,
    options: dict[str, Any],
    reopen: Callable[..., Source],
) -> _Described:
    """Open files in this process, keep them open, and describe them to the process that it serves."""
    kept = current_kept()
    assert kept is not None
    kept.item = None  # closes the files of an earlier chain
    if Path.cwd() != folder and not all(Path(path).is_absolute() for path in paths):
        raise NotADirectoryError(f"{Path.cwd()} is not {folder}, and a path is relative")
    own = _open(paths, options, reopen)
    kept.item = SharedFiles(token, process, own, [])
    # Formats with a table of frames, and files with a frame index.
    is_located = all(file.is_located for file in own)
    is_whole = is_located and _are_whole(own)
    return _Described(
        [file.for_workers() for file in own],
        [file.places() for file in own],
        [facts for file in own for facts in file.describe()],
        is_located,
        is_whole,
        socket.gethostname(),
        [_seen(path) for path in paths],
    )


def _open(paths: list[str], options: dict[str, Any], reopen: Callable[..., Source]) -> list[Source]:
    """Open files as one chain if the core recognises all of them, and otherwise open each file separately."""
    open_files = OpenFiles(len(paths))
    format_ = options["format"]
    if format_ is None or format_.upper() in CORE_FORMATS:
        try:
            return [Source.open(paths, format_, options["access"], options["index"], among=open_files)]
        except FormatError:
            if format_ is not None:
                raise
    return [open_one(path, options, open_files, reopen) for path in paths]


def _are_whole(files: Sequence[Source]) -> bool:
    """Return whether located files end with a complete frame."""
    try:
        for file in files:
            file.check_end()
    except FormatError:
        return False
    return True


def _are_seen_here(paths: list[str], described: Sequence[_Described], first: int) -> bool:
    """Return whether this process can access the files that other processes have opened, starting with `first`.

    The files are not opened for this check. Their sizes are sufficient to detect a folder that is not shared between
    hosts.
    """
    at = first
    for one in described:
        n_compared = 1 if one.host != socket.gethostname() else None
        for path, seen in zip(paths[at : at + len(one.seen)], one.seen, strict=True):
            try:
                here = _seen(path)
            except OSError:
                return False
            if here[:n_compared] != seen[:n_compared]:
                return False
        at += len(one.seen)
    return True


def _seen(path: str) -> _Seen:
    facts = os.stat(path)  # noqa: PTH116 (ten times as fast, for thousands of files)
    return facts.st_size, facts.st_dev, facts.st_ino, facts.st_mtime_ns
