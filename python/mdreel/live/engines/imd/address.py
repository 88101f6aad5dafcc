"""Addresses of hubs: host and port."""

import ipaddress
import re
import socket
from typing import NamedTuple, Self

from mdreel.errors import MismatchError

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]*):([0-9]{1,5})")

Place = ipaddress.IPv4Address | ipaddress.IPv6Address


class Address(NamedTuple):
    """Where somebody listens.

    Attributes
    ----------
    host : str
        A name or a number.
    port : int
        The port.
    """

    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> Self:
        """Return what was typed.

        Raises
        ------
        MismatchError
            If it is no address.
        """
        found = _ADDRESS.fullmatch(text)
        if found is None or int(found[2]) > 65535:
            raise MismatchError(f"expected an address as 127.0.0.1:8889, got {text!r}")
        return cls(found[1].strip("[]"), int(found[2]))

    def places(self) -> list[Place]:
        """Return which numbers the host has.

        Raises
        ------
        MismatchError
            If there is no such host.
        """
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise MismatchError(f"{self}: no such host: {error}") from error
        return [place_of_peer(str(each[4][0])) for each in found]

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return all(place.is_loopback for place in self.places())

    @property
    def is_everywhere(self) -> bool:
        """Whether it stands for all interfaces."""
        return any(place.is_unspecified for place in self.places())

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def place_of_peer(host: str) -> Place:
    """Return the number of a host, that of IPv4 where it was written as one of IPv6."""
    place = ipaddress.ip_address(host.partition("%")[0])
    return getattr(place, "ipv4_mapped", None) or place
