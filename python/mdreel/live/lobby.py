"""Pending connections, for which the handshake is not complete yet."""

from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

MOST = 16
"""Maximum number of pending connections."""
MOST_OF_ONE = 8
"""Maximum number of pending connections from the same address. Without this limit, a host could block others."""


class Waiting(Protocol):
    """Pending connection."""

    @property
    def host(self) -> Hashable:
        """Address of the peer."""

    def drop(self, why: str) -> None:
        """Close the connection, and give a reason."""


W = TypeVar("W", bound=Waiting)


class Lobby(Generic[W]):
    """Queue of pending connections. If it is full, a new connection displaces the oldest connection.

    Parameters
    ----------
    most, most_of_one : int
        Maximum number of pending connections, in total and from the same address.
    note : callable
        Function that is called with a line of text for each displaced connection.

    Notes
    -----
    If a peer opens many connections without completing the handshake, it can displace only other pending connections,
    because connections leave the queue when their handshake is complete.
    """

    def __init__(
        self, note: Callable[[str], object] = lambda line: None, most: int = MOST, most_of_one: int = MOST_OF_ONE
    ) -> None:
        self._note = note
        self._most = most
        self._most_of_one = most_of_one
        self._waiting: list[W] = []

    def enter(self, one: W) -> None:
        """Add a connection. If there are too many connections, drop the oldest of them."""
        of_one = [other for other in self._waiting if other.host == one.host]
        goes = of_one[0] if len(of_one) >= self._most_of_one else None
        if goes is None and len(self._waiting) >= self._most:
            goes = self._waiting[0]
        if goes is not None:
            self._waiting.remove(goes)
            why = "too many pending connections, of which this is the oldest"
            goes.drop(why)
            self._note(f"{goes.host}: refused: {why}")
        self._waiting.append(one)

    def leave(self, one: W) -> None:
        """Remove a connection if it is pending."""
        if one in self._waiting:
            self._waiting.remove(one)

    def __len__(self) -> int:
        return len(self._waiting)

    def all(self) -> list[W]:
        """Return the pending connections."""
        return list(self._waiting)
