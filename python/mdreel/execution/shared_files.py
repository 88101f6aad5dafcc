"""Files of a chain that several processes have opened together, each process some of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Source
from mdreel.execution.helpers import current_helpers, current_kept


@dataclass(frozen=True)
class SharedFiles:
    """What a process keeps of a chain.

    Attributes
    ----------
    token : str
        Name of the chain, which is the same in all processes.
    first : int
        Number of the first file that this process has opened.
    own : list of Source
        The files that this process has opened.
    parts : list of Source
        All files of the chain. Empty in a process that serves another.
    edges : list of int
        Numbers of the first files of the processes, and the number of all files.
    """

    token: str
    first: int
    own: list[Source]
    parts: list[Source]
    edges: list[int]


def locate(source: Source) -> None:
    """Locate the frames of a chain in the processes that have opened it together.

    Nothing happens for another trajectory, or if a process fails: the caller then locates the frames by itself.

    Parameters
    ----------
    source : Source
        The trajectory.
    """
    if (shared := _shared(source)) is None or source.is_located:
        return
    helpers = current_helpers()
    assert helpers is not None
    found = helpers.call(_locate_own, [(shared.token,)] * helpers.n_processes)
    if found is not None:
        for part, places in zip(shared.parts, chain.from_iterable(found), strict=True):
            part.take_places(places)


def check_end(source: Source) -> None:
    """Raise FormatError if a file ends within a frame; the processes that have opened a chain together share the work.

    Parameters
    ----------
    source : Source
        The trajectory.
    """
    if (shared := _shared(source)) is not None:
        helpers = current_helpers()
        assert helpers is not None
        if helpers.call(_check_own, [(shared.token,)] * helpers.n_processes) is not None:
            return
    source.check_end()


def keep_index(source: Source) -> None:
    """Keep the frame index that a pass has made, in the processes that have opened a chain together.

    Parameters
    ----------
    source : Source
        The trajectory.
    """
    if (shared := _shared(source)) is None:
        return
    helpers = current_helpers()
    assert helpers is not None
    shares = [shared.parts[a:b] for a, b in pairwise(shared.edges)]
    helpers.call(_keep_own, [(shared.token, [part.places() for part in share]) for share in shares])


def own_files(token: str) -> SharedFiles | None:
    """Return what this process keeps of a chain, or None if it has not opened files of it."""
    kept = current_kept()
    shared = None if kept is None else kept.item
    return shared if isinstance(shared, SharedFiles) and shared.token == token else None


def _shared(source: Source) -> SharedFiles | None:
    """Return the files of a source, if several processes have opened it together and serve this one."""
    kept = current_kept()
    shared = None if kept is None or current_helpers() is None else kept.item
    if not isinstance(shared, SharedFiles) or source.on_error != "raise":
        return None
    return shared if source.n_segments == len(shared.parts) and source.consists_of(shared.parts) else None


def _files_of(token: str) -> list[Source]:
    shared = own_files(token)
    if shared is None:
        raise LookupError("another trajectory was opened in the meantime")
    return shared.own


def _locate_own(token: str) -> list[NDArray[np.uint8]]:
    """Locate the frames of the files of this process; return their places."""
    files = _files_of(token)
    for file in files:
        _ = file.n_frames
    return [file.places() for file in files]


def _check_own(token: str) -> None:
    """Check that the files of this process end with a whole frame."""
    for file in _files_of(token):
        file.check_end()


def _keep_own(token: str, places: list[NDArray[np.uint8]]) -> None:
    """Keep the frame index of the files of this process."""
    for file, known in zip(_files_of(token), places, strict=True):
        if not file.is_located:
            file.take_places(known)
            file.keep_index()


def with_own_files(parts: list[Any], token: str) -> list[Any]:
    """Return the files of a chain, with the files that this process has opened in place of those described to it.

    Parameters
    ----------
    parts : list of Source
        All files, as another process describes them.
    token : str
        Name of the chain.
    """
    shared = own_files(token)
    if shared is None:
        return parts
    end = shared.first + len(shared.own)
    return [*parts[: shared.first], *shared.own, *parts[end:]]
