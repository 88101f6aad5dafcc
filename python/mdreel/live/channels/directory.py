"""Names and directories of channels."""

import errno
import os
import re
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from time import monotonic, sleep
from typing import TypeVar

from mdreel.errors import MismatchError
from mdreel.foundation.nearest_name import did_you_mean
from mdreel.foundation.printable import printable

VARIABLE = "MDREEL_CHANNELS"
"""Environment variable that overrides the default folder of channels."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_POLL_SECONDS = 0.05
_MOST_NAMES = 8

T = TypeVar("T")


def channels_folder() -> Path:
    """Return the folder of named channels, which is ``MDREEL_CHANNELS`` or the user's folder in shared memory."""
    chosen = os.environ.get(VARIABLE)
    # Files in /dev/shm are never written to a disk.
    return Path(chosen) if chosen else Path(f"/dev/shm/mdreel-{os.geteuid()}")  # noqa: S108


def channel_path(channel: str | PathLike[str]) -> Path:
    """Return the directory of a channel.

    Parameters
    ----------
    channel : str or path
        Name of the channel, or its directory as a path object or a string that contains a slash. A name consists of up
        to 64 letters, digits, ``.``, ``_`` and ``-``, and starts with a letter or a digit.

    Returns
    -------
    Path
        The directory. It does not have to exist.

    Raises
    ------
    MismatchError
        If the name is invalid.
    """
    if not isinstance(channel, str) or "/" in channel:
        return Path(channel)
    if not _NAME.fullmatch(channel):
        allowed = "1 to 64 letters, digits, '.', '_' and '-', starting with a letter or digit, or a path with a slash"
        raise MismatchError(f"the name of a channel must be {allowed}, not {channel!r}")
    return channels_folder() / channel


def make_folder_for(place: Path) -> None:
    """Create the folder of named channels if the channel belongs there; see `check_folder` for the errors."""
    folder = channels_folder()
    if place.parent != folder:
        return
    folder.mkdir(mode=0o700, exist_ok=True)
    check_folder(folder)


def check_folder(folder: Path) -> None:
    """Check that no other user owns the folder of channels or has access to it, because its name is predictable.

    Raises
    ------
    PermissionError
        If another user owns the folder or has access to it.
    """
    facts = folder.lstat()
    user = os.geteuid()
    if facts.st_uid != user:
        found = f"expected user {user} as the owner, got {facts.st_uid}; set {VARIABLE} to another folder"
    elif facts.st_mode & 0o077:
        found = f"expected no rights for others, got mode {facts.st_mode & 0o7777:o}"
    else:
        return
    raise PermissionError(errno.EACCES, found, str(folder))


def describe_other_channels(place: Path) -> str:
    """Return the end of a message about a missing channel, which lists the channels that exist.

    It is empty if the channel is not in the folder of named channels.
    """
    folder = channels_folder()
    if place.parent != folder:
        return ""
    try:
        names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    except OSError:  # no channel has been created yet
        names = []
    if not names:
        return " (there are no channels)"
    shown = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    return " " + printable(f"(existing channels: {shown}{did_you_mean(place.name, names)})")


def wait_until_available(join: Callable[[], T], place: Path, seconds: float, what: str = "channel") -> T:
    """Call a function that joins a channel until it succeeds.

    Parameters
    ----------
    join : callable
        Function that raises FileNotFoundError as long as the directory does not exist.
    place : Path
        The directory.
    seconds : float
        Maximum time to wait, in s.
    what : str
        Kind of directory, for the error message.

    Raises
    ------
    FileNotFoundError
        If the directory does not exist after this time. The message contains the directory, the time, and a remedy.
    """
    until = monotonic() + seconds
    while True:
        try:
            return join()
        except FileNotFoundError as error:
            if monotonic() >= until:
                if place.exists():  # another file is missing
                    raise
                missing = f"the {what} does not exist; start the simulation first, or wait for it (wait=, --wait)"
                if seconds > 0:
                    waited = f"the {what} was not created within {seconds:g} s"
                    missing = f"{waited}; check its name, start the simulation, or wait longer (wait=, --wait)"
                if what == "channel":
                    missing += describe_other_channels(place)
                raise FileNotFoundError(errno.ENOENT, missing, str(place)) from error
        sleep(_POLL_SECONDS)
