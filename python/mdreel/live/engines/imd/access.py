"""Access control for IMD hubs. The IMD protocol itself has no authentication."""

import hmac
import ipaddress
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path

from mdreel.errors import MismatchError
from mdreel.live.engines.imd.address import Address, IPAddress, parse_ip_address
from mdreel.live.nodes.security import Security

TOKEN_BEGINS = b"MDREEL "
"""Prefix of a line that contains a token. IMD messages never start with this prefix."""
_ESTABLISHED = "01"
_ROOT = 0


def read_token_file(token_file: str | PathLike[str] | None) -> str | None:
    """Read and check a token file; see `Security`.

    Raises
    ------
    FileNotFoundError, PermissionError
        If the file does not exist, or if other users can read it.
    MismatchError
        If the file does not contain a valid token.
    """
    security = Security(token_file)
    security.check("tcp/")
    return security.read_token()


def token_line(token: str) -> bytes:
    """Return the line that a client sends to transmit its token before it requests frames."""
    return TOKEN_BEGINS + token.encode() + b"\n"


class HubAccess:
    """Rules that determine which clients are allowed to connect.

    Parameters
    ----------
    listen : Address
        Address at which the hub listens.
    allow : sequence of str
        Hosts, or networks such as ``10.0.0.0/24``, from which all users are allowed to connect.
    token : str, optional
        Token that clients have to send.

    Raises
    ------
    MismatchError
        If a host or network is invalid, or if anyone could connect.

    Notes
    -----
    If neither `allow` nor `token` is given, only this user and root are allowed to connect, and only from this machine.
    The kernel reports which user has opened a local connection.
    """

    def __init__(self, listen: Address, allow: Sequence[str] = (), token: str | None = None) -> None:
        try:
            self._networks = [ipaddress.ip_network(each) for each in allow]
        except ValueError as error:
            raise MismatchError(f"expected hosts or networks as 10.0.0.0/24, got {list(allow)!r}: {error}") from error
        self._token = token
        self._user = os.geteuid()
        if not (self._networks or token is not None or listen.is_local):
            message = "anyone who can reach this address could read frames; name the allowed hosts or set a token"
            raise MismatchError(f"{listen}: {message}")

    @property
    def wants_token(self) -> bool:
        """Whether clients have to send a token."""
        return self._token is not None

    def is_token(self, line: bytes) -> bool:
        """Return whether a line contains the token."""
        return self._token is not None and hmac.compare_digest(line, token_line(self._token))

    def refusal(self, connection: socket.socket) -> str | None:
        """Return the reason for refusing a connection, or None if it is allowed."""
        peer = parse_ip_address(connection.getpeername()[0])
        if self._networks:
            return None if any(peer in network for network in self._networks) else "this host is not allowed"
        if self.wants_token:
            return None
        if not peer.is_loopback:
            return "another machine"
        user = peer_user(connection)
        return None if user in (_ROOT, self._user) else "another user" if user is not None else "nobody's"


def peer_user(connection: socket.socket) -> int | None:
    """Return the user at the other end of a local connection, or None if it has been closed."""
    ends = [(parse_ip_address(end[0]), end[1]) for end in (connection.getpeername(), connection.getsockname())]
    for local, remote, state, user in _connections():
        if [local, remote] == ends:
            # The kernel reports user 0 for a closed connection.
            return user if state == _ESTABLISHED else None
    return None


_End = tuple[IPAddress, int]


def _connections() -> Iterator[tuple[_End, _End, str, int]]:
    """Yield both ends, the state, and the user of the first end for each TCP connection on this machine."""
    for path in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        if path.exists():
            for line in path.read_text().splitlines()[1:]:
                _, local, remote, state, _, _, _, user, *_ = line.split()
                yield _end(local), _end(remote), state, int(user)


def _end(text: str) -> _End:
    """Parse an end of a connection in /proc/net/tcp, which consists of words in native byte order and the port."""
    digits, port = text.split(":")
    words = [int(digits[at : at + 8], 16) for at in range(0, len(digits), 8)]
    place = ipaddress.ip_address(b"".join(word.to_bytes(4, sys.byteorder) for word in words))
    return parse_ip_address(str(place)), int(port, 16)
