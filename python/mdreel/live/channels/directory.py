"""Directories and names of channels."""

import errno
import os
import re
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from time import monotonic, sleep
from typing import TypeVar

from mdreel.errors import MismatchError

VARIABLE = "MDREEL_CHANNELS"
"""The folder of channels, where it is not the usual one."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LOOK_SECONDS = 0.05

T = TypeVar("T")


def folder_of_channels() -> Path:
    """Return the folder of channels that have names: ``MDREEL_CHANNELS``, or one of the user's in shared memory."""
    chosen = os.environ.get(VARIABLE)
    # Memory, and nothing but memory: what is there is never written to a disk.
    return Path(chosen) if chosen else Path(f"/dev/shm/mdreel-{os.geteuid()}")  # noqa: S108


def place_of(channel: str | PathLike[str]) -> Path:
    """Return the directory of a channel.

    Parameters
    ----------
    channel : str or path
        Its name, of at most 64 letters, digits, ``.``, ``_`` and ``-``, that begins with a letter or digit; or its
        directory: any path object, and a text with a slash.

    Returns
    -------
    Path
        The directory, which need not be there.

    Raises
    ------
    MismatchError
        If it is no name.
    """
    if not isinstance(channel, str) or "/" in channel:
        return Path(channel)
    if not _NAME.fullmatch(channel):
        allowed = "1 to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit, or a path with a slash"
        raise MismatchError(f"a channel is named by {allowed}, not {channel!r}")
    return folder_of_channels() / channel


def make_folder_for(place: Path) -> None:
    """Make the folder of channels, if a channel is to be made in it and it is not there.

    Raises
    ------
    PermissionError
        If it is not the user's, or others may enter.
    """
    folder = folder_of_channels()
    if place.parent != folder:
        return
    folder.mkdir(mode=0o700, exist_ok=True)
    check_folder(folder)


def check_folder(folder: Path) -> None:
    """Check that nobody else has made the folder of channels, nor may enter: its name is known to all on this machine.

    Raises
    ------
    PermissionError
        If somebody has, or may.
    """
    facts = folder.lstat()
    user = os.geteuid()
    if facts.st_uid != user:
        found = f"expected it to belong to user {user}, got {facts.st_uid}; {VARIABLE} names another folder"
    elif facts.st_mode & 0o077:
        found = f"expected no rights for others, got mode {facts.st_mode & 0o7777:o}"
    else:
        return
    raise PermissionError(errno.EACCES, found, str(folder))


def when_there(join: Callable[[], T], seconds: float) -> T:
    """Join a channel as soon as it is there.

    Parameters
    ----------
    join : callable
        Joins it; raises FileNotFoundError as long as it is not there, or not whole.
    seconds : float
        For how long it may not be, s.
    """
    until = monotonic() + seconds
    while True:
        try:
            return join()
        except FileNotFoundError:
            if monotonic() >= until:
                raise
        sleep(_LOOK_SECONDS)
