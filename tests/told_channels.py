"""Producers and consumers for tests that do what they are told, one line at a time, each in a process of its own.

``python told_channels.py produce CHANNEL SETTINGS`` and ``... consume CHANNEL SETTINGS``, where SETTINGS are what
`Producer` or `Consumer` are called with, as JSON, and ``staging`` what `Staging` is. Each line of the input is a word
with a number, and has one line of output that answers it, as JSON.
"""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from mdreel.errors import StreamError, StreamTimeoutError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.producer import Producer

N_ATOMS = 20


class Told:
    """A process that does what it is told, and is killed in the end.

    Parameters
    ----------
    role : {"produce", "consume"}
        What it is.
    channel : path
        The directory of its channel.
    environment : mapping
        Its variables.
    settings
        See above.
    """

    def __init__(self, role: str, channel: Path, environment: Mapping[str, str], **settings: object) -> None:
        command = [sys.executable, "-W", "error", __file__, role, str(channel), json.dumps(settings)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment
        )
        assert self.answer() == "open"

    def tell(self, word: str, number: float = 0) -> None:
        """Say what to do, and do not wait for it."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word} {number}\n")

    def answer(self) -> Any:
        """Wait for what it says to what it was told."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def does(self, word: str, number: float = 0) -> Any:
        """Say what to do, and wait for the answer."""
        self.tell(word, number)
        return self.answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self.process:
            self.process.kill()


def seconds_until_refused(work: Any) -> float:
    """Return how long something takes that is refused as its time is up, s."""
    begin = time.monotonic()
    try:
        found = work()
    except StreamTimeoutError:
        return time.monotonic() - begin
    raise AssertionError(f"there was time: {found}")


class ManagedProducer:
    """What a producer does."""

    def __init__(self, channel: str, settings: dict[str, Any]) -> None:
        staging = settings.pop("staging", None)
        kept = None if staging is None else Staging(**staging)
        self.producer = Producer(channel, N_ATOMS, staging=kept, **settings).open()
        self.n_published: int = settings.get("resume_step", 0)  # frames are numbered as steps

    def publish(self, n: float) -> int:
        """Publish some more frames; return how many there are."""
        for _ in range(int(n)):
            self.publish_one()
        return self.n_published

    def publish_one(self) -> None:
        """Publish the next frame."""
        values = np.full((N_ATOMS, 3), self.n_published, np.float32)
        self.producer.publish(values, self.n_published, 0.5 * self.n_published)
        self.n_published += 1

    def refused(self, _: float) -> float:
        """Publish until there is no room; return how long the last one took, s."""

        def until_refused() -> None:
            begin = time.monotonic()
            while time.monotonic() - begin < 60:
                nonlocal last
                last = time.monotonic()
                self.publish_one()

        last = 0.0
        seconds_until_refused(until_refused)
        return time.monotonic() - last

    def end(self, _: float) -> None:
        """End the channel."""
        self.producer.end()


class Consuming:
    """What a consumer does."""

    def __init__(self, channel: str, settings: dict[str, Any]) -> None:
        self.consumer = Consumer(channel, timeout=60, on_late="ignore", **settings).open()

    def take(self, n: float) -> list[int]:
        """Return the steps of the next frames; a number below zero takes all until the end."""
        steps: list[int] = []
        while len(steps) != n:
            frame = self.consumer.next()
            if frame is None:
                break
            assert frame.positions is not None
            assert (frame.positions == frame.step).all()
            steps.append(frame.step)
            del frame  # else it is in use while other members take the rest of the ring
        return steps

    def share(self, n: float) -> list[int]:
        """Take until the end as a member of a group that commits each few frames; return all steps."""
        steps: list[int] = []
        while True:
            some = self.take(n)
            self.consumer.commit()
            steps += some
            if len(some) < n:
                return steps

    def refused(self, seconds: float) -> float:
        """Wait for a frame that does not come; return for how long that was, s."""
        return seconds_until_refused(lambda: self.consumer.next(timeout=seconds))

    def lost(self, _: float) -> str:
        """Wait for a frame until the producer is lost; return what is said of it."""
        try:
            found = self.consumer.next()
        except StreamError as error:
            return str(error)
        raise AssertionError(f"it is there: {found}")

    def missed(self, _: float) -> int:
        """Return how many frames were missed."""
        return self.consumer.missed


def main(role: str, channel: str, settings: str) -> None:
    """Do what the input says."""
    one = {"produce": ManagedProducer, "consume": Consuming}[role](channel, json.loads(settings))
    print('"open"', flush=True)
    for line in sys.stdin:
        word, number = line.split()
        answer = time.time() if word == "clock" else getattr(one, word)(float(number))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
