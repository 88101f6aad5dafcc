"""NATS: its server beside the producer, messages that it keeps nowhere, and frames in pieces.

The server disconnects a consumer that is too far behind, and loses its messages. Therefore, the consumer reports each
received frame, and the producer is at most a few frames ahead.
"""

import asyncio
import shutil
import subprocess
import threading
from collections.abc import Coroutine
from typing import Any

import numpy as np

from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.solutions.side import Side
from mdreel_lab.bench.exchange.work import PATIENCE, Work, when_there
from mdreel_lab.bench.processes import end

_FRAMES, _TAKEN = "frames", "taken"
_PIECE = 8 << 20
"""Size of a piece. The server accepts 1 MiB by default; pieces of 8 MiB were a little faster."""
_N_AHEAD = 4
_PENDING_BYTES = 1 << 29


class _Client(Side):
    """A client with an event loop in its own thread, so that it answers while no caller waits."""

    packages = ("nats",)

    def open(self) -> None:
        """Connect to the server."""
        import nats

        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        thread.start()
        self.callback(thread.join)
        self.callback(self._loop.call_soon_threadsafe, self._loop.stop)
        url = f"nats://{self.work.address}:{self.work.port}"
        self._client: Any = when_there(
            lambda: self._wait(nats.connect(url, allow_reconnect=False)), OSError, nats.errors.Error
        )
        self.callback(lambda: self._wait(self._client.close()))
        self._wait(self._begin())

    async def _begin(self) -> None:
        # The sender and the receiver below each define this; nobody creates a plain client.
        raise NotImplementedError

    def _wait(self, what: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(PATIENCE)


class Sender(_Client):
    """Starts the server, and publishes pieces."""

    @classmethod
    def missing(cls, work: Work) -> str:
        """Return a message about missing software or settings, or an empty text."""
        return super().missing(work) or ("" if shutil.which("nats-server") else "nats-server was not found")

    def open(self) -> None:
        """Start the server."""
        settings = self.work.folder / "nats.conf"
        limits = f"max_payload: {_PIECE}\nmax_pending: {_PENDING_BYTES}\n"
        settings.write_text(f'listen: "{self.work.address}:{self.work.port}"\n{limits}', encoding="utf-8")
        server = subprocess.Popen(["nats-server", "-c", settings], stderr=subprocess.DEVNULL)
        self.callback(end, server)
        super().open()

    async def _begin(self) -> None:
        self._room = asyncio.Semaphore(_N_AHEAD)
        await self._client.subscribe(_TAKEN, cb=self._taken)
        await self._client.flush()

    async def _taken(self, _: object) -> None:
        self._room.release()

    async def _publish(self, frame: Any) -> None:
        await self._room.acquire()
        for first in range(0, frame.nbytes, _PIECE):
            await self._client.publish(_FRAMES, frame[first : first + _PIECE].tobytes())

    def put(self, number: int, frame: SerialisedFrame) -> None:
        """Publish one."""
        with self.regions("write_single_buf"):
            self._wait(self._publish(frame.buffer))


class Receiver(_Client):
    """Puts pieces together."""

    async def _begin(self) -> None:
        self._subscription = await self._client.subscribe(_FRAMES, pending_bytes_limit=_PENDING_BYTES)
        await self._client.flush()

    async def _take(self, frame: Any) -> None:
        there = 0
        while there < frame.nbytes:
            piece = (await self._subscription.next_msg(PATIENCE)).data
            frame[there : there + len(piece)] = np.frombuffer(piece, np.uint8)
            there += len(piece)
        await self._client.publish(_TAKEN, b"")

    def get(self, number: int, frame: SerialisedFrame) -> None:
        """Take the next."""
        with self.regions("fetch"):
            self._wait(self._take(frame.buffer))
