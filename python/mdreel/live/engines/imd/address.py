"""TCP addresses of the form 127.0.0.1:8889."""

import ipaddress
import re
import socket
from typing import NamedTuple, Self

from mdreel.errors import MismatchError

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]*):([0-9]{1,5})")

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class Address(NamedTuple):
    """Host and port of a listening socket.

    Attributes
    ----------
    host : str
        Host name or IP address.
    port : int
        Port number.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse an address. Raise MismatchError if the text is not a valid address."""
        found = _ADDRESS.fullmatch(text)
        if found is None or int(found[2]) > 65535:
            raise MismatchError(f"expected an address such as 127.0.0.1:8889, got {text!r}")
        return cls(found[1].strip("[]"), int(found[2]))

    def ip_addresses(self) -> list[IPAddress]:
        """Resolve the host to its IP addresses. Raise MismatchError if the host is unknown."""
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise MismatchError(f"{self}: unknown host: {error}") from error
        return [parse_ip_address(str(each[4][0])) for each in found]

    @property
    def is_local(self) -> bool:
        """Whether the address can be reached only from this machine."""
        return all(place.is_loopback for place in self.ip_addresses())

    @property
    def is_everywhere(self) -> bool:
        """Whether the address stands for all interfaces."""
        return any(place.is_unspecified for place in self.ip_addresses())

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_ip_address(host: str) -> IPAddress:
    """Parse an IP address. IPv4-mapped IPv6 addresses are converted to IPv4."""
    place = ipaddress.ip_address(host.partition("%")[0])
    return getattr(place, "ipv4_mapped", None) or place
