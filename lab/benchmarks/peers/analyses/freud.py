"""freud: it reads no trajectories; MDAnalysis reads them for it, as its documentation does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from peers.analyses.questions import FARTHEST, N_BINS, OXYGEN
from peers.job import RELATIVE, Found, Job, Work, measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from MDAnalysis import Universe


def prepare(job: Job) -> Work:
    """Make the Universe without a trajectory."""
    import freud
    import MDAnalysis as mda

    freud.parallel.set_num_threads(job.n_workers)
    universe = mda.Universe(job.topology)

    def work() -> Found:
        universe.load_new(job.trajectory)
        n_frames, value = ANALYSES[job.what](universe, job)
        # Its transforms of displacements are in single precision.
        return Found(n_frames, float(value), within=5e-2 if job.what == "msd" else RELATIVE)

    return work


def _rdf(universe: Universe, job: Job) -> tuple[int, float]:
    import freud

    oxygen, n_frames = universe.select_atoms(OXYGEN), 0
    rdf = freud.density.RDF(N_BINS, FARTHEST)
    for step in universe.trajectory[:: job.step]:
        box = freud.box.Box.from_matrix(step.triclinic_dimensions.T)
        rdf.compute((box, oxygen.positions), reset=False)
        n_frames += 1
    return n_frames, rdf.rdf.mean()


def _msd(universe: Universe, job: Job) -> tuple[int, float]:
    import freud

    atoms = universe.atoms[job.indices()] if job.what == "msd-protein" else universe.select_atoms(OXYGEN)
    positions = np.array([atoms.positions for _ in universe.trajectory[:: job.step]])
    return len(positions), freud.msd.MSD(mode="window").compute(positions).msd.mean()


ANALYSES: dict[str, Callable[[Universe, Job], tuple[int, float]]] = {
    "rdf": _rdf,
    "msd": _msd,
    "msd-protein": _msd,
}
"""Each gives the number of frames and the number in which all of its result takes part."""


if __name__ == "__main__":
    measure(prepare)
