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
from mdreel.live.engines.imd.address import Address, Place, place_of_peer
from mdreel.live.nodes.security import Security

TOKEN_BEGINS = b"MDREEL "
"""What a line with a token begins with, which no message of IMD does."""
_ESTABLISHED = "01"
_ROOT = 0


def token_of(token_file: str | PathLike[str] | None) -> str | None:
    """Read a token, of which `Security` says what it must be.

    Raises
    ------
    FileNotFoundError, PermissionError
        If the file is not there, or others may read it.
    MismatchError
        If it holds no token.
    """
    security = Security(token_file)
    security.check("tcp/")
    return security.token()


def line_of(token: str) -> bytes:
    """Return the line by which a client shows its token, before it says that frames are to come."""
    return TOKEN_BEGINS + token.encode() + b"\n"


class Access:
    """Who may connect.

    Parameters
    ----------
    listen : Address
        Where clients come.
    allow : sequence of str
        Addresses of hosts, or of networks as ``10.0.0.0/24``, whose users may all connect.
    token : str, optional
        What clients have to show.

    Raises
    ------
    MismatchError
        If an address is none, or nothing keeps strangers out.

    Notes
    -----
    Without `allow` and `token` it is this user (and root) on this machine: whose a connection is that comes from the
    machine itself, the kernel says.
    """

    def __init__(self, listen: Address, allow: Sequence[str] = (), token: str | None = None) -> None:
        try:
            self._networks = [ipaddress.ip_network(each) for each in allow]
        except ValueError as error:
            raise MismatchError(f"expected hosts or networks as 10.0.0.0/24, got {list(allow)!r}: {error}") from error
        self._token = token
        self._user = os.geteuid()
        if not (self._networks or token is not None or listen.is_local):
            message = "anybody who reaches this address could take frames: say which hosts may connect, or a token"
            raise MismatchError(f"{listen}: {message}")

    @property
    def wants_token(self) -> bool:
        """Whether a client has to show a token."""
        return self._token is not None

    def is_token(self, line: bytes) -> bool:
        """Whether a line has the token."""
        return self._token is not None and hmac.compare_digest(line, line_of(self._token))

    def refusal(self, connection: socket.socket) -> str | None:
        """Return why somebody who has connected is sent away; None if he may stay."""
        peer = place_of_peer(connection.getpeername()[0])
        if self._networks:
            return None if any(peer in network for network in self._networks) else "this host is not allowed"
        if self.wants_token:
            return None
        if not peer.is_loopback:
            return "another machine"
        user = user_of(connection)
        return None if user in (_ROOT, self._user) else "another user" if user is not None else "nobody's"


def user_of(connection: socket.socket) -> int | None:
    """Return whose the other end of a connection is that comes from this machine; None if nobody holds it any more."""
    ends = [(place_of_peer(end[0]), end[1]) for end in (connection.getpeername(), connection.getsockname())]
    for local, remote, state, user in _connections():
        if [local, remote] == ends:
            # One that was closed belongs to nobody, and its user is said to be 0.
            return user if state == _ESTABLISHED else None
    return None


_End = tuple[Place, int]


def _connections() -> Iterator[tuple[_End, _End, str, int]]:
    """Look at the connections of this machine: both ends, the state, and the user of the first end."""
    for path in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        if path.exists():
            for line in path.read_text().splitlines()[1:]:
                _, local, remote, state, _, _, _, user, *_ = line.split()
                yield _end(local), _end(remote), state, int(user)


def _end(text: str) -> _End:
    """Return what the kernel has written of an end: words in its own byte order, and the port."""
    digits, port = text.split(":")
    words = [int(digits[at : at + 8], 16) for at in range(0, len(digits), 8)]
    place = ipaddress.ip_address(b"".join(word.to_bytes(4, sys.byteorder) for word in words))
    return place_of_peer(str(place)), int(port, 16)
