"""mdreel: the topology is read before the clock starts, as it is for every contender."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from peers.job import Job, Read, Series, Work, measure

if TYPE_CHECKING:
    from mdreel import RMSD

BATCH_BYTES = 2**22
"""Coordinates that are read at a time, where nothing is computed: less takes longer, and more is not faster."""


def prepare(job: Job) -> Work:
    """Make the Universe without a trajectory."""
    from mdreel._core import FrameSet
    from mdreel.trajectory import read

    if job.what != "rmsd":
        chosen = None if job.what == "read" else job.indices().astype(np.uint32)

        def read_frames() -> Read:
            source = read(job.trajectory)
            wanted = np.arange(source.n_atoms, dtype=np.uint32) if chosen is None else chosen
            reader = source.reader(wanted)
            n_frames, batch = source.n_frames, max(1, BATCH_BYTES // (12 * len(wanted)))
            for first in range(0, n_frames, batch):
                last = reader.read(FrameSet.range(first, 1, min(batch, n_frames - first))).positions[-1]
            return Read.of(n_frames, last)

        return read

    analysis = analysis_of(job)
    backend: Any = job.way
    if job.way == "dask":
        import distributed  # noqa: F401
    if job.way == "dask-cluster":  # one that is there
        from distributed import Client

        from mdreel import Dask
        from mdreel.execution.executors.dask.cluster import local_cluster

        # It lasts as long as this process.
        backend = Dask(client=Client(ExitStack().enter_context(local_cluster(job.n_workers))))

    def rmsd() -> Series:
        series: Series = analysis.run(backend=backend, n_workers=job.n_workers).results.rmsd[:, 2]
        return series

    if job.way != "mpi":
        return rmsd
    from mdreel import Mpi

    backend = Mpi()

    def on_ranks() -> Series:  # the results stay where the program runs: on rank 0
        results: list[Series] = []
        backend.share(lambda: results.append(rmsd()))
        return results[0] if results else np.zeros(1)

    return on_ranks


def analysis_of(job: Job) -> RMSD:
    """Return the analysis of a job; its trajectory is opened when it is run."""
    import MDAnalysis as mda

    from mdreel import RMSD

    atoms = mda.Universe(job.topology).atoms[job.indices()]
    return RMSD(atoms, trajectory=[job.trajectory] * job.n_times)


if __name__ == "__main__":
    measure(prepare)
