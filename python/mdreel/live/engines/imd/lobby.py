"""Pending connections of a hub, which have not completed the handshake yet."""

from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

MOST = 16
"""Maximum number of pending connections."""
MOST_OF_ONE = 8
"""Maximum number of pending connections from one address, so that no host blocks the others."""


class Waiting(Protocol):
    """Pending connection."""

    @property
    def host(self) -> Hashable:
        """Address of the peer."""

    def drop(self, why: str) -> None:
        """Close the connection for a reason."""


W = TypeVar("W", bound=Waiting)


class Lobby(Generic[W]):
    """Queue of pending connections, oldest first; a new connection displaces the oldest when the queue is full.

    Parameters
    ----------
    most, most_of_one : int
        Maximum number of pending connections, in total and from one address.
    note : callable
        Callable that receives a line of text for each displaced connection.

    Notes
    -----
    A peer that opens many silent connections displaces only pending connections, because connections leave the queue
    when their handshake completes.
    """

    def __init__(
        self, note: Callable[[str], object] = lambda line: None, most: int = MOST, most_of_one: int = MOST_OF_ONE
    ) -> None:
        self._note = note
        self._most = most
        self._most_of_one = most_of_one
        self._waiting: list[W] = []

    def enter(self, one: W) -> None:
        """Add a connection; drop the oldest one if there are too many."""
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
        """Remove a connection, if it is pending."""
        if one in self._waiting:
            self._waiting.remove(one)

    def __len__(self) -> int:
        return len(self._waiting)

    def all(self) -> list[W]:
        """Return the pending connections."""
        return list(self._waiting)
