"""Zenoh, raw: a publisher and a subscriber joined by one TCP connection, without routers or scouting."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import zenoh

from peers.channels.work import TIME_LIMIT, Work

KEY = "mdreel/frames"
SHARED = False
"""Whether frames lie in shared memory."""


def open_session(work: Work, side: str, *, shared: bool) -> Any:
    """Return a session that listens or connects."""
    config = zenoh.Config()
    endpoint = f"tcp/{work.address}:{work.port}"
    settings = {
        "mode": "peer",
        f"{side}/endpoints": [endpoint],
        "scouting/multicast/enabled": False,
        "transport/shared_memory/enabled": shared,
    }
    if side == "connect":
        settings |= {"listen/endpoints": [], "connect/timeout_ms": int(1000 * TIME_LIMIT)}
    for name, value in settings.items():
        config.insert_json5(name, json.dumps(value))
    return zenoh.open(config)


class Producer:
    """Puts frames; waits where the connection is full."""

    def __init__(self, work: Work, *, shared: bool = SHARED) -> None:
        self.session = open_session(work, "listen", shared=shared)
        self.publisher = self.session.declare_publisher(KEY, congestion_control=zenoh.CongestionControl.BLOCK)
        until = time.monotonic() + TIME_LIMIT
        while not self.publisher.matching_status.matching and time.monotonic() < until:
            time.sleep(0.01)

    def publish(self, number: int, frame: np.ndarray) -> None:
        """Put one."""
        self.publisher.put(frame.tobytes())

    def close(self) -> None:
        """End the session."""
        self.session.close()


class Consumer:
    """Receives frames."""

    def __init__(self, work: Work, *, shared: bool = SHARED) -> None:
        self.session = open_session(work, "connect", shared=shared)
        self.subscriber = self.session.declare_subscriber(KEY)

    def take(self) -> list[Any]:
        """Receive the next."""
        return [np.frombuffer(self.subscriber.recv().payload.to_bytes(), np.uint8)]

    def close(self) -> None:
        """End the session."""
        self.session.close()
