"""Files that appear complete or not at all, and survive a power failure.

`give_name` renames every output, as ``writer/final_name.rs`` does in the core: it syncs the file, renames it, and syncs
its directory. A test searches the package for other renames.
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
"""Errors of pipes, and of file systems that cannot sync a directory. A failing disk gives other errors."""


def check_target(path: Path, force: bool = False) -> None:
    """Check that a file can be written at `path`, without writing it.

    Parameters
    ----------
    path : Path
        The output file.
    force : bool
        Whether an existing file may be replaced.

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
        If no file can be created there, for example PermissionError.
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
    """Sync a file to the disk, after it was closed or flushed.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    OSError
        If the disk is full or fails. The file must not be used then.
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
        If the disk fails. File systems that cannot sync a directory, and directories that this user may not read, give
        no error.
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
    """Sync appended data of a log to the disk.

    Parameters
    ----------
    file : int
        Descriptor of the log. Pipes and terminals are ignored.

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

    The file is synced before the rename, and its directory afterwards. The caller may then remove the data from which
    the file was made.

    Parameters
    ----------
    temporary : Path
        The complete file, in the directory of `final`.
    final : Path
        Final name; an existing file is replaced.

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
    """Yield a temporary file beside `path`, which is renamed to `path` at the end, or removed after an error.

    See `give_name` for the rename.

    Parameters
    ----------
    path : Path
        The final name. If it is a symbolic link, its target is replaced.
    force : bool
        Whether an existing file may be replaced.

    Yields
    ------
    Path
        An empty file in the same directory.

    Raises
    ------
    OSError
        See `check_target`; also if writing fails. The error names `path`.
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
    """Yield a temporary name with the extension of `path`, for writers that depend on it; see `replacing`.

    Yields
    ------
    Path
        Name in the same directory, of a file that does not exist yet.
    """
    with replacing(path, force) as temporary:
        named = temporary.with_name(temporary.name + "".join(path.suffixes).lower())
        try:
            yield named
            named.replace(temporary)  # synced when it gets its final name
        finally:
            named.unlink(missing_ok=True)


def output_exists(path: Path) -> FileExistsError:
    """Return the error for an output file that exists, which names the parameter that replaces it."""
    return FileExistsError(errno.EEXIST, "the output exists already (force=True replaces it)", str(path))


def _refusal(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
