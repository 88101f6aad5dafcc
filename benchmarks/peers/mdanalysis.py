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
        n_frames = 0
        for step in universe.trajectory:
            if indices is not None:
                step.positions[indices]
            n_frames += 1
        # The reader goes back to its first frame when it has given the last.
        last = universe.trajectory[-1].positions
        return Read.of(n_frames, last if indices is None else last[indices])

    indices = None if job.what == "read" else job.indices()
    return rmsd if job.what == "rmsd" else read


if __name__ == "__main__":
    measure(prepare)
