"""Server addresses, such as tcp/10.0.0.1:7447."""

import ipaddress
import re
import socket

from mdreel.errors import MismatchError

_ENDPOINT = re.compile(r"(tcp|tls)/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]*):([0-9]{1,5})")


def check_endpoint(endpoint: str, *, listens: bool = False, all_interfaces: bool = False) -> None:
    """Check an address such as ``tcp/10.0.0.1:7447``.

    Raises
    ------
    MismatchError
        If the address is invalid, or if it stands for all interfaces and `all_interfaces` is false.
    """
    found = _ENDPOINT.fullmatch(endpoint)
    if found is None or not 0 < int(found[3]) < 65536:
        raise MismatchError(f"expected an address such as tcp/10.0.0.1:7447 or tls/node1:7447, got {endpoint!r}")
    if listens and not all_interfaces and any(place.is_unspecified for place in resolve_host(found[2])):
        raise MismatchError(f"{endpoint}: this address means all interfaces; choose one, or allow them all")


def is_local(endpoint: str) -> bool:
    """Return whether an address can be reached only from this machine."""
    return all(place.is_loopback for place in resolve_host(host_and_port(endpoint)[0]))


def host_and_port(endpoint: str) -> tuple[str, int]:
    """Split a valid address into host and port."""
    found = _ENDPOINT.fullmatch(endpoint)
    assert found is not None, "it was checked"
    return found[2], int(found[3])


def resolve_host(host: str) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """Resolve a host to its IP addresses."""
    host = host.strip("[]")
    try:
        return [ipaddress.ip_address(host)]
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise MismatchError(f"{host}: unknown host: {error}") from error
    return [ipaddress.ip_address(str(place[4][0]).partition("%")[0]) for place in found]
