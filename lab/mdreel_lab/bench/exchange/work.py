"""Orders of the processes of a pair."""

import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import TypeVar

from mdreel_lab.bench.exchange.models import FRAMES, MODELS, Model
from mdreel_lab.bench.records import JsonLine

_PORTS = range(20_000, 30_000, 2)
"""Ports below those that systems give to connections."""

T = TypeVar("T")

PATIENCE = 120.0
"""Timeout of a process that waits for its partner, s."""

PERIOD, ANSWERED, STREAM = "period", "answered", "stream"
"""Pace of frames: periodic; each shortly after the consumer has taken the previous one; or without a pause."""


@dataclass(frozen=True)
class Work(JsonLine):
    """The order of a pair of processes.

    Attributes
    ----------
    period, analysis, seconds : float
        Time in which the simulation computes a frame, and duration of its analysis, s; if frames are not periodic,
        the maximum duration of the measurement.
    place : str
        A folder that both see.
    producer_memory, consumer_memory : str
        Folders in the memory of the hosts; the same if that is one host.
    address, port : str, int
        Address of the producer's host for the consumer, and a free port; the next port is free as well.
    far : bool
        Whether the two are on different hosts.
    pace : str
        `PERIOD`, `ANSWERED` or `STREAM`.
    n_sleeps : int
        Number of times that the simulation sleeps to compute a frame; together, the sleeps take the period.
    cores : tuple of int, optional
        The core of the producer's and of the consumer's own thread.
    """

    solution: str
    synchronisation: str
    model: str
    n_frames: int
    period: float
    analysis: float
    place: str
    producer_memory: str
    consumer_memory: str
    address: str
    port: int
    far: bool
    pace: str = PERIOD
    seconds: float = 0.0
    n_sleeps: int = 1
    cores: tuple[int, int] | None = None

    @property
    def molecule(self) -> Model:
        """The model."""
        return (MODELS | FRAMES)[self.model]

    @property
    def folder(self) -> Path:
        """The folder that both see."""
        return Path(self.place)


def free_port() -> int:
    """Return a port that is free on this host, like the next one.

    The system gives such ports to no connection by itself, so that they stay free until a server listens.
    """
    while True:
        port = _PORTS[secrets.randbelow(len(_PORTS))]
        here, beside = ("127.0.0.1", port), ("127.0.0.1", port + 1)
        with suppress(OSError), socket.create_server(here), socket.create_server(beside):
            return port


def when_there(make: Callable[[], T], *errors: type[BaseException]) -> T:
    """Call ``make`` until it raises none of the given errors, because the partner is ready; return its value."""
    until = monotonic() + PATIENCE
    while monotonic() < until:
        with suppress(*errors):
            return make()
        sleep(0.01)
    return make()
