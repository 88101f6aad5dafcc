"""Reading side of managed directories."""

import os
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import IO, Any

from mdreel._core import DirectoryArrivals, DirectoryReader
from mdreel.errors import MismatchError
from mdreel.live.channels.directory import when_there


class ManagedDirectory:
    """A directory whose files are seen under their names when they are whole: the side of those who read.

    Parameters
    ----------
    path : str or path
        The directory.
    wait : float
        For how long the directory may not be there, s. It may be there before its producer comes.

    Attributes
    ----------
    path : Path
        The directory, as an absolute path.

    Raises
    ------
    FileNotFoundError
        If it is not there.
    PermissionError
        If it belongs to somebody else, or others may enter.

    Notes
    -----
    Who waits is told by the system when a file comes, and looks besides, every 50 ms at least, for what other machines
    publish. Ctrl-C ends waiting.

    Examples
    --------
    >>> import mdreel
    >>> frames = mdreel.live.ManagedDirectory("frames", wait=60)  # doctest: +SKIP
    >>> path = frames.wait("frame-1.pdb", timeout=60)  # doctest: +SKIP
    >>> for path in frames:  # doctest: +SKIP
    ...     print(path)
    """

    def __init__(self, path: str | PathLike[str], *, wait: float = 0.0) -> None:
        self._core: DirectoryReader = when_there(lambda: DirectoryReader(path), wait)
        self.path: Path = self._core.path

    def wait(self, name: str, timeout: float | None = None) -> Path:
        """Wait until a file is there.

        Parameters
        ----------
        name : str
            Its name in the directory.
        timeout : float, optional
            For how long, s; by default as long as a producer may come or lives.

        Returns
        -------
        Path
            Its path: the file is whole.

        Raises
        ------
        StreamError
            If it will not come: its producer has ended, or was lost.
        StreamTimeoutError
            If it did not come in time.
        MismatchError
            If no published file may have this name.
        """
        os.close(self._core.open(name, timeout))
        return self.path / name

    def open(self, name: str, mode: str = "r", timeout: float | None = None, **how: Any) -> IO[Any]:
        """Wait for a file as `wait` does, and open it: it can be read even when it is replaced or removed meanwhile.

        Parameters
        ----------
        name : str
            Its name in the directory.
        mode : {"r", "rb"}
            For text or for bytes.
        timeout : float, optional
            As of `wait`.
        **how
            What Python's ``open`` takes besides, as ``encoding``.

        Returns
        -------
        file object
            The file.

        Raises
        ------
        MismatchError
            If the mode is another one.
        """
        if mode not in ("r", "rt", "rb"):
            raise MismatchError(f"{self.path / name}: expected the mode 'r' or 'rb', got {mode!r}")
        return os.fdopen(self._core.open(name, timeout), mode, **how)

    def arrivals(
        self, order: str = "published", *, after: str | None = None, timeout: float | None = None
    ) -> Iterator[Path]:
        """Hand out each file once as it comes, those that are there first; the iterator ends when the producer does.

        A file that is published anew under an old name is handed out once more.

        Parameters
        ----------
        order : {"published", "name"}
            In which order files are handed out that are there together: as they were published, as far as the times of
            the file system tell it; or by name, with numbers as numbers.
        after : str, optional
            Files up to the one of this name are left out.
        timeout : float, optional
            For how long each file may be waited for, s; by default as long as a producer may come or lives.

        Returns
        -------
        iterator of Path
            Their paths.

        Raises
        ------
        StreamError
            If the producer was lost or has failed; what it has published is handed out before.
        StreamTimeoutError
            If no file came in time.
        MismatchError
            If `after` is not there, in the order of publishing.
        """
        return _paths(self.path, self._core.arrivals(order, after), timeout)

    def names(self, order: str = "published") -> list[str]:
        """Return the names of the files that are there, in the order of `arrivals`."""
        return self._core.names(order)

    @property
    def state(self) -> str:
        """How it stands with the producers: unborn, running, finished, stopped, failed or lost."""
        return self._core.state()[0]

    @property
    def reason(self) -> str | None:
        """Why the producer has failed, if it has."""
        return self._core.state()[1]

    def __iter__(self) -> Iterator[Path]:
        return self.arrivals()

    def __repr__(self) -> str:
        return f"<ManagedDirectory {self.path}>"


def _paths(directory: Path, arrivals: DirectoryArrivals, timeout: float | None) -> Iterator[Path]:
    while (name := arrivals.next(timeout)) is not None:
        yield directory / name
