"""mdtraj in a pool of processes: each goes through its share of the frames with ``iterload``."""

from __future__ import annotations

from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import numpy as np

from mdreel_lab.bench.peers import CHUNK
from peers.job import ANGSTROM_PER_NM, Job, Series, Work, measure


def prepare(job: Job) -> Work:
    """Read the topology."""
    import mdtraj

    topology = mdtraj.load_topology(job.reference)

    def rmsd() -> Series:
        indices = job.indices()
        reference = mdtraj.load_frame(job.trajectory, 0, top=topology, atom_indices=indices)
        with mdtraj.open(job.trajectory) as file:
            n_frames = len(file)
        edges = np.linspace(0, n_frames, job.n_workers + 1).astype(int).tolist()
        shares = [(job, topology, reference, first, end) for first, end in pairwise(edges)]
        with get_context("fork").Pool(job.n_workers) as pool:
            return np.concatenate(pool.starmap(_share, shares, chunksize=1))

    return rmsd


def _share(job: Job, topology: Any, reference: Any, first: int, end: int) -> Series:
    import mdtraj

    parts: list[Series] = []
    left = end - first
    chunks = mdtraj.iterload(job.trajectory, chunk=CHUNK, skip=first, top=topology, atom_indices=job.indices())
    for chunk in chunks:
        parts.append(mdtraj.rmsd(chunk[:left], reference, 0).astype(np.float64) * ANGSTROM_PER_NM)
        left -= len(parts[-1])
        if not left:
            break
    return np.concatenate(parts)


if __name__ == "__main__":
    measure(prepare)
