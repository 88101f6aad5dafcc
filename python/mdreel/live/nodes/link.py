"""Zenoh settings of a connection between nodes."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from mdreel.errors import StreamTimeoutError, UnsupportedError
from mdreel.live.nodes.local_token import token_for
from mdreel.live.nodes.security import Security

if TYPE_CHECKING:
    import zenoh

SILENCE_SECONDS = 3.0
"""Who has said nothing for so long is not there, for now."""
BEAT_SECONDS = 0.5
"""Who has nothing to say says so this often."""

_USER = "mdreel"
_CONNECT_SECONDS = 2.0
_AGAIN_SECONDS = 0.2
_MOST_MESSAGE_BYTES = 4 << 20
"""Zenoh puts no larger message together: all of ours are smaller, and a stranger's takes no more memory."""
_HANDSHAKE_MILLISECONDS = 2000
_MOST_SHAKING_HANDS = 32
_MOST_SESSIONS = 128
"""Twice as many as the relays that a server serves."""


@contextmanager
def listening(endpoint: str, security: Security) -> Iterator["zenoh.Session"]:
    """Listen at an address, for as long as the context.

    Raises
    ------
    OSError
        If that cannot be, as somebody else does.
    """
    security.check(endpoint)
    token = security.token()
    settings: dict[str, Any] = {
        "mode": "peer",
        "listen/endpoints": [endpoint],
        # Who connects and says nothing holds a place for a short time, and not one of those that relays have.
        "transport/unicast/accept_timeout": _HANDSHAKE_MILLISECONDS,
        "transport/unicast/accept_pending": _MOST_SHAKING_HANDS,
        "transport/unicast/max_sessions": _MOST_SESSIONS,
    }
    with tempfile.TemporaryDirectory(prefix="mdreel-") as folder:  # 0700
        if token is not None:
            users = Path(folder) / "users"
            users.touch(0o600)
            users.write_text(f"{_USER}:{token}\n")
            settings["transport/auth/usrpwd/dictionary_file"] = str(users)
        opened = _opened(endpoint, settings, security, token)
    try:
        yield opened
    finally:
        _close(opened)


@contextmanager
def connected(endpoint: str, security: Security, wait: float) -> Iterator["zenoh.Session"]:
    """Connect to an address, for as long as the context; what is cut meanwhile is connected again.

    Parameters
    ----------
    endpoint : str
        The address.
    security : Security
        By what we are known there. At a loopback address it is by default the token of this user's server there, which
        is looked for again as long as nobody answers.
    wait : float
        For how long nobody may answer, s.

    Raises
    ------
    StreamTimeoutError
        If nobody answers, or who does refuses us.
    """
    security.check(endpoint)
    settings = {
        "mode": "client",
        "connect/endpoints": [endpoint],
        "connect/timeout_ms": int(1000 * _CONNECT_SECONDS),
        "connect/exit_on_failure": True,
        "connect/retry": {"period_init_ms": 200, "period_max_ms": 1000, "period_increase_factor": 2},
    }
    until = monotonic() + wait
    while True:
        shown = security if security.is_there else Security(token_for(endpoint))
        try:
            opened = _opened(endpoint, settings, shown, shown.token())
        except OSError as error:
            if monotonic() >= until:
                message = "nobody answers, or who does refuses our token or certificate"
                raise StreamTimeoutError(f"{endpoint}: {message}") from error
            sleep(_AGAIN_SECONDS)
        else:
            break
    try:
        yield opened
    finally:
        _close(opened)


def _opened(where: str, settings: dict[str, Any], security: Security, token: str | None) -> "zenoh.Session":
    try:
        import zenoh
    except ImportError as error:
        raise UnsupportedError("channels across nodes need Zenoh: pip install 'mdreel[nodes]'") from error
    common: dict[str, Any] = {
        # Nothing is found, nor can be found, but what was said.
        "scouting/multicast/enabled": False,
        "scouting/gossip/enabled": False,
        "adminspace/enabled": False,
        "transport/shared_memory/enabled": False,
        "transport/link/tx/lease": int(1000 * SILENCE_SECONDS),
        # Batches of 64 KiB that wait to be sent: as many as there may be, so that who has a frame seldom waits.
        "transport/link/tx/queue/size/data": 16,
        "transport/link/rx/max_message_size": _MOST_MESSAGE_BYTES,
    }
    if token is not None:
        common |= {"transport/auth/usrpwd/user": _USER, "transport/auth/usrpwd/password": token}
    if security.has_tls:
        side = "listen" if settings["mode"] == "peer" else "connect"
        common |= {
            "transport/link/tls/root_ca_certificate": os.fspath(security.authority or ""),
            "transport/link/tls/enable_mtls": True,
            f"transport/link/tls/{side}_certificate": os.fspath(security.certificate or ""),
            f"transport/link/tls/{side}_private_key": os.fspath(security.key or ""),
        }
    config = zenoh.Config()
    for name, value in (common | settings).items():
        config.insert_json5(name, json.dumps(value))
    try:
        return zenoh.open(config)
    except zenoh.ZError as error:
        raise OSError(f"{where}: {error}") from error


def _close(opened: "zenoh.Session") -> None:
    import zenoh

    with suppress(zenoh.ZError):  # what was cut cannot say goodbye
        opened.close()  # type: ignore[no-untyped-call]
