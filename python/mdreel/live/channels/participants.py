"""Processes that take part in a channel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from mdreel.foundation.printable import printable

_MOST_NAMED = 3


@dataclass(frozen=True)
class Participant:
    """Process that has joined a channel, as it has described itself.

    Attributes
    ----------
    process : int
        Process ID, in the namespace of its host.
    command : str
        Command line; long ones end with ``…``.
    host : str
        Name of the host or container.
    joined : float
        Time at which the process joined, s since 1970.
    """

    process: int
    command: str
    host: str
    joined: float

    @classmethod
    def from_core(cls, facts: Mapping[str, Any] | None) -> Self | None:
        """Return the participant that the core describes; None if it is not known."""
        if facts is None:
            return None
        host, command = printable(facts["host"]), printable(facts["command"])
        return cls(facts["process"], command, host, float(facts["joined"]))

    def __str__(self) -> str:
        return f"process {self.process} ({self.command}) on {self.host}"


@dataclass(frozen=True)
class ConsumerStatus:
    """Snapshot of a consumer of a channel.

    Attributes
    ----------
    process : Participant or None
        Its process; None if it is not known.
    lag : int or None
        Lag in frames; None if no producer has to wait for the consumer.
    takes_latest : bool
        Whether the consumer takes only the newest frame (``policy="latest"``).
    is_waited_for : bool
        Whether the producer is waiting for this consumer.
    """

    process: Participant | None
    lag: int | None
    takes_latest: bool
    is_waited_for: bool

    @classmethod
    def from_core(cls, facts: Mapping[str, Any]) -> Self:
        """Return the consumer that the core describes."""
        process = Participant.from_core(facts["process"])
        return cls(process, facts["lag"], facts["takes_latest"], facts["is_waited_for"])

    def __str__(self) -> str:
        return "an unknown process" if self.process is None else str(self.process)


def name_consumers(consumers: Sequence[ConsumerStatus]) -> str:
    """Return the processes of consumers as a list in words; ``a consumer`` without consumers."""
    names = list(dict.fromkeys(map(str, consumers)))
    if len(names) > _MOST_NAMED:
        names[_MOST_NAMED:] = [f"{len(names) - _MOST_NAMED} other processes"]
    *before, last = names or ["a consumer"]
    return f"{', '.join(before)} and {last}" if before else last
