"""Zenoh, raw: a publisher and a subscriber joined by one TCP connection, with or without its shared memory.

Its Python package copies bytes into its shared memory and out of it.
"""

import json
import time
from importlib.util import find_spec
from typing import Any, Self

import numpy as np

from mdreel_lab.bench.exchange.catalogue import ZENOH_SHARED
from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import Regions
from mdreel_lab.bench.exchange.work import PATIENCE, Work

_KEY = "mdreel/frames"
_N_POOLED = 4


def missing(work: Work) -> str:
    """Say what is missing."""
    del work
    return "" if find_spec("zenoh") else "the Python package zenoh is not installed"


class _Side:
    """A session that listens or connects."""

    def __init__(self, work: Work, side: str) -> None:
        import zenoh

        self._zenoh: Any = zenoh
        self._shared = work.solution == ZENOH_SHARED
        config = zenoh.Config()
        settings: dict[str, Any] = {
            "mode": "peer",
            f"{side}/endpoints": [f"tcp/{work.address}:{work.port}"],
            "scouting/multicast/enabled": False,
            "transport/shared_memory/enabled": self._shared,
        }
        if side == "connect":
            settings |= {"listen/endpoints": [], "connect/timeout_ms": int(1000 * PATIENCE)}
        for name, value in settings.items():
            config.insert_json5(name, json.dumps(value))
        self._session: Any = zenoh.open(config)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()


class Sender(_Side):
    """Puts frames; waits where the connection is full."""

    def __init__(self, work: Work) -> None:
        super().__init__(work, "listen")
        control = self._zenoh.CongestionControl.BLOCK
        self._publisher = self._session.declare_publisher(_KEY, congestion_control=control)
        if self._shared:
            n_bytes = _N_POOLED * work.molecule.frame_bytes + (1 << 20)
            self._pool = self._zenoh.shm.ShmProvider.default_backend(n_bytes)
            self._policy = self._zenoh.shm.BlockOn(self._zenoh.shm.GarbageCollect())

    def put(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Put one."""
        del number
        with regions("write_single_buf"):
            content: Any = frame.buffer.tobytes()
            if self._shared:
                buffer = self._pool.alloc(frame.buffer.nbytes, self._policy)
                buffer[:] = content
                content = buffer
            self._publisher.put(content)

    def __enter__(self) -> Self:
        until = time.monotonic() + PATIENCE
        while not self._publisher.matching_status.matching and time.monotonic() < until:
            time.sleep(0.01)
        return self


class Receiver(_Side):
    """Receives frames."""

    def __init__(self, work: Work) -> None:
        super().__init__(work, "connect")
        self._subscriber = self._session.declare_subscriber(_KEY)

    def get(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Receive the next."""
        del number
        with regions("fetch"):
            frame.show([np.frombuffer(self._subscriber.recv().payload.to_bytes(), np.uint8)])

    def done(self, regions: Regions) -> None:
        """Nobody waits for it."""
