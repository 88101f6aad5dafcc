"""mdtraj: ``load`` or ``iterload`` of the selected atoms, with ``rmsd``; its file object where all atoms are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mdreel_lab.bench.peers import mdtraj_rmsd
from peers.job import ANGSTROM_PER_NM, Job, Read, Series, Work, measure

BATCH = 100
"""Frames that the file object reads at a time."""


def prepare(job: Job) -> Work:
    """Read the topology."""
    import mdtraj

    if job.what != "rmsd":
        chosen = None if job.what == "read" else job.indices()

        def read() -> Read:
            n_frames = 0
            with mdtraj.open(job.trajectory) as file:
                unit = {"nanometers": ANGSTROM_PER_NM, "angstroms": 1.0}[file.distance_unit]
                while len(positions := file.read(BATCH, atom_indices=chosen)[0]):
                    n_frames += len(positions)
                    last = positions[-1]
            return Read.of(n_frames, last, unit)

        return read

    indices = job.indices()
    if job.way == "iterload":
        return mdtraj_rmsd(Path(job.reference), Path(job.trajectory), indices)
    topology = mdtraj.load_topology(job.reference)

    def load() -> Series:
        trajectory = mdtraj.load(job.trajectory, top=topology, atom_indices=indices)
        return np.asarray(mdtraj.rmsd(trajectory, trajectory, 0), dtype=np.float64) * ANGSTROM_PER_NM

    return load


if __name__ == "__main__":
    measure(prepare)
