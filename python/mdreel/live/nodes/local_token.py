"""Tokens of servers at loopback addresses."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from mdreel.errors import MismatchError
from mdreel.live.channels.directory import check_folder
from mdreel.live.nodes.endpoint import host_and_port, is_local, places_of
from mdreel.live.nodes.security import Security

_FOLDER = "/dev/shm/mdreel-{user}"  # noqa: S108 - memory of this machine alone, in a folder of the user's alone
_TOKEN_BYTES = 32


def folder_of_tokens() -> Path:
    """Return the folder of tokens: in shared memory, so that it is of this machine, and of the user alone."""
    return Path(_FOLDER.format(user=os.geteuid()))


def make_token(endpoint: str) -> Path:
    """Return the file with the token of a server at a loopback address, which is made if it is not there.

    A server that is started again has the token of the one before, so that relays find it again.

    Parameters
    ----------
    endpoint : str
        The address at which the server listens.

    Raises
    ------
    PermissionError
        If the file or its folder belongs to another user, or others may enter or read it.
    OSError
        If it cannot be made.
    """
    folder = folder_of_tokens()
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        check_folder(folder)
    except OSError as error:
        message = f"{error.strerror}: say a token of your own (--token-file)"
        raise type(error)(error.errno, message, str(folder)) from error
    path = _files(endpoint)[0]
    if not _is_whole(path):
        new = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(file, "w") as opened:
                opened.write(f"{secrets.token_hex(_TOKEN_BYTES)}\n")
            new.replace(path)
        except BaseException:
            with suppress(OSError):
                new.unlink()
            raise
    return path


def token_for(endpoint: str) -> Path | None:
    """Return the file with the token of this user's server at a loopback address; None if there is none.

    Parameters
    ----------
    endpoint : str
        The address of the server.

    Raises
    ------
    PermissionError
        If the folder of tokens belongs to another user, or others may enter it.
    """
    try:
        if not is_local(endpoint):
            return None
    except MismatchError:
        return None  # a host that is not known: who connects to it is told
    folder = folder_of_tokens()
    if not folder.exists():
        return None
    check_folder(folder)
    return next((path for path in _files(endpoint) if path.is_file()), None)


def forget_token(endpoint: str) -> None:
    """Remove the token of an address, at which something else counts from now on."""
    path = token_for(endpoint)
    if path is not None:
        path.unlink(missing_ok=True)


def _files(endpoint: str) -> list[Path]:
    """Return where the token of an address is: each address has its own, so that no other listener is shown it."""
    host, port = host_and_port(endpoint)
    places = sorted({str(place) for place in places_of(host)})
    return [folder_of_tokens() / f".token-{place.replace(':', '_')}-{port}" for place in places]


def _is_whole(path: Path) -> bool:
    """Whether there is a token that may be used again."""
    security = Security(path)
    try:
        security.check("tcp/")
        return path.stat().st_uid == os.geteuid() and security.token() is not None
    except (OSError, MismatchError, ValueError):
        return False
