"""MDAnalysis: ``load_new`` and ``RMSD.run`` are timed; its offsets of an XTC file were kept by an earlier run."""

from __future__ import annotations

from pathlib import Path

from mdreel_lab.bench.peers import mdanalysis_rmsd
from peers.job import Job, Read, Work, measure


def prepare(job: Job) -> Work:
    """Make the Universe without a trajectory; import what the backend needs."""
    if job.what == "rmsd":
        return mdanalysis_rmsd(Path(job.topology), Path(job.trajectory), job.indices(), job.way, job.n_workers)
    import MDAnalysis as mda

    universe = mda.Universe(job.topology)
    indices = None if job.what == "read" else job.indices()

    def read() -> Read:
        universe.load_new(job.trajectory)
        n_frames = 0
        for step in universe.trajectory:
            if indices is not None:
                step.positions[indices]
            n_frames += 1
        # The reader goes back to its first frame when it has given the last.
        last = universe.trajectory[-1].positions
        return Read.of(n_frames, last if indices is None else last[indices])

    return read


if __name__ == "__main__":
    measure(prepare)
