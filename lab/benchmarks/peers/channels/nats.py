"""NATS: its server beside the producer, messages that it keeps nowhere, and frames in pieces.

The server cuts off who is too far behind, and what it had for them is lost: so the consumer says when it has a frame,
and the producer is a few frames ahead of that at most.
"""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import nats
import numpy as np

from peers.channels.work import TIME_LIMIT, Work, when_there

FRAMES, TAKEN = "frames", "taken"
PIECE = 8 << 20
"""Its server takes 1 MiB at once, unless it is told more; pieces of 8 MiB were a little faster."""
N_AHEAD = 4
PENDING_BYTES = 1 << 29


class _Loop:
    """An event loop on a thread, so that what is asked of it goes on while nobody waits."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def wait(self, what: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(what, self.loop).result(TIME_LIMIT)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


async def _connected(work: Work) -> nats.NATS:
    return await nats.connect(f"nats://{work.address}:{work.port}", allow_reconnect=False)


class Producer:
    """Has the server, and publishes pieces."""

    def __init__(self, work: Work) -> None:
        settings = Path(work.place) / "nats.conf"
        settings.write_text(
            f'listen: "{work.address}:{work.port}"\nmax_payload: {PIECE}\nmax_pending: {PENDING_BYTES}\n'
        )
        self.server = subprocess.Popen(["nats-server", "-c", settings], stderr=subprocess.DEVNULL)
        self.loop = _Loop()
        self.client = when_there(lambda: self.loop.wait(_connected(work)), OSError, nats.errors.Error)
        self.loop.wait(self._begin())

    async def _begin(self) -> None:
        self.room = asyncio.Semaphore(N_AHEAD)
        await self.client.subscribe(TAKEN, cb=self._taken)
        await self.client.flush()

    async def _taken(self, _: object) -> None:
        self.room.release()

    async def _publish(self, frame: np.ndarray) -> None:
        await self.room.acquire()
        for first in range(0, frame.nbytes, PIECE):
            await self.client.publish(FRAMES, frame[first : first + PIECE].tobytes())

    def publish(self, number: int, frame: np.ndarray) -> None:
        """Publish one."""
        self.loop.wait(self._publish(frame))

    def close(self) -> None:
        """End the server."""
        self.loop.wait(self.client.close())
        self.loop.close()
        self.server.terminate()
        self.server.wait()


class Consumer:
    """Puts pieces together."""

    def __init__(self, work: Work) -> None:
        self.loop = _Loop()
        self.client = when_there(lambda: self.loop.wait(_connected(work)), OSError, nats.errors.Error)
        self.loop.wait(self._begin())
        self.frame = np.empty(work.n_bytes, np.uint8)

    async def _begin(self) -> None:
        self.subscription = await self.client.subscribe(FRAMES, pending_bytes_limit=PENDING_BYTES)
        await self.client.flush()

    async def _take(self) -> None:
        there = 0
        while there < self.frame.nbytes:
            piece = (await self.subscription.next_msg(TIME_LIMIT)).data
            self.frame[there : there + len(piece)] = np.frombuffer(piece, np.uint8)
            there += len(piece)
        await self.client.publish(TAKEN, b"")

    def take(self) -> list[Any]:
        """Take the next."""
        self.loop.wait(self._take())
        return [self.frame]

    def close(self) -> None:
        """Leave."""
        self.loop.wait(self.client.close())
        self.loop.close()
