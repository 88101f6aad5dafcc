"""Reading side of managed directories, which waits for complete files."""

import os
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import IO, Any

from mdreel._core import DirectoryArrivals, DirectoryReader
from mdreel.errors import MismatchError
from mdreel.live.channels.directory import wait_until_available


class ManagedDirectory:
    """Reader of a directory in which every visible file is complete.

    Parameters
    ----------
    path : str or path
        The directory.
    wait : float
        Maximum time to wait for the directory, s. The directory may exist before its producer starts.

    Attributes
    ----------
    path : Path
        Absolute path of the directory.

    Raises
    ------
    FileNotFoundError
        If the directory does not exist.
    PermissionError
        If another user owns the directory or may enter it.

    Notes
    -----
    A waiting reader is notified by the system of new files, and checks the directory at least every 50 ms for files
    from other machines. Ctrl-C ends waiting.

    Examples
    --------
    >>> import mdreel
    >>> with mdreel.live.ManagedProducer("frames") as producer:
    ...     with producer.open("frame-1.txt", "w") as file:
    ...         length = file.write("1.0 2.0 3.0")
    >>> frames = mdreel.live.ManagedDirectory("frames", wait=60)
    >>> frames.wait("frame-1.txt", timeout=60).read_text()
    '1.0 2.0 3.0'
    >>> [path.name for path in frames]
    ['frame-1.txt']
    """

    def __init__(self, path: str | PathLike[str], *, wait: float = 0.0) -> None:
        self._core: DirectoryReader = wait_until_available(
            lambda: DirectoryReader(path), Path(path), wait, "managed directory"
        )
        self.path: Path = self._core.path

    def wait(self, name: str, timeout: float | None = None) -> Path:
        """Wait for a file.

        Parameters
        ----------
        name : str
            Name of the file in the directory.
        timeout : float, optional
            Maximum time to wait, s; by default until the last producer has ended.

        Returns
        -------
        Path
            Path of the complete file.

        Raises
        ------
        StreamError
            If the producer ended or was lost before it published the file.
        StreamTimeoutError
            If the file was not published in time.
        MismatchError
            If the name is invalid for a published file.
        """
        os.close(self._core.open(name, timeout))
        return self.path / name

    def open(self, name: str, mode: str = "r", timeout: float | None = None, **how: Any) -> IO[Any]:
        """Wait for a file and open it. The open file stays readable when it is replaced or removed.

        Parameters
        ----------
        name : str
            Name of the file in the directory.
        mode : {"r", "rb"}
            Text or binary mode.
        timeout : float, optional
            See `wait`.
        **how
            Other arguments of Python's ``open``, such as ``encoding``.

        Returns
        -------
        file object
            The file.

        Raises
        ------
        MismatchError
            If the mode is invalid.
        """
        if mode not in ("r", "rt", "rb"):
            raise MismatchError(f"expected the mode 'r' or 'rb', got {mode!r}", path=self.path / name)
        return os.fdopen(self._core.open(name, timeout), mode, **how)

    def arrivals(
        self, order: str = "published", *, after: str | None = None, timeout: float | None = None
    ) -> Iterator[Path]:
        """Iterate over existing and new files until the producer ends; each file is returned once.

        A file that replaces an earlier one of the same name is returned again.

        Parameters
        ----------
        order : {"published", "name"}
            Order of files that exist at the same time: by time of publication, within the resolution of the file
            system, or by name with natural sorting of numbers.
        after : str, optional
            Name of the file after which to start.
        timeout : float, optional
            Maximum time to wait for each file, s; by default until the last producer has ended.

        Returns
        -------
        iterator of Path
            Paths of the files.

        Raises
        ------
        StreamError
            If the producer was lost or has failed, after all published files have been returned.
        StreamTimeoutError
            If no file was published in time.
        MismatchError
            If the file `after` does not exist and the order is "published".
        """
        return _paths(self.path, self._core.arrivals(order, after), timeout)

    def names(self, order: str = "published") -> list[str]:
        """Return the names of the published files.

        Parameters
        ----------
        order : {"published", "name"}
            Order of the names; see `arrivals`.
        """
        return self._core.names(order)

    @property
    def state(self) -> str:
        """State of the producers: unborn, running, finished, stopped, failed or lost."""
        return self._core.state()[0]

    @property
    def reason(self) -> str | None:
        """Reason of a failure of the producer; None without one."""
        return self._core.state()[1]

    def __iter__(self) -> Iterator[Path]:
        return self.arrivals()

    def __repr__(self) -> str:
        return f"<ManagedDirectory {self.path}>"


def _paths(directory: Path, arrivals: DirectoryArrivals, timeout: float | None) -> Iterator[Path]:
    while (name := arrivals.next(timeout)) is not None:
        yield directory / name
