"""A channel of mdreel: a ring in shared memory, with or without staging; a server and a relay between hosts."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

from mdreel.errors import StreamTimeoutError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.producer import Producer
from mdreel_lab.bench.exchange.catalogue import STAGED
from mdreel_lab.bench.exchange.models import HEADER_BYTES, SerialisedFrame
from mdreel_lab.bench.exchange.solutions.side import Side
from mdreel_lab.bench.exchange.work import PATIENCE, PERIOD, Work
from mdreel_lab.bench.processes import end

_LOOK_AGAIN_SECONDS = 1e-4


class Sender(Side):
    """Publishes frames on a channel of its own host, which is served if the consumer is on another one."""

    @classmethod
    def missing(cls, work: Work) -> str:
        """Return a message about missing software or settings, or an empty text."""
        return "the package eclipse-zenoh is not installed" if work.far and find_spec("zenoh") is None else ""

    def open(self) -> None:
        """Make the channel."""
        work = self.work
        # A file for each frame that goes when the next is there, as of solutions whose consumers remove files.
        one = Staging(work.folder / "staging", n_frames=1, segment_bytes=work.molecule.frame_bytes)
        staging = one if work.solution == STAGED else None
        n_arrays = work.molecule.n_arrays
        kept: dict[str, Any] = {"velocities": n_arrays > 1} if n_arrays else {"dtype": "type and float64"}
        timeout, place = 0.0 if work.pace == PERIOD else PATIENCE, Path(work.producer_memory, "channel")
        producer = Producer(place, work.molecule.n_atoms, timeout=timeout, staging=staging, stride=1, **kept)
        self._producer = self.enter_context(producer)
        if work.far:
            words = ("--listen", _endpoint(work), "--without-authentication")
            self.callback(end, _started("serve", str(self._producer.path), *words))
        # A server may start more slowly than the first frames follow one another, and a pace without periods
        # gives the consumer no pause in which to join: both would miss frames.
        if work.far or work.pace != PERIOD:
            self._producer.await_consumers(timeout=PATIENCE)

    def put(self, number: int, frame: SerialisedFrame) -> None:
        """Publish one; waiting for room in the ring is idle time."""
        if frame.arrays is not None:
            velocities = frame.arrays[1] if len(frame.arrays) > 1 else None
            self._producer.publish(frame.arrays[0], number, 0.002 * number, velocities=velocities)
            return
        began = perf_counter()
        while True:
            tried = perf_counter()
            try:
                self._producer.publish(frame.atoms, number, float(number))
            except StreamTimeoutError:
                sleep(_LOOK_AGAIN_SECONDS)
            else:
                break
        self.regions.add("write_single_buf", perf_counter() - tried)
        self.regions.add("explicit_sync", tried - began)


class Receiver(Side):
    """Takes frames of the channel or of its relayed copy, and copies records, as other solutions do."""

    def open(self) -> None:
        """Wait for the channel."""
        place = Path(self.work.consumer_memory, "channel")
        if self.work.far:
            words = (_endpoint(self.work), "channel", "--as", str(place), "--wait", f"{PATIENCE:g}")
            self.callback(end, _started("relay", *words))
        self._consumer = self.enter_context(Consumer(place, timeout=PATIENCE, wait=PATIENCE))
        self._shown: SerialisedFrame | None = None

    def get(self, number: int, frame: SerialisedFrame) -> None:
        """Wait for one; arrays are used where they lie."""
        with self.regions("fetch"):
            came = self._consumer.next()
        if frame.arrays is not None and came is not None:
            self._shown = frame
            frame.show([array for array in (came.positions, came.velocities) if array is not None])
            return
        if came is None or came.atoms is None:
            raise RuntimeError("the channel has ended, or has no atoms")
        with self.regions("read_single_buf"):
            frame.buffer[HEADER_BYTES:] = came.atoms.view(np.uint8)  # as numbers they would be copied one by one

    def done(self) -> None:
        """Give the frame back."""
        if self._shown is not None:
            self._shown.hide()


def _endpoint(work: Work) -> str:
    return f"tcp/{work.address}:{work.port}"


def _started(*words: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "mdreel.cli", *words, "--quiet"]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
