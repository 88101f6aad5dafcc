"""mdreel's channel called from Python while nobody waits: ``python -m mdreel_lab.bench.exchange.alone WORK N_SLOTS``.

It prints one line of JSON: the nanoseconds to publish each frame, and to take and release an available frame.
"""

import json
import sys
import time
from pathlib import Path

from mdreel.live.channels.consumer import Consumer
from mdreel.live.producers.producer import Producer
from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.work import PATIENCE, Work


def main() -> None:
    """Publish a ring full of frames, take them, and so on."""
    work, n_slots = Work.of_json(sys.argv[1]), int(sys.argv[2])
    arrays = SerialisedFrame(work.molecule, seed=1).arrays
    assert arrays is not None
    velocities = arrays[1] if len(arrays) > 1 else None
    published: list[int] = []
    taken: list[int] = []
    place = Path(work.place, "channel")
    has_velocities = velocities is not None
    n_first = min(work.n_frames, 2 * n_slots)  # buffers are touched for the first time
    with (
        Producer(
            place, work.molecule.n_atoms, velocities=has_velocities, n_slots=n_slots, timeout=PATIENCE
        ) as producer,
        Consumer(producer.path) as consumer,
    ):
        for number in range(n_first + work.n_frames):
            start = time.monotonic_ns()
            producer.publish(arrays[0], number, 0.002 * number, velocities=velocities)
            published.append(time.monotonic_ns() - start)
            if (number + 1) % (n_slots - 1) == 0:
                for _ in range(n_slots - 1):
                    start = time.monotonic_ns()
                    frame = consumer.next()
                    del frame
                    taken.append(time.monotonic_ns() - start)
    print(json.dumps({"publish from Python": published[n_first:], "take from Python": taken}))


if __name__ == "__main__":
    main()
