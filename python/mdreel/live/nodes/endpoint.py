"""Addresses of servers, such as tcp/10.0.0.1:7447."""

import ipaddress
import re
import socket

from mdreel.errors import MismatchError

_ENDPOINT = re.compile(r"(tcp|tls)/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]*):([0-9]{1,5})")


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
    if listens and not all_interfaces and any(place.is_unspecified for place in places_of(found[2])):
        raise MismatchError(f"{endpoint}: this listens at all interfaces: name one, or ask for all of them")


def is_local(endpoint: str) -> bool:
    """Whether only this machine can reach an address."""
    return all(place.is_loopback for place in places_of(host_and_port(endpoint)[0]))


def host_and_port(endpoint: str) -> tuple[str, int]:
    """Return host and port of an address that was checked."""
    found = _ENDPOINT.fullmatch(endpoint)
    assert found is not None, "it was checked"
    return found[2], int(found[3])


def places_of(host: str) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """Return which numbers a host has."""
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
