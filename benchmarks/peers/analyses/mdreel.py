"""mdreel: from XTC to the result; the topology is read before the clock starts, as for every contender."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from peers.analyses.questions import CONTACT
from peers.job import Found, Job, Work, measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from MDAnalysis import Universe


def prepare(job: Job) -> Work:
    """Make the analysis."""
    import MDAnalysis as mda

    make, value_of = ANALYSES[job.what]
    analysis = make(mda.Universe(job.topology), job)

    def work() -> Found:
        analysis.run(step=job.step, backend="threads", n_workers=job.n_workers)
        return Found(analysis.n_frames, float(value_of(analysis.results)))

    return work


def _rmsf(universe: Universe, job: Job) -> Any:
    from mdreel import RMSF

    return RMSF(universe.atoms[job.indices()], trajectory=job.trajectory)


def _rg(universe: Universe, job: Job) -> Any:
    from mdreel import Rg

    return Rg(universe.select_atoms("protein"), trajectory=job.trajectory)


def _dihedrals(universe: Universe, job: Job) -> Any:
    from mdreel import Ramachandran

    return Ramachandran(universe.select_atoms("protein"), trajectory=job.trajectory)


def _distances(universe: Universe, job: Job) -> Any:
    from mdreel import DistanceArray

    alpha = universe.atoms[job.indices()]
    return DistanceArray(alpha, cutoff=CONTACT, trajectory=job.trajectory)


ANALYSES: dict[str, tuple[Callable[[Universe, Job], Any], Callable[[Any], Any]]] = {
    "rmsf": (_rmsf, lambda found: found.rmsf.mean()),
    "rg": (_rg, lambda found: found.rgyr[:, 2].mean()),
    "dihedrals": (_dihedrals, lambda found: np.abs(found.angles).mean()),
    "distances": (_distances, lambda found: found.mean.mean()),
}
"""How each is made, and the number in which all of its result takes part."""


if __name__ == "__main__":
    measure(prepare)
