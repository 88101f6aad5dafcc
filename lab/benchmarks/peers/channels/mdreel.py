"""mdreel's channel: positions, and velocities if there are two arrays, as float32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import mdreel
from peers.channels.work import TIME_LIMIT, Work


def place_of(work: Work) -> Path:
    """Return the channel's directory."""
    return Path(work.place) / "channel"


class Producer:
    """Publishes."""

    def __init__(self, work: Work) -> None:
        self.shape = (work.n_arrays, work.n_bytes // (12 * work.n_arrays), 3)
        settings = {"velocities": work.n_arrays > 1, "timeout": TIME_LIMIT}
        self.producer = mdreel.live.Producer(place_of(work), self.shape[1], **settings)
        self.producer.open().await_consumers(timeout=TIME_LIMIT)

    def publish(self, number: int, frame: np.ndarray) -> None:
        """Publish a frame."""
        arrays = frame.view(np.float32).reshape(self.shape)
        velocities = arrays[1] if len(arrays) > 1 else None
        self.producer.publish(arrays[0], number, 0.002 * number, velocities=velocities)

    def close(self) -> None:
        """End the channel."""
        self.producer.end()


class Consumer:
    """Takes frames where they lie."""

    def __init__(self, work: Work) -> None:
        self.consumer = mdreel.live.Consumer(place_of(work), timeout=TIME_LIMIT, wait=TIME_LIMIT).open()

    def take(self) -> list[Any]:
        """Take the next frame."""
        frame = self.consumer.next()
        return [array for array in (frame.positions, frame.velocities) if array is not None]

    def close(self) -> None:
        """Leave."""
        self.consumer.close()
