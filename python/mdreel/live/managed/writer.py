"""Writing side of managed directories."""

import errno
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from mdreel._core import DirectoryProducer, DirectoryWriter
from mdreel.errors import MismatchError
from mdreel.foundation.atomic_files import sync_directory, sync_file


class Producing:
    """A directory whose files are seen under their names when they are whole: the side of those who write.

    Used with ``with``, it opens the directory there, and ends it: as *finished*, or as *failed* with the text of the
    exception, or as *stopped* on Ctrl-C. Who waits for a file then knows that no more will come. A producer that dies
    counts as lost; what it was writing is seen by nobody.

    Parameters
    ----------
    path : str or path
        The directory; it is made if it is not there.
    fsync : bool
        Whether a published file survives the machine, and not only all processes.
    keep : int, optional
        How many published files stay: the oldest go. By default all.
    shared : bool
        Whether there may be other producers, which say the same. Of them, the last that is finished ends the directory,
        and the first that has failed.

    Attributes
    ----------
    path : Path
        The directory.

    Examples
    --------
    >>> import mdreel
    >>> with mdreel.live.Producing("frames") as frames:  # doctest: +SKIP
    ...     for step in range(10):
    ...         with frames.open(f"frame-{step}.txt", "w") as file:
    ...             file.write("...")
    """

    def __init__(
        self, path: str | PathLike[str], *, fsync: bool = False, keep: int | None = None, shared: bool = False
    ) -> None:
        self.path = Path(path).absolute()
        if keep is not None and keep < 1:
            raise MismatchError(f"{self.path}: expected to keep 1 file or more, got {keep}")
        self._fsync = fsync
        self._keep = keep
        self._shared = shared
        self._core: DirectoryProducer | None = None

    def create(self) -> Self:
        """Open the directory, if that has not been done.

        Returns
        -------
        Producing
            This producer.

        Raises
        ------
        StreamError
            If another producer lives, and not both say that they share.
        PermissionError
            If the directory belongs to somebody else, or others may enter.
        """
        if self._core is None:
            self._core = DirectoryProducer(self.path, self._fsync, self._keep, self._shared)
        return self

    def open(self, name: str, mode: str = "w", **how: Any) -> "ManagedFile":
        """Begin a file, which is published when it is closed.

        Parameters
        ----------
        name : str
            Its name in the directory: up to 200 bytes, not beginning with a dot. A file that has it stays as it is
            until this one is published in its place.
        mode : {"w", "wb", "w+", "w+b"}
            For text or for bytes; with ``+`` what was written can be read.
        **how
            What Python's ``open`` takes besides, as ``encoding``.

        Returns
        -------
        ManagedFile
            The file. Used with ``with``, an exception leaves nothing of it behind.

        Raises
        ------
        MismatchError
            If it cannot have this name, or the mode is another one.
        OSError
            If it cannot be made.
        """
        if set(mode) - set("wbt+") or "w" not in mode:
            raise MismatchError(f"{self.path / name}: expected the mode 'w', 'wb', 'w+' or 'w+b', got {mode!r}")
        writer = self._created().begin(name)
        try:
            return ManagedFile(writer, writer.part.open(mode, **how))
        except BaseException:
            writer.discard()
            raise

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Publish a file that something else writes, which wants a path.

        Parameters
        ----------
        name : str
            As of `open`.

        Yields
        ------
        Path
            Where it is to be written. It ends as the name does, and the file is there, empty. At the end of ``with`` it
            is published; an exception leaves nothing of it behind.
        """
        writer = self._created().begin(name)
        try:
            yield writer.part
        except BaseException:
            writer.discard()
            raise
        writer.publish()

    def publish(self, path: str | PathLike[str], name: str | None = None) -> Path:
        """Move a file into the directory that is whole and lies elsewhere: copied where it lies on another disk.

        Parameters
        ----------
        path : str or path
            The file.
        name : str, optional
            Its name in the directory; by default that which it has.

        Returns
        -------
        Path
            Where it is now.

        Raises
        ------
        FileNotFoundError
            If it is not there.
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
            # The copy is on the disk. Its name has to be there, too, before the original goes.
            sync_directory(self.path)
            source.unlink(missing_ok=True)
        return self.path / target

    def remove(self, name: str) -> bool:
        """Remove a published file; return whether it was there. Who has opened it can read on."""
        return self._created().remove(name)

    def names(self, order: str = "published") -> list[str]:
        """Return the names of the published files, in an order of `ManagedDirectory.arrivals`."""
        return self._created().names(order)

    def end(self, how: str = "finished", reason: str = "") -> None:
        """Say that this producer publishes nothing more. Does nothing a second time.

        Parameters
        ----------
        how : {"finished", "stopped", "failed"}
            How it has ended. A failure raises at those who wait.
        reason : str
            Of a failure.

        Raises
        ------
        OSError
            If that cannot be written, as on a full disk. Then this producer has not ended, and can say so again.
        """
        if self._core is not None and not self._core.has_left:
            self._core.end(how, reason)

    def _created(self) -> DirectoryProducer:
        if self._core is None:
            raise MismatchError(f"{self.path}: the producer has not opened the directory: use `with`, or create()")
        return self._core

    def __enter__(self) -> Self:
        return self.create()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        how, reason = "finished", ""
        if isinstance(error, Exception):
            how, reason = "failed", f"{type(error).__name__}: {error}"
        elif error is not None:  # Ctrl-C, or the end of the program
            how = "stopped"
        try:
            self.end(how, reason)
        except OSError as refused:
            # No end is on the disk. Those who wait are told that the producer was lost, and not that it has ended.
            if self._core is not None:
                self._core.leave()
            if error is None:
                raise
            error.add_note(f"{self.path}: the end of this producer could not be written: {refused}")

    def __repr__(self) -> str:
        return f"<Producing in {self.path}>"


class ManagedFile:
    """A file that is published when it is closed; for everything else it is the file object that it is made of.

    Parameters
    ----------
    writer : DirectoryWriter
        What publishes it.
    file : file object
        What writes it.

    Attributes
    ----------
    file : file object
        The file under its hidden name.
    """

    def __init__(self, writer: DirectoryWriter, file: IO[Any]) -> None:
        self._writer = writer
        self._is_over = False
        self._failure: OSError | None = None
        self.file = file

    def write(self, data: Any) -> int:
        """Write; what did not reach the disk keeps the file from being published, whoever catches the error."""
        with self._noticing():
            return self.file.write(data)

    def writelines(self, lines: Iterable[Any]) -> None:
        """Write several pieces, as `write` does."""
        with self._noticing():
            self.file.writelines(lines)

    def flush(self) -> None:
        """Hand over to the system what was written."""
        with self._noticing():
            self.file.flush()

    def close(self) -> None:
        """Close the file and publish it. Does nothing a second time.

        Raises
        ------
        OSError
            If not all of it could be written; then it is not published, and nothing is left of it.
        StreamError
            If its producer has ended meanwhile.
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
        """Close the file and leave nothing of it behind."""
        if self._is_over:
            return
        self._is_over = True
        try:
            self.file.close()
        except OSError:
            pass  # what could not be written is not wanted
        finally:
            self._writer.discard()

    @contextmanager
    def _noticing(self) -> Iterator[None]:
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.discard()

    def __repr__(self) -> str:
        return f"<ManagedFile {self._writer.path}>"
