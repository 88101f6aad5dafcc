"""Files that MPI ranks read through MPI-IO, each on its own or collectively."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 1 << 30
"""Maximum number of bytes per call, because counts have only 31 bits before MPI-4."""

_NOTHING = -1
"""Number of a file that no rank has: this rank reads nothing more."""

_Range: TypeAlias = tuple[int, int]
"""First byte of a range, and the byte behind its last one."""


class IndependentFiles:
    """Files that this rank reads independently of all other ranks.

    Parameters
    ----------
    paths : sequence of path
        The files.
    """

    def __init__(self, paths: Sequence[str | PathLike[str]]) -> None:
        self._paths = _absolute(paths)
        self._opened: tuple[int, Any] | None = None
        self._memory = _Memory()

    def read(self, file: int, ranges: Sequence[_Range]) -> NDArray[np.uint8]:
        """Read ranges of bytes, with one call of ``MPI_File_read_at`` for each of them.

        Parameters
        ----------
        file : int
            Number of the file.
        ranges : sequence of (int, int)
            First byte and end of each range, in ascending order.

        Returns
        -------
        ndarray, shape (n_bytes,), uint8
            The bytes of all ranges, one range behind the other. They are fewer if the file ends before, and they are
            valid until the next call.

        Raises
        ------
        OSError
            If MPI-IO cannot open or read the file.
        """
        from mpi4py import MPI

        target, at, status = self._memory.of(ranges), 0, MPI.Status()
        try:
            opened = self._open(file)
            for start, end in _pieces(ranges):
                opened.Read_at(start, [target[at : at + end - start], MPI.BYTE], status)
                n_read = status.Get_count(MPI.BYTE)
                at += n_read
                if n_read < end - start:
                    break
        except MPI.Exception as error:
            raise _as_os_error(error) from error
        return target[:at]

    def join(self) -> None:
        """Do nothing, because no rank waits for another one."""

    def close(self) -> None:
        """Close the file that is open."""
        if self._opened is not None:
            self._opened[1].Close()
            self._opened = None

    def _open(self, file: int) -> Any:
        """Open a file, and close the one that was open before: blocks follow each other in the files."""
        from mpi4py import MPI

        if self._opened is None or self._opened[0] != file:
            self.close()
            self._opened = (file, MPI.File.Open(MPI.COMM_SELF, self._paths[file], MPI.MODE_RDONLY))
        return self._opened[1]


class CollectiveFiles:
    """Files that all ranks read together, in rounds.

    Before each round, every rank tells the others which file it reads next, and how many ranges of it. All ranks then
    make the same calls of ``MPI_File_read_at_all``: for each file that a rank needs, as many as the rank with the most
    ranges. A rank that needs less, or nothing any more, takes part with zero bytes.

    Parameters
    ----------
    paths : sequence of path
        The files.
    communicator : mpi4py.MPI.Comm
        The ranks, which create this object collectively.
    """

    def __init__(self, paths: Sequence[str | PathLike[str]], communicator: Any) -> None:
        self._paths = _absolute(paths)
        self._communicator = communicator.Dup()
        self._opened: dict[int, Any] = {}
        self._memory = _Memory()
        self._has_ended = False

    def read(self, file: int, ranges: Sequence[_Range]) -> NDArray[np.uint8]:
        """Read ranges of bytes in one round; see `IndependentFiles.read`."""
        target = self._memory.of(ranges)
        return target[: self._round(file, list(_pieces(ranges)), target)]

    def join(self) -> None:
        """Take part in the rounds of the other ranks without reading anything, until no rank reads any more."""
        while not self._has_ended:
            self._round(_NOTHING, [], np.empty(0, np.uint8))

    def close(self) -> None:
        """Close all files collectively."""
        self._close_all_but(set())
        self._communicator.Free()

    def _round(self, file: int, pieces: Sequence[_Range], target: NDArray[np.uint8]) -> int:
        """Read pieces of a file while the other ranks read theirs. Return the number of bytes that were read."""
        needs = np.empty((self._communicator.size, 2), np.int64)
        self._communicator.Allgather(np.array([file, len(pieces)], np.int64), needs)
        files = sorted(set(needs[:, 0].tolist()) - {_NOTHING})
        self._has_ended = not files
        self._close_all_but(set(files))
        n_read, failure = 0, None
        for each in files:
            n_calls = int(needs[needs[:, 0] == each, 1].max())
            own = pieces if each == file else []
            found = self._read_together(each, n_calls, own, target)
            if each == file:
                n_read, failure = found
        if failure is not None:
            raise _as_os_error(failure) from failure
        return n_read

    def _read_together(
        self, file: int, n_calls: int, pieces: Sequence[_Range], target: NDArray[np.uint8]
    ) -> tuple[int, Exception | None]:
        """Call MPI-IO as often as all other ranks, also after an error. Return the number of bytes and the error."""
        from mpi4py import MPI

        failure = self._open(file)
        if failure is not None:
            return 0, failure
        at, is_short, status = 0, False, MPI.Status()
        for i in range(n_calls):
            start, end = pieces[i] if i < len(pieces) and not is_short else (0, 0)
            try:
                self._opened[file].Read_at_all(start, [target[at : at + end - start], MPI.BYTE], status)
                n_read = status.Get_count(MPI.BYTE)
            except MPI.Exception as error:
                failure, n_read = failure or error, 0
            at += n_read if end > start else 0
            is_short = is_short or n_read < end - start
        return at, failure

    def _open(self, file: int) -> Exception | None:
        """Open a file collectively, if it is not open. Return an error on all ranks if one of them cannot open it."""
        from mpi4py import MPI

        if file in self._opened:
            return None
        path = self._paths[file]
        # Open MPI 5 waits forever in MPI_File_open if only some ranks can open the file.
        if (failure := self._first_failure(lambda: Path(path).open("rb").close(), OSError)) is not None:
            return failure

        def open_together() -> None:
            self._opened[file] = MPI.File.Open(self._communicator, path, MPI.MODE_RDONLY)

        if (failure := self._first_failure(open_together, MPI.Exception)) is not None:
            # A file that only some ranks have opened cannot be closed, because that needs all ranks.
            self._opened.pop(file, None)
        return failure

    def _first_failure(self, step: Callable[[], object], expected: type[Exception]) -> Exception | None:
        """Take a step on all ranks. Return the error of this rank, or else that of the first rank with an error."""
        failure = None
        try:
            step()
        except expected as error:
            failure = error
        messages = self._communicator.allgather(None if failure is None else str(failure))
        others = [f"rank {rank}: {message}" for rank, message in enumerate(messages) if message is not None]
        return failure or (OSError(others[0]) if others else None)

    def _close_all_but(self, files: set[int]) -> None:
        """Close files that no rank needs. All ranks close the same files in the same order."""
        for file in sorted(set(self._opened) - files):
            self._opened.pop(file).Close()


class _Memory:
    """Memory for the bytes of a call, which all calls share."""

    def __init__(self) -> None:
        self._bytes = np.empty(0, np.uint8)

    def of(self, ranges: Sequence[_Range]) -> NDArray[np.uint8]:
        """Return memory for the bytes of ranges, shape (n_bytes,)."""
        n_bytes = sum(end - start for start, end in ranges)
        if len(self._bytes) < n_bytes:
            self._bytes = np.empty(n_bytes, np.uint8)
        return self._bytes[:n_bytes]


def _pieces(ranges: Sequence[_Range]) -> Iterator[_Range]:
    """Yield ranges that one call can read."""
    for start, end in ranges:
        for at in range(start, end, AT_ONCE):
            yield at, min(at + AT_ONCE, end)


def _absolute(paths: Sequence[str | PathLike[str]]) -> list[str]:
    """Return absolute paths, in which MPI-IO finds no prefix with the name of a file system."""
    return [str(Path(path).absolute()) for path in paths]


def _as_os_error(error: Exception) -> OSError:
    message = " ".join(str(error).split())
    return OSError(f"MPI-IO failed: {message}; read the file in another way, such as access='shared'")
