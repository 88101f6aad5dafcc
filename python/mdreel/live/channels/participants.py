"""Processes that have joined a channel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from mdreel.foundation.printable import printable

_MOST_NAMED = 3


@dataclass(frozen=True)
class Participant:
    """Description that a process provides when it joins a channel.

    Attributes
    ----------
    process : int
        Process ID, in the namespace of its host.
    command : str
        Command line. If it was truncated, it ends with ``…``.
    host : str
        Name of the host or container.
    joined : float
        Time at which the process joined, in seconds since 1970.
    """

    process: int
    command: str
    host: str
    joined: float

    @classmethod
    def from_core(cls, facts: Mapping[str, Any] | None) -> Self | None:
        """Convert a description from the core. Return None if the participant is unknown."""
        if facts is None:
            return None
        host, command = printable(facts["host"]), printable(facts["command"])
        return cls(facts["process"], command, host, float(facts["joined"]))

    def __str__(self) -> str:
        return f"process {self.process} ({self.command}) on {self.host}"


@dataclass(frozen=True)
class ConsumerStatus:
    """Snapshot of a channel's consumer.

    Attributes
    ----------
    process : Participant or None
        Process of the consumer, or None if it is unknown.
    lag : int or None
        Number of frames by which the consumer lags behind, or None if producers never wait for the consumer.
    takes_latest : bool
        Whether the consumer receives only the newest frame (``policy="latest"``).
    is_waited_for : bool
        Whether the producer is waiting for this consumer.
    """

    process: Participant | None
    lag: int | None
    takes_latest: bool
    is_waited_for: bool

    @classmethod
    def from_core(cls, facts: Mapping[str, Any]) -> Self:
        """Convert a description from the core."""
        process = Participant.from_core(facts["process"])
        return cls(process, facts["lag"], facts["takes_latest"], facts["is_waited_for"])

    def __str__(self) -> str:
        return "an unknown process" if self.process is None else str(self.process)


def name_consumers(consumers: Sequence[ConsumerStatus]) -> str:
    """Return a list of the consumers' processes in words, or ``a consumer`` if there are no consumers."""
    names = list(dict.fromkeys(map(str, consumers)))
    if len(names) > _MOST_NAMED:
        names[_MOST_NAMED:] = [f"{len(names) - _MOST_NAMED} other processes"]
    *before, last = names or ["a consumer"]
    return f"{', '.join(before)} and {last}" if before else last
