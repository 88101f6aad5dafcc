"""chemfiles: each frame is read whole, since it cannot be asked for some of the atoms."""

from __future__ import annotations

import numpy as np

from peers.job import Job, Read, Work, measure


def prepare(job: Job) -> Work:
    """Import chemfiles."""
    import chemfiles

    chosen = job.indices() if job.what == "read-selected" else slice(None)

    def read() -> Read:
        with chemfiles.Trajectory(job.trajectory) as trajectory:
            n_frames = 0
            for frame in trajectory:
                last = np.asarray(frame.positions)[chosen]
                n_frames += 1
            return Read.of(n_frames, last)

    return read


if __name__ == "__main__":
    measure(prepare)
