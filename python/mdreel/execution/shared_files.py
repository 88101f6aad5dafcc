"""Files of a chain that several processes have opened together. Each process opens a part of the files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Source
from mdreel.execution.serving_processes import current_helpers, current_kept


@dataclass
class SharedFiles:
    """Files of a chain that are kept by a process.

    Attributes
    ----------
    token : str
        Name of the chain, which is the same in all processes.
    process : int
        Number of this process.
    own : list of Source
        The files that this process has opened, either as one chain or as one source per file.
    pieces : list of list of Source
        The files of each process. The list is empty in a process that serves another process.
    is_located : bool
        Whether the frames of all files have been located.
    is_whole : bool
        Whether it is known that all files end with a complete frame.
    keep : callable, optional
        Function that keeps a description of the chain for later runs. It is called when all files are known to end with
        a complete frame.
    """

    token: str
    process: int
    own: list[Source]
    pieces: list[list[Source]]
    is_located: bool = False
    is_whole: bool = False
    keep: Callable[[], object] | None = None

    @property
    def all_pieces(self) -> list[Source]:
        """The files of all processes."""
        return list(chain.from_iterable(self.pieces))


def locate(source: Source) -> None:
    """Locate the frames of a chain in the processes that have opened it together.

    The function does nothing for any other trajectory, or if a process fails. In both cases, the caller then locates
    the frames itself.

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
    """Pass the frame positions that other processes have found to the corresponding files."""
    for file, known in zip(files, places, strict=True):
        file.take_places(known)


def check_end(source: Source) -> None:
    """Raise FormatError if a file ends within a frame. Processes that have opened a chain together share the work.

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
        if shared.is_whole and shared.keep is not None:
            shared.keep()
    if shared is None or not shared.is_whole:
        source.check_end()


def keep_index(source: Source) -> None:
    """Save the frame index that was created by a pass, in the processes that have opened a chain together.

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
    """Return the files of a chain that this process has opened, or None if it has not opened any of them."""
    kept = current_kept()
    shared = None if kept is None else kept.item
    return shared if isinstance(shared, SharedFiles) and shared.token == token else None


def _shared(source: Source) -> SharedFiles | None:
    """Return the files of a source if several processes have opened them together, and serve this process."""
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
    """Locate the frames in this process's files, and return their positions."""
    files = _files_of(token)
    for file in files:
        _ = file.n_frames
    return [file.places() for file in files]


def _check_own(token: str) -> None:
    """Check that this process's files end with a complete frame."""
    for file in _files_of(token):
        file.check_end()


def _keep_own(token: str, places: list[NDArray[np.uint8]]) -> None:
    """Save the frame index of this process's files."""
    files = _files_of(token)
    take_places(files, places)
    for file in files:
        file.keep_index()


def with_own_files(pieces: list[list[Source]], token: str) -> list[Source]:
    """Return the files of a chain, using the open files of this process instead of their descriptions.

    Parameters
    ----------
    pieces : list of list of Source
        The files of each process, as described by another process.
    token : str
        Name of the chain.
    """
    shared = own_files(token)
    found = [shared.own if shared is not None and i == shared.process else files for i, files in enumerate(pieces)]
    return list(chain.from_iterable(found))
