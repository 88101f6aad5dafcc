"""MDAnalysis: ``load_new`` and ``RMSD.run`` are timed; its offsets of an XTC file were kept by an earlier run."""

from __future__ import annotations

from peers.job import Job, Read, Series, Work, measure


def prepare(job: Job) -> Work:
    """Make the Universe without a trajectory; import what the backend needs."""
    import MDAnalysis as mda
    from MDAnalysis.analysis.rms import RMSD

    if job.way == "dask":
        import dask.multiprocessing  # noqa: F401
    universe = mda.Universe(job.topology)

    def rmsd() -> Series:
        universe.load_new(job.trajectory)
        analysis = RMSD(universe.atoms[indices])
        if job.way == "serial":
            analysis.run()
        else:
            analysis.run(backend=job.way, n_workers=job.n_workers)
        series: Series = analysis.results.rmsd[:, 2]
        return series

    def read() -> Read:
        universe.load_new(job.trajectory)
        n_frames = sum(1 for _ in universe.trajectory)
        # The reader goes back to its first frame when it has given the last.
        x, y, z = universe.trajectory[-1].positions[0]
        return Read(n_frames, universe.atoms.n_atoms, (float(x), float(y), float(z)))

    if job.what == "read":
        return read
    indices = job.indices()
    return rmsd


if __name__ == "__main__":
    measure(prepare)
