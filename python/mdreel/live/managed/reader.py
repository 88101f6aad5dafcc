"""Reading files from managed directories, and waiting until they are complete."""

import os
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import IO, Any

from mdreel._core import DirectoryArrivals, DirectoryReader
from mdreel.errors import MismatchError
from mdreel.live.channels.directory import wait_until_available


class ManagedDirectory:
    """Reader for a directory in which every visible file is complete.

    Parameters
    ----------
    path : str or path
        The directory.
    wait : float
        Maximum time to wait for the directory, in s. The directory can already exist before its producer starts.

    Attributes
    ----------
    path : Path
        Absolute path of the directory.

    Raises
    ------
    FileNotFoundError
        When the directory does not exist.
    PermissionError
        When another user owns this directory or can access it.

    Notes
    -----
    While a reader is waiting, the operating system notifies it of new files. In addition, the reader checks the
    directory at least every 50 ms, because there are no notifications of files from other machines. You can interrupt
    it using Ctrl-C.

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
            Maximum time to wait, in s. By default, you will wait until the last producer has ended.

        Returns
        -------
        Path
            Path of the complete file.

        Raises
        ------
        StreamError
            When the producer ended or was lost before the file was published.
        StreamTimeoutError
            When the file was not published in time.
        MismatchError
            When a published file cannot have this name.
        """
        os.close(self._core.open(name, timeout))
        return self.path / name

    def open(self, name: str, mode: str = "r", timeout: float | None = None, **how: Any) -> IO[Any]:
        """Wait for a file and open it. You can still read the open file after it has been replaced or removed.

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
        """Iterate over existing and new files until the producer ends. You will get each file once.

        If a file replaces an earlier file of the same name, you will get it again.

        Parameters
        ----------
        order : {"published", "name"}
            Order of files that exist at the same time. You can sort them by the time at which they were published
            (within the resolution of the file system), or by name with natural sorting of numbers.
        after : str, optional
            Start after the file with this name.
        timeout : float, optional
            Maximum time to wait for each file, in s. By default, you will wait until the last producer has ended.

        Returns
        -------
        iterator of Path
            Paths of the files.

        Raises
        ------
        StreamError
            When the producer was lost or has failed. Before this error is raised, you will get all published files.
        StreamTimeoutError
            When no file was published in time.
        MismatchError
            When the file `after` does not exist and `order` is "published".
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
        """Reason why the producer failed, or None if it did not fail."""
        return self._core.state()[1]

    def __iter__(self) -> Iterator[Path]:
        return self.arrivals()

    def __repr__(self) -> str:
        return f"<ManagedDirectory {self.path}>"


def _paths(directory: Path, arrivals: DirectoryArrivals, timeout: float | None) -> Iterator[Path]:
    while (name := arrivals.next(timeout)) is not None:
        yield directory / name
