"""Links between nodes: addresses, who may connect, and the settings of Zenoh that follow from these."""

import ipaddress
import json
import os
import re
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from mdreel.errors import MismatchError, StreamTimeoutError, UnsupportedError

if TYPE_CHECKING:
    import zenoh

SILENCE_SECONDS = 3.0
"""Who has said nothing for so long is not there, for now."""
BEAT_SECONDS = 0.5
"""Who has nothing to say says so this often."""

_ENDPOINT = re.compile(r"(tcp|tls)/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]*):([0-9]{1,5})")
_USER = "mdreel"
_LEAST_TOKEN = 16
_CONNECT_SECONDS = 2.0
_AGAIN_SECONDS = 0.2


@dataclass(frozen=True)
class Security:
    """Who may connect: those who have the token, or whose certificates are of the same authority.

    Attributes
    ----------
    token_file : path, optional
        A file of the user's alone with a secret of 16 characters or more, which both sides have.
    certificate, key : path, optional
        The certificate of this side and its private key, PEM; for ``tls/`` addresses.
    authority : path, optional
        The certificate of the authority by which the other side is known, PEM.
    """

    token_file: str | PathLike[str] | None = None
    certificate: str | PathLike[str] | None = None
    key: str | PathLike[str] | None = None
    authority: str | PathLike[str] | None = None

    @property
    def has_tls(self) -> bool:
        """Whether both sides show certificates."""
        return self.certificate is not None

    @property
    def is_there(self) -> bool:
        """Whether anything at all keeps strangers out."""
        return self.has_tls or self.token_file is not None

    def check(self, endpoint: str) -> None:
        """Check that it goes with an address.

        Raises
        ------
        MismatchError
            If certificates are said in part, or without a ``tls/`` address, or the other way round.
        FileNotFoundError
            If a file is not there.
        PermissionError
            If others may read a secret.
        """
        of_tls = [path for path in (self.certificate, self.key, self.authority) if path is not None]
        if len(of_tls) not in (0, 3):
            raise MismatchError(f"{endpoint}: TLS needs a certificate, its key and the authority's certificate")
        if endpoint.startswith("tls/") != self.has_tls:
            raise MismatchError(f"{endpoint}: certificates go with an address that begins with tls/, and the other way")
        secrets = [path for path in (self.key, self.token_file) if path is not None]
        for path in (*of_tls, *secrets):
            if not Path(path).is_file():
                raise FileNotFoundError(2, "no such file", str(path))
        for secret in secrets:
            mode = Path(secret).stat().st_mode
            if mode & 0o077:
                raise PermissionError(13, f"expected no rights for others, got mode {mode & 0o7777:o}", str(secret))

    def token(self) -> str | None:
        """Read the token.

        Raises
        ------
        MismatchError
            If it is too short, or nothing that fits into one line.
        """
        if self.token_file is None:
            return None
        token = Path(self.token_file).read_text(encoding="utf-8").strip()
        if len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable() or ":" in token:
            expected = f"{_LEAST_TOKEN} or more printable ASCII characters without a colon, in one line"
            raise MismatchError(f"{self.token_file}: expected a token of {expected}")
        return token


def check_endpoint(endpoint: str, *, listens: bool = False, all_interfaces: bool = False) -> None:
    """Check an address, as ``tcp/10.0.0.1:7447``.

    Raises
    ------
    MismatchError
        If it is none, or is to be listened at and is that of all interfaces, which nobody has asked for.
    """
    found = _ENDPOINT.fullmatch(endpoint)
    if found is None or not 0 < int(found[3]) < 65536:
        raise MismatchError(f"expected an address as tcp/10.0.0.1:7447 or tls/node1:7447, got {endpoint!r}")
    if listens and not all_interfaces and any(place.is_unspecified for place in _places(found[2])):
        raise MismatchError(f"{endpoint}: this listens at all interfaces: name one, or ask for all of them")


def is_local(endpoint: str) -> bool:
    """Whether only this machine can reach an address."""
    found = _ENDPOINT.fullmatch(endpoint)
    return found is not None and all(place.is_loopback for place in _places(found[2]))


def _places(host: str) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    host = host.strip("[]")
    try:
        return [ipaddress.ip_address(host)]
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise MismatchError(f"{host}: no such host: {error}") from error
    return [ipaddress.ip_address(str(place[4][0]).partition("%")[0]) for place in found]


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
    settings: dict[str, Any] = {"mode": "peer", "listen/endpoints": [endpoint]}
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
        By what we are known there.
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
    token = security.token()
    until = monotonic() + wait
    while True:
        try:
            opened = _opened(endpoint, settings, security, token)
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
