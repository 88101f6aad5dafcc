"""mdreel's channel called from Python, nobody waiting: ``python -m peers.channels.alone WORK N_SLOTS``.

Prints one line of JSON: the nanoseconds of publishing each frame, and of taking one that is there and leaving it.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import mdreel
from peers.channels.mdreel import place_of
from peers.channels.work import TIME_LIMIT, Work


def main() -> None:
    """Publish a ring full of frames, take them, and so on."""
    work, n_slots = Work.from_json(sys.argv[1]), int(sys.argv[2])
    shape = (work.n_arrays, work.n_bytes // (12 * work.n_arrays), 3)
    arrays = np.random.default_rng(1).random(shape, np.float32)
    velocities = arrays[1] if work.n_arrays > 1 else None
    published: list[int] = []
    taken: list[int] = []
    settings = {"velocities": velocities is not None, "n_slots": n_slots, "timeout": TIME_LIMIT}
    with (
        mdreel.live.Producer(place_of(work), shape[1], **settings) as producer,
        mdreel.live.Consumer(producer.path) as consumer,
    ):
        for number in range(work.n_first + work.n_frames):
            start = time.monotonic_ns()
            producer.publish(arrays[0], number, 0.002 * number, velocities=velocities)
            published.append(time.monotonic_ns() - start)
            if (number + 1) % (n_slots - 1) == 0:
                for _ in range(n_slots - 1):
                    start = time.monotonic_ns()
                    frame = consumer.next()
                    del frame
                    taken.append(time.monotonic_ns() - start)
    print(json.dumps({"publish from Python": published[work.n_first :], "take from Python": taken}))


if __name__ == "__main__":
    main()
