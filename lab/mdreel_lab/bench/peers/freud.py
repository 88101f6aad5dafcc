"""freud, for which MDAnalysis reads the trajectory, as its documentation does."""

from typing import Any

import freud
import MDAnalysis as mda
import numpy as np

from mdreel_lab.bench.peers import questions as ask
from mdreel_lab.bench.peers.job import RELATIVE, Found, Job, Work


def prepare(job: Job) -> Work:
    """Make the Universe without a trajectory."""
    freud.parallel.set_num_threads(job.n_workers)
    universe = mda.Universe(job.topology)

    def work() -> Found:
        universe.load_new(job.trajectory)
        n_frames, value = (_rdf if job.what == "rdf" else _msd)(universe, job)
        # Its transforms of displacements are in single precision.
        return Found(n_frames, float(value), within=5e-2 if job.what == "msd" else RELATIVE)

    return work


def _rdf(universe: Any, job: Job) -> tuple[int, float]:
    oxygen, n_frames = universe.select_atoms(ask.OXYGEN), 0
    rdf = freud.density.RDF(ask.N_BINS, ask.FARTHEST)
    for step in universe.trajectory[:: job.step]:
        box = freud.box.Box.from_matrix(step.triclinic_dimensions.T)
        rdf.compute((box, oxygen.positions), reset=False)
        n_frames += 1
    return n_frames, rdf.rdf.mean()


def _msd(universe: Any, job: Job) -> tuple[int, float]:
    atoms = universe.atoms[job.indices()] if job.what == "msd-protein" else universe.select_atoms(ask.OXYGEN)
    positions = np.array([atoms.positions for _ in universe.trajectory[:: job.step]])
    return len(positions), freud.msd.MSD(mode="window").compute(positions).msd.mean()
