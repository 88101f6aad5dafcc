"""One process of a pair: ``python -m peers.channels.pair PEER produce|consume DESCRIPTOR WORK``.

The consumer writes to a pipe when it had each frame, so that the producer knows that it waits again. The producer
prints ``ready``, begins when a line comes, and prints one line of JSON: for each frame the nanoseconds that publishing
took, those until the consumer had it, and when that was.
"""

from __future__ import annotations

import importlib
import json
import os
import struct
import sys
import time
from typing import Any

import numpy as np

from peers.channels.work import Work

REST = 1e-3
"""Between two frames, s: by then the consumer has fallen asleep."""

TIME = struct.Struct("<q")
AT_MOST = 15.0
"""Seconds of frames one by one; who takes longer has fewer of them."""

LAST = 2**62
"""Number of the frame behind the last."""


def produce(peer: Any, work: Work, descriptor: int) -> dict[str, list[int]]:
    """Publish frames."""
    frame = np.random.default_rng(1).random(work.n_bytes // 4, np.float32).view(np.uint8)
    numbers = [frame[:8].view("<i8"), frame[-8:].view("<i8")]  # at both ends: what is torn is noticed
    producer = peer.Producer(work)
    _stay(work, 0)
    _had(descriptor)
    print("ready", flush=True)
    sys.stdin.readline()
    begin, taken, arrived = [], [], []
    until = time.monotonic() + (work.seconds or AT_MOST)
    number = 0
    while time.monotonic() < until and (work.seconds or number < work.n_first + work.n_frames):
        for place in numbers:
            place[0] = number
        if not work.seconds:
            time.sleep(REST)
        start = work.now()
        producer.publish(number, frame)
        taken.append(work.now() - start)
        begin.append(start)
        if not work.seconds:
            arrived.append(_had(descriptor))
        number += 1
    for place in numbers:
        place[0] = LAST
    producer.publish(number, frame)
    arrived += [_had(descriptor) for _ in range(number - len(arrived))]
    _had(descriptor)
    producer.close()
    first = 0 if work.seconds else min(work.n_first, number // 2)
    return {
        "publish": taken[first:],
        "arrival": [there - start for there, start in zip(arrived, begin, strict=True)][first:],
        "when": arrived[first:],
    }


def consume(peer: Any, work: Work, descriptor: int) -> None:
    """Take frames, and check that each is the next one and whole."""
    consumer = peer.Consumer(work)
    _stay(work, 1)
    os.write(descriptor, TIME.pack(0))
    number = expected = 0
    while number != LAST:
        parts = consumer.take()
        there = work.now()
        number = int(parts[0].reshape(-1).view(np.uint8)[:8].view("<i8")[0])
        behind = int(parts[-1].reshape(-1).view(np.uint8)[-8:].view("<i8")[0])
        n_bytes = sum(part.nbytes for part in parts)
        del parts
        if number != behind or number not in (expected, LAST) or n_bytes != work.n_bytes:
            raise ValueError(f"expected frame {expected} of {work.n_bytes}, got {number} to {behind} of {n_bytes}")
        expected += 1
        os.write(descriptor, TIME.pack(there))
    consumer.close()


def _had(descriptor: int) -> int:
    said = os.read(descriptor, TIME.size)
    if len(said) != TIME.size:
        raise EOFError("the consumer has ended")
    return int(TIME.unpack(said)[0])


def _stay(work: Work, which: int) -> None:
    # The calling thread alone: those that libraries have started stay where they like.
    if work.cores is not None:
        os.sched_setaffinity(0, {work.cores[which]})


def main() -> None:
    """Run one of the two."""
    name, role, descriptor, text = sys.argv[1:]
    peer, work = importlib.import_module(f"peers.channels.{name}"), Work.from_json(text)
    if role == "consume":
        consume(peer, work, int(descriptor))
    else:
        print(json.dumps(produce(peer, work, int(descriptor))), flush=True)


if __name__ == "__main__":
    main()
