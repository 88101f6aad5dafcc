"""Zenoh, raw: a publisher and a subscriber joined by one TCP connection, with or without its shared memory.

Its Python package copies bytes into its shared memory and out of it.
"""

import json
import time
from typing import Any

import numpy as np

from mdreel_lab.bench.exchange.catalogue import ZENOH_SHARED
from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.solutions.side import Side
from mdreel_lab.bench.exchange.work import PATIENCE

_KEY = "mdreel/frames"
_N_POOLED = 4


class _Session(Side):
    """A session that listens or connects."""

    packages = ("zenoh",)

    def connect(self, side: str) -> None:
        """Open the session."""
        import zenoh

        self._zenoh: Any = zenoh
        self._shared = self.work.solution == ZENOH_SHARED
        config = zenoh.Config()
        settings: dict[str, Any] = {
            "mode": "peer",
            f"{side}/endpoints": [f"tcp/{self.work.address}:{self.work.port}"],
            "scouting/multicast/enabled": False,
            "transport/shared_memory/enabled": self._shared,
        }
        if side == "connect":
            settings |= {"listen/endpoints": [], "connect/timeout_ms": int(1000 * PATIENCE)}
        for name, value in settings.items():
            config.insert_json5(name, json.dumps(value))
        self._session: Any = zenoh.open(config)
        self.callback(self._session.close)


class Sender(_Session):
    """Puts frames; waits where the connection is full."""

    def open(self) -> None:
        """Wait for a subscriber."""
        self.connect("listen")
        control = self._zenoh.CongestionControl.BLOCK
        self._publisher = self._session.declare_publisher(_KEY, congestion_control=control)
        if self._shared:
            n_bytes = _N_POOLED * self.work.molecule.frame_bytes + (1 << 20)
            self._pool = self._zenoh.shm.ShmProvider.default_backend(n_bytes)
            self._policy = self._zenoh.shm.BlockOn(self._zenoh.shm.GarbageCollect())
        until = time.monotonic() + PATIENCE
        while not self._publisher.matching_status.matching and time.monotonic() < until:
            time.sleep(0.01)

    def put(self, number: int, frame: SerialisedFrame) -> None:
        """Put a frame."""
        with self.regions("write_single_buf"):
            content: Any = frame.buffer.tobytes()
            if self._shared:
                buffer = self._pool.alloc(frame.buffer.nbytes, self._policy)
                buffer[:] = content
                content = buffer
            self._publisher.put(content)


class Receiver(_Session):
    """Receives frames."""

    def open(self) -> None:
        """Subscribe."""
        self.connect("connect")
        self._subscriber = self._session.declare_subscriber(_KEY)

    def get(self, number: int, frame: SerialisedFrame) -> None:
        """Receive the next."""
        with self.regions("fetch"):
            frame.show([np.frombuffer(self._subscriber.recv().payload.to_bytes(), np.uint8)])
