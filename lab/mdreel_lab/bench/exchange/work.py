"""What a process of a pair is told."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mdreel_lab.bench.exchange.models import MODELS, Model

PATIENCE = 120.0
"""How long a process waits for its partner, s."""


@dataclass(frozen=True)
class Work:
    """What a pair of processes has to do.

    Attributes
    ----------
    solution, synchronisation : str
        How frames go from one to the other, and how the other knows.
    model : str
        One of `MODELS`.
    n_frames : int
        How many frames.
    period : float
        How long the simulation computes a frame, s.
    analysis : float
        How long the analysis does, s.
    place : str
        A folder that both see.
    producer_memory, consumer_memory : str
        Folders in the memory of the hosts; the same if that is one host.
    address : str
        Of the producer's host, as the consumer reaches it.
    port : int
        A free one there, and the next.
    far : bool
        Whether the two are on different hosts.
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

    @property
    def molecule(self) -> Model:
        """The model."""
        return MODELS[self.model]

    @property
    def folder(self) -> Path:
        """The folder that both see."""
        return Path(self.place)

    def to_json(self) -> str:
        """Return it as a line."""
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, text: str) -> "Work":
        """Return what `to_json` has made a line of."""
        values: Mapping[str, Any] = json.loads(text)
        return cls(**values)
