"""What a pair of processes has to do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TypeVar

TIME_LIMIT = 60.0
"""How long a process waits for its partner, s."""

Made = TypeVar("Made")


@dataclass(frozen=True)
class Work:
    """Frames that go from a producer to a consumer.

    Parameters
    ----------
    n_bytes
        Of a frame.
    n_frames
        How many count, after as many as ``n_first`` that do not.
    n_first
        For which buffers are touched for the first time.
    place
        Folder for what the two have in common.
    n_arrays
        Of three ``float32`` an atom, in which mdreel has the bytes: positions, or positions and velocities.
    seconds
        If not 0: frames follow one another without a pause for so long, whatever ``n_frames`` says.
    cores
        Which core the producer's and the consumer's own thread stay on; by default on any.
    clock
        ``monotonic``, or ``realtime`` for hosts with clocks of their own.
    address
        Of the producer's host, as the consumer reaches it.
    port
        A free one there.
    """

    n_bytes: int
    n_frames: int
    n_first: int
    place: str
    n_arrays: int = 2
    seconds: float = 0.0
    cores: tuple[int, int] | None = None
    clock: str = "monotonic"
    address: str = "127.0.0.1"
    port: int = 0

    def to_json(self) -> str:
        """Return the work as a word of a command."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Work:
        """Return what `to_json` was made of."""
        return cls(**json.loads(text))

    def now(self) -> int:
        """Return the time on a clock that both processes have, ns."""
        return time.monotonic_ns() if self.clock == "monotonic" else time.time_ns()


def when_there(make: Callable[[], Made], *errors: type[BaseException]) -> Made:
    """Return what is made, as soon as the partner is there."""
    until = time.monotonic() + TIME_LIMIT
    while time.monotonic() < until:
        with suppress(*errors):
            return make()
        time.sleep(0.01)
    return make()
