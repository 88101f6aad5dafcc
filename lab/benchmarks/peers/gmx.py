"""``gmx rms`` run as a program: its start-up counts, as it does for whoever calls it."""

from __future__ import annotations

from pathlib import Path

from mdreel_lab.bench.peers import gmx_rmsd
from peers.job import Job, Work, measure


def prepare(job: Job) -> Work:
    """Write the index file."""
    return gmx_rmsd(Path(job.reference), Path(job.trajectory), job.indices())


if __name__ == "__main__":
    measure(prepare)
