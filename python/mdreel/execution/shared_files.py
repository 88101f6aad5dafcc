"""Files of a chain that several processes have opened together, each process some of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Source
from mdreel.execution.serving_processes import current_helpers, current_kept


@dataclass
class SharedFiles:
    """Files of a chain that a process keeps.

    Attributes
    ----------
    token : str
        Name of the chain, which is the same in all processes.
    process : int
        Number of this process.
    own : list of Source
        The files that this process has opened: a chain of them, or each file.
    pieces : list of list of Source
        The files of each process. Empty in a process that serves another.
    is_located : bool
        Whether the frames of all files have been located.
    is_whole : bool
        Whether it is known that all files end with a whole frame.
    """

    token: str
    process: int
    own: list[Source]
    pieces: list[list[Source]]
    is_located: bool = False
    is_whole: bool = False

    @property
    def all_pieces(self) -> list[Source]:
        """The files of all processes."""
        return list(chain.from_iterable(self.pieces))


def locate(source: Source) -> None:
    """Locate the frames of a chain in the processes that have opened it together.

    Nothing happens for another trajectory, or if a process fails: the caller then locates the frames by itself.

    Parameters
    ----------
    source : Source
        The trajectory.
    """
    shared = _shared(source)
    if shared is None or shared.is_located:
        return
    helpers = current_helpers()
    assert helpers is not None
    found = helpers.call(_locate_own, [(shared.token,)] * helpers.n_processes)
    if found is not None:
        shared.is_located = True
        take_places(shared.all_pieces, chain.from_iterable(found))


def take_places(files: Iterable[Source], places: Iterable[NDArray[np.uint8]]) -> None:
    """Pass what other processes know of the frames to their files, in order."""
    for file, known in zip(files, places, strict=True):
        file.take_places(known)


def check_end(source: Source) -> None:
    """Raise FormatError if a file ends within a frame; the processes that have opened a chain together share the work.

    Parameters
    ----------
    source : Source
        The trajectory.
    """
    shared = _shared(source)
    if shared is not None and not shared.is_whole:
        helpers = current_helpers()
        assert helpers is not None
        shared.is_whole = helpers.call(_check_own, [(shared.token,)] * helpers.n_processes) is not None
    if shared is None or not shared.is_whole:
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
    helpers.call(_keep_own, [(shared.token, [file.places() for file in files]) for files in shared.pieces])


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
    return shared if source.consists_of(shared.all_pieces) else None


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
    files = _files_of(token)
    take_places(files, places)
    for file in files:
        file.keep_index()


def with_own_files(pieces: list[list[Source]], token: str) -> list[Source]:
    """Return the files of a chain, with the files that this process has opened in place of those described to it.

    Parameters
    ----------
    pieces : list of list of Source
        The files of each process, as another process describes them.
    token : str
        Name of the chain.
    """
    shared = own_files(token)
    found = [shared.own if shared is not None and i == shared.process else files for i, files in enumerate(pieces)]
    return list(chain.from_iterable(found))
