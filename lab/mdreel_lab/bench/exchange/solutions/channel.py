"""A channel of mdreel: a ring in shared memory, with or without staging; a server and a relay between hosts."""

import signal
import subprocess
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, sleep
from typing import Self

import numpy as np

from mdreel.errors import StreamTimeoutError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.producer import Producer
from mdreel_lab.bench.exchange.models import HEADER_BYTES, SerialisedFrame
from mdreel_lab.bench.exchange.regions import Regions
from mdreel_lab.bench.exchange.work import PATIENCE, Work

RING, FILE = "channel-ring", "channel-file"

_LOOK_AGAIN_SECONDS = 1e-4
_LAST_WORDS_SECONDS = 10.0


def missing(work: Work) -> str:
    """Say what is not there."""
    return "the package eclipse-zenoh is not installed" if work.far and find_spec("zenoh") is None else ""


class Sender:
    """Publishes frames on a channel of its own host, which is served if the consumer is on another one."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._stack = ExitStack()
        place = Path(work.producer_memory, "channel")
        # A file for each frame that goes when the next is there, as of solutions whose consumers remove files.
        one = Staging(work.folder / "staging", n_frames=1, segment_bytes=work.molecule.frame_bytes)
        staging = one if work.solution == FILE else None
        self._producer = Producer(
            place, work.molecule.n_atoms, dtype="type and float64", timeout=0.0, staging=staging, stride=1
        )

    def put(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Publish one; waiting for room in the ring is idle time."""
        began = perf_counter()
        while True:
            tried = perf_counter()
            try:
                self._producer.publish(frame.atoms, number, float(number))
            except StreamTimeoutError:
                sleep(_LOOK_AGAIN_SECONDS)
            else:
                break
        regions.add("write_single_buf", perf_counter() - tried)
        regions.add("explicit_sync", tried - began)

    def __enter__(self) -> Self:
        self._producer = self._stack.enter_context(self._producer)
        if self._work.far:
            words = ("--listen", _endpoint(self._work), "--without-authentication")
            self._stack.callback(_stop, _started("serve", str(self._producer.path), *words))
        return self

    def __exit__(self, *how: object) -> None:
        self._stack.close()


class Receiver:
    """Takes frames of the channel, or of the one into which it is relayed, and copies them."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._stack = ExitStack()
        self._consumer = Consumer(Path(work.consumer_memory, "channel"), timeout=PATIENCE, wait=PATIENCE)

    def get(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Wait for one, and copy it, although it could be used where it lies: the others have a copy, too."""
        del number
        with regions("fetch"):
            came = self._consumer.next()
        if came is None or came.atoms is None:
            raise RuntimeError("the channel has ended, or has no atoms")
        with regions("read_single_buf"):
            frame.buffer[HEADER_BYTES:] = came.atoms.view(np.uint8)  # as numbers they would be copied one by one

    def done(self, regions: Regions) -> None:
        """Nobody waits for it."""

    def __enter__(self) -> Self:
        if self._work.far:
            words = (_endpoint(self._work), "channel", "--as", str(self._consumer.path), "--wait", f"{PATIENCE:g}")
            self._stack.callback(_stop, _started("relay", *words))
        self._consumer = self._stack.enter_context(self._consumer)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _endpoint(work: Work) -> str:
    return f"tcp/{work.address}:{work.port}"


def _started(*words: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "mdreel.cli", *words, "--quiet"]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_LAST_WORDS_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
