"""Static blocks with ``dask.delayed``, one a worker, as Khoshlessan et al. (2017) and PMDA cut them, over MDAnalysis.

Each block makes a Universe of topology and trajectory, and goes through its frames one by one.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from peers.job import Job, Series, Work, measure


def prepare(job: Job) -> Work:
    """Import what is needed, and read the topology."""
    import dask.multiprocessing
    import MDAnalysis as mda

    universe = mda.Universe(job.topology)

    def rmsd() -> Series:
        universe.load_new(job.trajectory)
        indices = job.indices()
        reference = universe.atoms[indices].positions
        edges = np.linspace(0, universe.trajectory.n_frames, job.n_workers + 1).astype(int).tolist()
        blocks = [dask.delayed(_block)(job, reference, first, end) for first, end in pairwise(edges)]
        parts = dask.compute(*blocks, scheduler="processes", num_workers=job.n_workers)
        return np.concatenate(parts)

    return rmsd


def _block(job: Job, reference: np.ndarray, first: int, end: int) -> Series:
    import MDAnalysis as mda
    from MDAnalysis.analysis.rms import rmsd

    universe = mda.Universe(job.topology, job.trajectory)
    atoms = universe.atoms[job.indices()]
    return np.array(
        [rmsd(atoms.positions, reference, center=True, superposition=True) for _ in universe.trajectory[first:end]]
    )


if __name__ == "__main__":
    measure(prepare)
