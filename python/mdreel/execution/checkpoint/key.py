"""The user's secret key, which authenticates checkpoints."""

import os
import secrets
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from mdreel.errors import UnsupportedError
from mdreel.foundation.atomic_files import sync_directory
from mdreel.foundation.trusted_files import check_trusted

KEY_VARIABLE = "MDREEL_KEY_FILE"
"""Environment variable that contains an alternative path for the key."""

_N_BYTES = 32


def key_path() -> Path:
    """Return the path of the user's key, which is ``$MDREEL_KEY_FILE`` or a file in the user's state directory."""
    if named := os.environ.get(KEY_VARIABLE):
        return Path(named)
    state = Path(os.environ.get("XDG_STATE_HOME") or "")
    return (state if state.is_absolute() else Path("~/.local/state").expanduser()) / "mdreel" / "checkpoint.key"


def user_key() -> bytes:
    """Return the key of this user. If there is no key yet, it is created.

    Raises
    ------
    UnsupportedError
        If the file belongs to another user, can be read by other users, does not contain a key, or cannot be created.
    """
    path = key_path()
    try:
        return _read(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        _make(path)
        return _read(path)
    except OSError as error:
        raise _unusable(path, error) from error


def name_of_key(key: bytes) -> str:
    """Return an identifier for a key that does not reveal anything about the key."""
    return sha256(b"mdreel: name of a key" + key).hexdigest()[:16]


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        check_trusted(descriptor, path)
        if stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o077:
            message = "other users may read the secret key: remove it; its checkpoints are then invalid"
            raise UnsupportedError(message, path=path)
        key = os.read(descriptor, _N_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(key) != _N_BYTES:
        raise UnsupportedError(
            f"expected a key of {_N_BYTES} bytes: remove the file, mdreel creates another", path=path
        )
    return key


def _make(path: Path) -> None:
    """Create a key atomically. If several processes create a key, the first key is used."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(8)}.part")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.write(descriptor, secrets.token_bytes(_N_BYTES))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        with suppress(FileExistsError):
            os.link(temporary, path)
            sync_directory(path.parent)
    finally:
        temporary.unlink()


def _unusable(path: Path, error: OSError) -> UnsupportedError:
    message = f"cannot store the key that protects your checkpoints: {error.strerror or error}"
    return UnsupportedError(f"{message}: set {KEY_VARIABLE} to a file that all nodes of the run can read", path=path)
