"""Files that appear complete or not at all, and survive a power failure.

Every output gets its final name here (`give_name`), as in the core (``writer/final_name.rs``): the file is synced to
the disk, renamed, and its directory is synced. A test goes through the package for other renames.
"""

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)
"""What file systems say that cannot sync a directory, and pipes. A disk that has failed says something else."""


def check_target(path: Path, force: bool = False) -> None:
    """Check that a file can be written at `path`, without writing it.

    Parameters
    ----------
    path : Path
        Where the file shall be.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    FileExistsError
        If there is a file and `force` is false.
    IsADirectoryError
        If `path` is a directory.
    FileNotFoundError
        If the directory of `path` does not exist.
    NotADirectoryError
        If it is not a directory.
    OSError
        If no file can be made in it, for example PermissionError.
    """
    directory = path.resolve().parent
    if path.is_dir():
        raise _refusal(errno.EISDIR, path)
    if not directory.exists():
        raise FileNotFoundError(errno.ENOENT, "the directory of the output does not exist", str(directory))
    if not directory.is_dir():
        raise _refusal(errno.ENOTDIR, directory)
    if path.exists() and not force:
        raise FileExistsError(errno.EEXIST, "the output exists already", str(path))
    try:
        # Only trying tells: permissions, a read-only file system and a quota are refused by different parts.
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as error:
        raise _refusal(error.errno or errno.EIO, directory) from error


def sync_file(path: Path) -> None:
    """Have the disk take all of a file, which is closed or at least flushed.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    OSError
        If the disk did not take it, as where it is full or broken. The file is not to be trusted then.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:  # an odd umask may forbid its owner to read it
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sync_directory(path: Path) -> None:
    """Have the disk keep which files are in a directory.

    Parameters
    ----------
    path : Path
        The directory.

    Raises
    ------
    OSError
        If the disk did not take it. Some file systems cannot sync a directory, and nobody can sync one that he may not
        read: both are no errors.
    """
    try:
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        return
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(directory)


def sync_line(file: int) -> None:
    """Have the disk take what was appended to a log.

    Parameters
    ----------
    file : int
        The descriptor of the log, which may also be a pipe or a terminal: those have nothing to sync.

    Raises
    ------
    OSError
        If the disk did not take it.
    """
    try:
        os.fdatasync(file)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


def give_name(temporary: Path, final: Path) -> None:
    """Give a file its final name so that it is there, and whole, also after a power failure.

    The file is synced before the rename and its directory after it: when this returns, what the file was made from may
    be removed.

    Parameters
    ----------
    temporary : Path
        The whole file, in the directory of `final`.
    final : Path
        The name. A file that has it is replaced.

    Raises
    ------
    OSError
        If the disk did not take the file or its name.
    """
    sync_file(temporary)
    temporary.replace(final)
    sync_directory(final.parent)


@contextmanager
def replacing(path: Path, force: bool = False) -> Iterator[Path]:
    """Give a temporary name beside `path`; rename it to `path` at the end, or remove it on any failure.

    The file is synced to the disk before it is renamed, and its directory afterwards (`give_name`).

    Parameters
    ----------
    path : Path
        The final name. Where it is a symbolic link, the file it points to is replaced, not the link.
    force : bool
        Whether an existing file may be replaced.

    Yields
    ------
    Path
        An empty file in the same directory, to be written.

    Raises
    ------
    OSError
        As `check_target`, or if the operating system refuses to write; it names `path`.
    """
    check_target(path, force)
    final = path.resolve()
    # The final name is not part of the temporary one: together they might be longer than a name can be.
    temporary = final.with_name(f".mdreel-{secrets.token_hex(8)}.part")
    try:
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            yield temporary
            if final.exists():
                if not force:  # it came into being since the check
                    raise FileExistsError(errno.EEXIST, "the output exists already", str(path))
                shutil.copymode(final, temporary)
            give_name(temporary, final)
        except BaseException:
            with suppress(FileNotFoundError):
                temporary.unlink()
            raise
    except OSError as error:
        # Errors while writing through an open file carry no name, others the temporary one, which is gone by now.
        if error.errno is None or error.filename not in (None, os.fspath(temporary)):
            raise
        raise type(error)(error.errno, error.strerror or os.strerror(error.errno), str(path)) from error


@contextmanager
def replacing_by_ending(path: Path, force: bool = False) -> Iterator[Path]:
    """Give a temporary name that ends as `path` does, for writers that go by it; see `replacing`.

    Yields
    ------
    Path
        A name in the same directory; there is no file of it yet.
    """
    with replacing(path, force) as temporary:
        named = temporary.with_name(temporary.name + "".join(path.suffixes).lower())
        try:
            yield named
            named.replace(temporary)  # which is synced when it gets its final name
        finally:
            named.unlink(missing_ok=True)


def _refusal(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
