"""Checks that no other user can modify a file."""

import grp
import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO

from mdreel.errors import UnsupportedError


def open_trusted(path: str | os.PathLike[str], *, write: bool = False, root_may_own: bool = False) -> IO[bytes]:
    """Open a file, and reject it if it could have been written by another user.

    Parameters
    ----------
    path : path
        The file.
    write : bool
        Whether to open the file for writing as well. In this case, symbolic links are rejected.
    root_may_own : bool
        Whether the file can belong to root, because it was written by an administrator.

    Returns
    -------
    file
        The open file. The check remains valid for this file even if the path later refers to a different file.

    Raises
    ------
    UnsupportedError
        If the file is not regular, belongs to another user, or is writable by its group or others.
    OSError
        If the file cannot be opened.
    """
    path = Path(path)
    # Without O_NONBLOCK, opening a pipe would block.
    flags = (os.O_RDWR | os.O_NOFOLLOW if write else os.O_RDONLY) | os.O_CLOEXEC | os.O_NONBLOCK
    if write and path.is_symlink():
        raise UnsupportedError("this is a symbolic link: name the file that it points to", path=path)
    descriptor = os.open(path, flags)
    try:
        check_trusted(descriptor, path, root_may_own=root_may_own)
        return os.fdopen(descriptor, "r+b" if write else "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check_trusted(descriptor: int, path: Path, *, root_may_own: bool = False) -> None:
    """Reject an open file that could have been written by another user; see `open_trusted`."""
    facts = os.fstat(descriptor)
    if stat.S_ISDIR(facts.st_mode):
        raise IsADirectoryError(f"{path}: expected a file, found a directory")
    if not stat.S_ISREG(facts.st_mode):
        raise UnsupportedError("expected a regular file", path=path)
    user = os.geteuid()
    if facts.st_uid != user and not (root_may_own and facts.st_uid == 0):
        owner = _name_of(facts.st_uid)
        message = f"the file belongs to {owner}, and mdreel would run code from it as {_name_of(user)}"
        raise UnsupportedError(f"{message}: use a file of your own", path=path)
    others = [who for bit, who in ((stat.S_IWGRP, "its group"), (stat.S_IWOTH, "others")) if facts.st_mode & bit]
    if others == ["its group"] and is_alone_in(facts.st_gid, user):
        return
    if others:
        message = f"{' and '.join(others)} may write to the file, and mdreel would run code from it"
        raise UnsupportedError(f"{message}: check what is in it, then run chmod go-w {path}", path=path)


def is_alone_in(group: int, user: int) -> bool:
    """Return whether a group is a user's private group, which many systems create for each user."""
    with suppress(KeyError):
        found, name = grp.getgrgid(group), pwd.getpwuid(user).pw_name
        return found.gr_name == name and {*found.gr_mem} <= {name}
    return False


def _name_of(user: int) -> str:
    with suppress(KeyError):
        return f"the user {pwd.getpwuid(user).pw_name}"
    return f"the user with the number {user}"
