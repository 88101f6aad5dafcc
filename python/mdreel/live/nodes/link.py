"""Zenoh sessions between nodes, which are configured by an address and its security settings."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from mdreel.errors import StreamTimeoutError, UnsupportedError
from mdreel.live.nodes.local_token import find_token
from mdreel.live.nodes.security import Security

if TYPE_CHECKING:
    import zenoh

SILENCE_SECONDS = 3.0
"""Time without messages after which a peer is considered to be away, in s."""
BEAT_SECONDS = 0.5
"""Interval between heartbeats, in s."""

_USER = "mdreel"
_CONNECT_SECONDS = 2.0
_AGAIN_SECONDS = 0.2
_MOST_MESSAGE_BYTES = 4 << 20
"""Maximum size of a message that Zenoh accepts. It limits the memory that a peer can occupy."""
_HANDSHAKE_MILLISECONDS = 2000
_MOST_SHAKING_HANDS = 32
_MOST_SESSIONS = 128
"""Maximum number of Zenoh sessions, which is twice the number of relays that a server accepts."""


@contextmanager
def listen_at(endpoint: str, security: Security) -> Iterator["zenoh.Session"]:
    """Listen at an address for the duration of the context. Raise OSError if the address is not available."""
    security.check(endpoint)
    token = security.read_token()
    settings: dict[str, Any] = {
        "mode": "peer",
        "listen/endpoints": [endpoint],
        # Silent connections time out quickly, and do not count as sessions of relays.
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
        opened = _open_session(endpoint, settings, security, token)
    try:
        yield opened
    finally:
        _close(opened)


@contextmanager
def connect_to(endpoint: str, security: Security, wait: float) -> Iterator["zenoh.Session"]:
    """Connect to an address within `wait` s, for the duration of the context.

    Zenoh reconnects after interruptions. For a loopback address, the token of this user's server is used by default. It
    is looked up again for every attempt.

    Raises
    ------
    StreamTimeoutError
        If the server does not answer, or refuses the connection.
    """
    security.check(endpoint)
    settings = {
        "mode": "client",
        "connect/endpoints": [endpoint],
        "connect/timeout_ms": int(1000 * _CONNECT_SECONDS),
        "connect/exit_on_failure": True,
        "connect/retry": {"period_init_ms": 200, "period_max_ms": 400, "period_increase_factor": 2},
        # An attempt during a cut ends soon, so that the next one finds a link that is up only for a moment.
        "transport/unicast/open_timeout": _HANDSHAKE_MILLISECONDS,
    }
    until = monotonic() + wait
    while True:
        shown = security if security.is_set else Security(find_token(endpoint))
        try:
            opened = _open_session(endpoint, settings, shown, shown.read_token())
        except OSError as error:
            if monotonic() >= until:
                message = f"no server answers within {wait:g} s, or it refuses the token or certificate"
                advice = "check the address and the token, or wait longer (wait=, --wait)"
                raise StreamTimeoutError(f"{endpoint}: {message}; {advice}") from error
            sleep(_AGAIN_SECONDS)
        else:
            break
    try:
        yield opened
    finally:
        _close(opened)


@contextmanager
def ignoring_transport_errors() -> Iterator[None]:
    """Ignore Zenoh errors, for messages that are sent again after an interruption."""
    import zenoh

    with suppress(zenoh.ZError):
        yield


def _open_session(where: str, settings: dict[str, Any], security: Security, token: str | None) -> "zenoh.Session":
    try:
        import zenoh
    except ImportError as error:
        raise UnsupportedError("channels across nodes require Zenoh; run: pip install 'mdreel[nodes]'") from error
    common: dict[str, Any] = {
        # Disable discovery: peers connect only to the configured addresses.
        "scouting/multicast/enabled": False,
        "scouting/gossip/enabled": False,
        "adminspace/enabled": False,
        "transport/shared_memory/enabled": False,
        "transport/link/tx/lease": int(1000 * SILENCE_SECONDS),
        # The longest possible queue of 64 KiB batches, so that the sender seldom waits.
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
    with ignoring_transport_errors():  # closing an interrupted session fails
        opened.close()  # type: ignore[no-untyped-call]
