"""Writing files to managed directories, which publish the files when they are closed."""

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any, Self

from mdreel._core import DirectoryProducer, DirectoryWriter
from mdreel.errors import MismatchError
from mdreel.foundation.atomic_files import sync_directory, sync_file


def _open_empty(path: str, flags: int) -> int:
    """Open a file that is already empty.

    If a program truncates a file, ext4 starts to write the file to the disk when the program closes it.
    """
    return os.open(path, flags & ~os.O_TRUNC, 0o600)


class ManagedProducer:
    """Producer of a managed directory, whose files are invisible to readers until they are complete.

    You should use the producer as a context manager, which opens the directory and ends it when the context exits. The
    final state of the directory is *finished*, *failed* with the message of an exception, or *stopped* on Ctrl-C.
    Readers will then stop waiting for files. A producer that dies is reported as lost, and its unfinished files will
    always remain invisible.

    Parameters
    ----------
    path : str or path
        The directory, which will be created if it does not exist.
    fsync : bool
        Whether published files should survive a crash of the machine. If false, they remain after all processes have
        exited, but can be lost in a crash.
    keep : int, optional
        Maximum number of published files. If this is exceeded, the oldest files are deleted. By default, no files are
        deleted.
    shared : bool
        Whether other producers can also write to the directory using ``shared=True``. The directory will then end when
        all producers have finished, or any of them has failed.

    Attributes
    ----------
    path : Path
        The directory.

    Examples
    --------
    >>> import mdreel
    >>> with mdreel.live.ManagedProducer("frames") as frames:
    ...     for step in range(3):
    ...         with frames.open(f"frame-{step}.txt", "w") as file:
    ...             length = file.write("1.0 2.0 3.0")
    >>> mdreel.live.ManagedDirectory("frames").names()
    ['frame-0.txt', 'frame-1.txt', 'frame-2.txt']
    """

    def __init__(
        self, path: str | PathLike[str], *, fsync: bool = False, keep: int | None = None, shared: bool = False
    ) -> None:
        self.path = Path(path).absolute()
        if keep is not None and keep < 1:
            raise MismatchError(f"expected to keep 1 file or more, got {keep}", path=self.path)
        self._fsync = fsync
        self._keep = keep
        self._shared = shared
        self._core: DirectoryProducer | None = None

    def create(self) -> Self:
        """Open the directory if it is not open yet.

        Returns
        -------
        ManagedProducer
            This producer.

        Raises
        ------
        StreamError
            When another producer is running, unless both are shared.
        PermissionError
            When another user owns this directory or can access it.
        """
        if self._core is None:
            self._core = DirectoryProducer(self.path, self._fsync, self._keep, self._shared)
        return self

    def open(self, name: str, mode: str = "w", **how: Any) -> "ManagedFile":
        """Open a file for writing, which will be published when you close it.

        Parameters
        ----------
        name : str
            Name of the file in the directory, which can have up to 200 bytes and must not start with a dot. If a file
            with this name exists, it is replaced when the new file is published.
        mode : {"w", "wb", "w+", "w+b"}
            Text or binary mode. If you use ``+``, you can also read the data that you have written.
        **how
            Other arguments of Python's ``open``, such as ``encoding``.

        Returns
        -------
        ManagedFile
            The file. If you use it as a context manager, it is discarded if an exception occurs.

        Raises
        ------
        MismatchError
            If the name or the mode is invalid.
        OSError
            If the file cannot be created.
        """
        if set(mode) - set("wbt+") or "w" not in mode:
            raise MismatchError(f"expected the mode 'w', 'wb', 'w+' or 'w+b', got {mode!r}", path=self.path / name)
        writer = self._require_open().begin(name)
        try:
            # `Path.open` has no opener.
            return ManagedFile(writer, open(writer.part, mode, **{"opener": _open_empty, **how}))  # noqa: PTH123
        except BaseException:
            writer.discard()
            raise

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Publish a file that other code writes to a path.

        Parameters
        ----------
        name : str
            See `open`.

        Yields
        ------
        Path
            Path of an empty file with the same suffix as `name`. This file is published at the end of the context, or
            discarded if an exception occurs.
        """
        writer = self._require_open().begin(name)
        try:
            yield writer.part
        except BaseException:
            writer.discard()
            raise
        writer.publish()

    def publish(self, path: str | PathLike[str], name: str | None = None) -> Path:
        """Publish a complete file by moving it to the directory, or by copying it from a different file system.

        Parameters
        ----------
        path : str or path
            The file.
        name : str, optional
            Name of the file in the directory. By default, the current name of the file is used.

        Returns
        -------
        Path
            New path of the file.

        Raises
        ------
        FileNotFoundError
            If the file does not exist.
        """
        source = Path(path)
        target = source.name if name is None else name
        is_copied = False
        with self.writing(target) as part:
            try:
                source.replace(part)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                shutil.copyfile(source, part)
                sync_file(part)
                is_copied = True
        if is_copied:
            # The contents of the copy are on disk; its name must be, too, before the original is deleted.
            sync_directory(self.path)
            source.unlink(missing_ok=True)
        return self.path / target

    def remove(self, name: str) -> bool:
        """Remove a published file. Readers that have opened it can still read it.

        Parameters
        ----------
        name : str
            Name of the file in the directory.

        Returns
        -------
        bool
            Whether the file existed.
        """
        return self._require_open().remove(name)

    def names(self, order: str = "published") -> list[str]:
        """Return the names of the published files.

        Parameters
        ----------
        order : {"published", "name"}
            Order of the names; see `ManagedDirectory.arrivals`.
        """
        return self._require_open().names(order)

    def end(self, how: str = "finished", reason: str = "") -> None:
        """End this producer. A second call has no effect.

        Parameters
        ----------
        how : {"finished", "stopped", "failed"}
            How the producer ends. If it failed, an exception will be raised in waiting readers.
        reason : str
            Reason for a failure.

        Raises
        ------
        OSError
            When the end cannot be recorded, for example because your disk is full. You can then call the method again.
        """
        if self._core is not None and not self._core.has_left:
            self._core.end(how, reason)

    def _require_open(self) -> DirectoryProducer:
        if self._core is None:
            raise MismatchError(
                "the producer has not opened the directory; use `with` or call create()", path=self.path
            )
        return self._core

    def __enter__(self) -> Self:
        return self.create()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        how, reason = "finished", ""
        if isinstance(error, Exception):
            how, reason = "failed", f"{type(error).__name__}: {error}"
        elif error is not None:  # Ctrl-C, or the end of the program
            how = "stopped"
        try:
            self.end(how, reason)
        except OSError as refused:
            # Readers are told that the producer was lost, as its end could not be written.
            if self._core is not None:
                self._core.leave()
            if error is None:
                raise
            error.add_note(f"{self.path}: the end of this producer could not be written: {refused}")

    def __repr__(self) -> str:
        return f"<ManagedProducer in {self.path}>"


class ManagedFile:
    """Wrapper of a file object that publishes the file when it is closed."""

    def __init__(self, writer: DirectoryWriter, file: IO[Any]) -> None:
        self._writer = writer
        self._is_over = False
        self._failure: OSError | None = None
        self.file = file

    def write(self, data: Any) -> int:
        """Write data. After an error, the file is not published, even if the caller catches the exception."""
        with self._recording_failure():
            return self.file.write(data)

    def writelines(self, lines: Iterable[Any]) -> None:
        """Write several items; see `write`."""
        with self._recording_failure():
            self.file.writelines(lines)

    def flush(self) -> None:
        """Flush the buffer to the operating system."""
        with self._recording_failure():
            self.file.flush()

    def close(self) -> None:
        """Close the file and publish it. A second call has no effect.

        Raises
        ------
        OSError
            If some data could not be written. The file is then discarded.
        StreamError
            If the producer of the file has already ended.
        """
        if self._is_over:
            return
        self._is_over = True
        try:
            self.file.close()
            if self._failure is not None:
                raise self._failure
            self._writer.publish()
        except BaseException:
            self._writer.discard()
            raise

    def discard(self) -> None:
        """Close the file and delete it without publishing it."""
        if self._is_over:
            return
        self._is_over = True
        try:
            self.file.close()
        except OSError:
            pass  # the file is deleted anyway
        finally:
            self._writer.discard()

    @contextmanager
    def _recording_failure(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._failure = error
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            self.close()
        else:
            self.discard()

    def __repr__(self) -> str:
        return f"<ManagedFile {self._writer.path}>"
