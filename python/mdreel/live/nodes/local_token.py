"""Tokens for servers at loopback addresses. Relays of the same user find them automatically."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from mdreel.errors import MismatchError
from mdreel.live.channels.directory import check_folder
from mdreel.live.nodes.endpoint import host_and_port, is_local, resolve_host
from mdreel.live.nodes.security import Security

_FOLDER = "/dev/shm/mdreel-{user}"  # noqa: S108 - a private folder of the user
_TOKEN_BYTES = 32


def tokens_folder() -> Path:
    """Return the folder for tokens, which is a private folder of the user in the machine's shared memory."""
    return Path(_FOLDER.format(user=os.geteuid()))


def make_token(endpoint: str) -> Path:
    """Return the token file for a server at a loopback address, and create it if it does not exist.

    When a server is restarted, it uses the same token again, so that relays can reconnect.

    Raises
    ------
    PermissionError
        If another user owns the file or its folder, or can read it.
    """
    folder = tokens_folder()
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        check_folder(folder)
    except OSError as error:
        message = f"{error.strerror}; set a token file (token_file, --token-file)"
        raise type(error)(error.errno, message, str(folder)) from error
    path = _token_paths(endpoint)[0]
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


def find_token(endpoint: str) -> Path | None:
    """Return the token file of this user's server at a loopback address, or None if there is none."""
    try:
        if not is_local(endpoint):
            return None
    except MismatchError:
        return None  # an unknown host is reported when the relay connects
    folder = tokens_folder()
    if not folder.exists():
        return None
    check_folder(folder)
    return next((path for path in _token_paths(endpoint) if path.is_file()), None)


def forget_token(endpoint: str) -> None:
    """Remove the token for an address, because the server at this address no longer uses it."""
    path = find_token(endpoint)
    if path is not None:
        path.unlink(missing_ok=True)


def _token_paths(endpoint: str) -> list[Path]:
    """Return the token files for an address. Each address has its own token, which no other listener receives."""
    host, port = host_and_port(endpoint)
    places = sorted({str(place) for place in resolve_host(host)})
    return [tokens_folder() / f".token-{place.replace(':', '_')}-{port}" for place in places]


def _is_whole(path: Path) -> bool:
    """Return whether a file contains a valid token of this user."""
    security = Security(path)
    try:
        security.check("tcp/")
        return path.stat().st_uid == os.geteuid() and security.read_token() is not None
    except (OSError, MismatchError, ValueError):
        return False
