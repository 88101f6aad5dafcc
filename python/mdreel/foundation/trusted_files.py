"""Checks that no other user can change a file."""

import grp
import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO

from mdreel.errors import UnsupportedError


def open_trusted(path: str | os.PathLike[str], *, write: bool = False, root_may_own: bool = False) -> IO[bytes]:
    """Open a file, and refuse it if another user can have written what is in it.

    Parameters
    ----------
    path : path
        The file.
    write : bool
        Whether to open it for writing as well. A symbolic link is refused then.
    root_may_own : bool
        Whether it may be root's, as files that an administrator provides.

    Returns
    -------
    file
        The opened file. What was checked is this file, not what the path names later.

    Raises
    ------
    UnsupportedError
        If it is not a regular file, if another user owns it, or if its group or others may write to it.
    OSError
        If it cannot be opened.
    """
    path = Path(path)
    # Without O_NONBLOCK, a pipe would keep the caller waiting before it can be refused.
    flags = (os.O_RDWR | os.O_NOFOLLOW if write else os.O_RDONLY) | os.O_CLOEXEC | os.O_NONBLOCK
    if write and path.is_symlink():
        raise UnsupportedError(f"{path}: this is a symbolic link: name the file that it points to")
    descriptor = os.open(path, flags)
    try:
        check_trusted(descriptor, path, root_may_own=root_may_own)
        return os.fdopen(descriptor, "r+b" if write else "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check_trusted(descriptor: int, path: Path, *, root_may_own: bool = False) -> None:
    """Refuse an opened file that another user can have written; see `open_trusted`."""
    facts = os.fstat(descriptor)
    if stat.S_ISDIR(facts.st_mode):
        raise IsADirectoryError(f"{path}: expected a file, found a directory")
    if not stat.S_ISREG(facts.st_mode):
        raise UnsupportedError(f"{path}: expected a regular file")
    user = os.geteuid()
    if facts.st_uid != user and not (root_may_own and facts.st_uid == 0):
        owner = _name_of(facts.st_uid)
        message = f"the file belongs to {owner}, and mdreel would run code from it as {_name_of(user)}"
        raise UnsupportedError(f"{path}: {message}: use a file of your own")
    others = [who for bit, who in ((stat.S_IWGRP, "its group"), (stat.S_IWOTH, "others")) if facts.st_mode & bit]
    if others == ["its group"] and is_alone_in(facts.st_gid, user):
        return
    if others:
        message = f"{' and '.join(others)} may write to the file, and mdreel would run code from it"
        raise UnsupportedError(f"{path}: {message}: check what is in it, then run chmod go-w {path}")


def is_alone_in(group: int, user: int) -> bool:
    """Whether a group is the private one of a user, which many systems make for each user."""
    with suppress(KeyError):
        found, name = grp.getgrgid(group), pwd.getpwuid(user).pw_name
        return found.gr_name == name and {*found.gr_mem} <= {name}
    return False


def _name_of(user: int) -> str:
    with suppress(KeyError):
        return f"the user {pwd.getpwuid(user).pw_name}"
    return f"the user with the number {user}"
