"""mdreel: the topology is read before the clock starts, as it is for every contender."""

from __future__ import annotations

from peers.job import Job, Series, Work, measure


def prepare(job: Job) -> Work:
    """Make the Universe without a trajectory."""
    import MDAnalysis as mda

    from mdreel import RMSD

    atoms = mda.Universe(job.topology).atoms[job.indices()]

    def rmsd() -> Series:
        analysis = RMSD(atoms, trajectory=[job.trajectory] * {"once": 1, "twice": 2}[job.way])
        analysis.run(backend="threads", n_workers=job.n_workers)
        series: Series = analysis.results.rmsd[:, 2]
        return series

    return rmsd


if __name__ == "__main__":
    measure(prepare)
