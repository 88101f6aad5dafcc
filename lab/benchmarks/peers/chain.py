"""The RMSD of a trajectory in many segments; these are cut before the clock starts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from peers.job import ANGSTROM_PER_NM, Job, Series, Work, measure


def prepare(job: Job) -> Work:
    """Cut the trajectory; make the Universe, for those who use one, and have the segments' frames located."""
    import MDAnalysis as mda

    from mdreel.trajectory import split

    folder = tempfile.TemporaryDirectory(dir=Path(job.trajectory).parent)
    indices = job.indices()
    written = split(job.trajectory, Path(folder.name, "part.xtc"), n_parts=job.n_workers)
    segments = [str(path) for path in written.paths]
    atoms = mda.Universe(job.topology).atoms[indices]

    def mdreel() -> Series:
        from mdreel import RMSD

        files = job.trajectory if job.way == "mdreel-file" else segments
        series: Series = RMSD(atoms, trajectory=files).run(n_workers=1).results.rmsd[:, 2]
        return series

    def mdanalysis() -> Series:
        from MDAnalysis.analysis.rms import RMSD

        atoms.universe.load_new(segments)
        series: Series = RMSD(atoms).run().results.rmsd[:, 2]
        return series

    def mdtraj() -> Series:
        import mdtraj

        trajectory = mdtraj.load(segments, top=job.reference, atom_indices=indices)
        return np.asarray(mdtraj.rmsd(trajectory, trajectory, 0), dtype=np.float64) * ANGSTROM_PER_NM

    work = {"mdreel": mdreel, "mdreel-file": mdreel, "mdanalysis": mdanalysis, "mdtraj": mdtraj}[job.way]
    if job.way == "mdanalysis":
        atoms.universe.load_new(segments)
    elif job.way.startswith("mdreel"):
        mdreel()

    def removed() -> Series:
        with folder:
            return work()

    return removed


if __name__ == "__main__":
    measure(prepare)
