"""Files that are either complete or do not exist, even after a power failure.

All outputs get their final names from `give_name`, which works like ``writer/final_name.rs`` in the core. It syncs the
file, renames it, and then syncs its directory. A test ensures that no other code in the package renames files.
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
"""Errors from pipes, and from file systems that cannot sync a directory. A failing disk causes other errors."""


def check_target(path: Path, force: bool = False) -> None:
    """Check that a file can be written at `path`, without writing it.

    Parameters
    ----------
    path : Path
        The output file.
    force : bool
        Whether to replace an existing file.

    Raises
    ------
    FileExistsError
        If the file exists and `force` is false.
    IsADirectoryError
        If `path` is a directory.
    FileNotFoundError
        If the directory of `path` does not exist.
    NotADirectoryError
        If the parent of `path` is not a directory.
    OSError
        If no file can be created there, for example because permission is denied.
    """
    directory = path.resolve().parent
    if path.is_dir():
        raise _refusal(errno.EISDIR, path)
    if not directory.exists():
        raise FileNotFoundError(errno.ENOENT, "the directory of the output does not exist", str(directory))
    if not directory.is_dir():
        raise _refusal(errno.ENOTDIR, directory)
    if path.exists() and not force:
        raise output_exists(path)
    try:
        # Only an attempt shows all obstacles, such as permissions, a read-only file system or a quota.
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as error:
        raise _refusal(error.errno or errno.EIO, directory) from error


def sync_file(path: Path) -> None:
    """Sync a file to the disk after it has been closed or flushed.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    OSError
        If the disk is full or fails. In this case, the file must not be used.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:  # an unusual umask can deny reading to the owner
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sync_directory(path: Path) -> None:
    """Sync a directory to the disk.

    Parameters
    ----------
    path : Path
        The directory.

    Raises
    ------
    OSError
        If the disk fails. No error is raised if the file system cannot sync directories, or if this user is not allowed
        to read the directory.
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
    """Sync data that was appended to a log to the disk.

    Parameters
    ----------
    file : int
        File descriptor of the log. Pipes and terminals are ignored.

    Raises
    ------
    OSError
        If the disk is full or fails.
    """
    try:
        os.fdatasync(file)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


def give_name(temporary: Path, final: Path) -> None:
    """Give a file its final name, so that it exists and is complete even after a power failure.

    The file is synced before it is renamed, and its directory afterwards. After this, the caller can safely remove the
    data from which the file was created.

    Parameters
    ----------
    temporary : Path
        The complete file, which must be in the same directory as `final`.
    final : Path
        Final name. An existing file with this name is replaced.

    Raises
    ------
    OSError
        If the disk is full or fails.
    """
    sync_file(temporary)
    temporary.replace(final)
    sync_directory(final.parent)


@contextmanager
def replacing(path: Path, force: bool = False) -> Iterator[Path]:
    """Yield a temporary file beside `path`, which is finally renamed to `path`, or removed after an error.

    The file is renamed with `give_name`.

    Parameters
    ----------
    path : Path
        The final name. If it is a symbolic link, its target is replaced.
    force : bool
        Whether to replace an existing file.

    Yields
    ------
    Path
        An empty file in the same directory.

    Raises
    ------
    OSError
        If writing fails, or for one of the reasons listed in `check_target`. The error message contains `path`.
    """
    check_target(path, force)
    final = path.resolve()
    # The temporary name does not contain the final name, which could make it too long.
    temporary = final.with_name(f".mdreel-{secrets.token_hex(8)}.part")
    try:
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            yield temporary
            if final.exists():
                if not force:  # created since the check
                    raise output_exists(path)
                shutil.copymode(final, temporary)
            give_name(temporary, final)
        except BaseException:
            with suppress(FileNotFoundError):
                temporary.unlink()
            raise
    except OSError as error:
        # Errors have no name, or the name of the temporary file, which is removed.
        if error.errno is None or error.filename not in (None, os.fspath(temporary)):
            raise
        raise type(error)(error.errno, error.strerror or os.strerror(error.errno), str(path)) from error


@contextmanager
def replacing_by_ending(path: Path, force: bool = False) -> Iterator[Path]:
    """Yield a temporary name with the extension of `path`, for writers that require it; see `replacing`.

    Yields
    ------
    Path
        Name of a file in the same directory that does not exist yet.
    """
    with replacing(path, force) as temporary:
        named = temporary.with_name(temporary.name + "".join(path.suffixes).lower())
        try:
            yield named
            named.replace(temporary)  # synced when it gets its final name
        finally:
            named.unlink(missing_ok=True)


def output_exists(path: Path) -> FileExistsError:
    """Return the error for an existing output file. The message tells users how to replace the file."""
    return FileExistsError(errno.EEXIST, "the output exists already (force=True replaces it)", str(path))


def _refusal(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
