"""Unauthenticated connections of a hub."""

from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

MOST = 16
"""So many connections wait in a lobby; clients that were let in are counted elsewhere."""
MOST_OF_ONE = 8
"""So many of them may come from one address, so that no host keeps the others out."""


class Waiting(Protocol):
    """A connection that waits."""

    @property
    def host(self) -> Hashable:
        """The address that it has come from."""

    def drop(self, why: str) -> None:
        """Have it end at once."""


W = TypeVar("W", bound=Waiting)


class Lobby(Generic[W]):
    """Connections that wait, the oldest first. It is never full: the oldest goes, and first one of the same address.

    Parameters
    ----------
    most, most_of_one : int
        How many wait at most, and how many of these may have one address.
    note : callable
        Called with a line of text for each connection that has to go.

    Notes
    -----
    Somebody who opens connections and says nothing can drop nobody but those that say nothing either: who has said what
    is expected has left the lobby.
    """

    def __init__(
        self, note: Callable[[str], object] = lambda line: None, most: int = MOST, most_of_one: int = MOST_OF_ONE
    ) -> None:
        self._note = note
        self._most = most
        self._most_of_one = most_of_one
        self._waiting: list[W] = []

    def enter(self, one: W) -> None:
        """Let a connection wait; drop the oldest where there are too many."""
        of_one = [other for other in self._waiting if other.host == one.host]
        goes = of_one[0] if len(of_one) >= self._most_of_one else None
        if goes is None and len(self._waiting) >= self._most:
            goes = self._waiting[0]
        if goes is not None:
            self._waiting.remove(goes)
            why = "too many connections wait, and this one has waited longest"
            goes.drop(why)
            self._note(f"{goes.host}: refused: {why}")
        self._waiting.append(one)

    def leave(self, one: W) -> None:
        """Note that a connection waits no more, whatever became of it."""
        if one in self._waiting:
            self._waiting.remove(one)

    def __len__(self) -> int:
        return len(self._waiting)

    def all(self) -> list[W]:
        """Return who waits."""
        return list(self._waiting)
