"""Files that appear complete or not at all."""

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


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


@contextmanager
def replacing(path: Path, force: bool = False) -> Iterator[Path]:
    """Give a temporary name beside `path`; rename it to `path` at the end, or remove it on any failure.

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
            temporary.replace(final)
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
            named.replace(temporary)
        finally:
            named.unlink(missing_ok=True)


def _refusal(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
