"""mdreel: from XTC to the result; the topology is read before the clock starts, as for every contender."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from peers.analyses.questions import (
    CONTACT,
    FARTHEST,
    HYDROGEN,
    N_BINS,
    N_SPHERE_POINTS,
    OF_PROTEIN,
    OXYGEN,
    PROBE,
    SALT_BRIDGE,
    SALT_BRIDGES,
    SLAB,
    charge,
    mean_height,
)
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


def _rmsd(universe: Universe, job: Job) -> Any:
    from mdreel import RMSD

    return RMSD(universe.atoms[job.indices()], trajectory=job.trajectory)


def _rmsf_superposed(universe: Universe, job: Job) -> Any:
    from mdreel import RMSF

    return RMSF(universe.atoms[job.indices()], superposition=True, trajectory=job.trajectory)


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


def _dssp(universe: Universe, job: Job) -> Any:
    from mdreel import DSSP

    return DSSP(universe, trajectory=job.trajectory)


def _dssp8(universe: Universe, job: Job) -> Any:
    from mdreel import DSSP

    return DSSP(universe, method="kabsch-sander", trajectory=job.trajectory)


def _rdf(universe: Universe, job: Job) -> Any:
    from mdreel import InterRDF

    oxygen = universe.select_atoms(OXYGEN)
    return InterRDF(oxygen, oxygen, N_BINS, (0.0, FARTHEST), exclusion_block=(1, 1), trajectory=job.trajectory)


def _sasa(universe: Universe, job: Job) -> Any:
    from mdreel import SASA

    protein = universe.select_atoms("protein")
    return SASA(protein, PROBE, N_SPHERE_POINTS, "total", trajectory=job.trajectory)


def _contacts(universe: Universe, job: Job) -> Any:
    from mdreel import Contacts

    return Contacts(universe, SALT_BRIDGES, 0, radius=SALT_BRIDGE, trajectory=job.trajectory)


def _linear_density(universe: Universe, job: Job) -> Any:
    from mdreel import LinearDensity

    return LinearDensity(charge(universe), binsize=SLAB, trajectory=job.trajectory)


def _pca(universe: Universe, job: Job) -> Any:
    from mdreel import PCA

    return PCA(universe.atoms[job.indices()], trajectory=job.trajectory)


def _msd(universe: Universe, job: Job) -> Any:
    from mdreel import EinsteinMSD

    return EinsteinMSD(universe.select_atoms(OXYGEN), trajectory=job.trajectory)


def _msd_protein(universe: Universe, job: Job) -> Any:
    from mdreel import EinsteinMSD

    return EinsteinMSD(universe.atoms[job.indices()], trajectory=job.trajectory)


def _hbonds(universe: Universe, job: Job) -> Any:
    from mdreel import HydrogenBondAnalysis

    return HydrogenBondAnalysis(universe, OXYGEN, HYDROGEN, OXYGEN, trajectory=job.trajectory)


def _hbonds_protein(universe: Universe, job: Job) -> Any:
    from mdreel import HydrogenBondAnalysis

    return HydrogenBondAnalysis(universe, *OF_PROTEIN.values(), trajectory=job.trajectory)


ANALYSES: dict[str, tuple[Callable[[Universe, Job], Any], Callable[[Any], Any]]] = {
    "rmsd": (_rmsd, lambda found: found.rmsd[:, 2].mean()),
    "rmsf-superposed": (_rmsf_superposed, lambda found: found.rmsf.mean()),
    "rmsf": (_rmsf, lambda found: found.rmsf.mean()),
    "rg": (_rg, lambda found: found.rgyr[:, 2].mean()),
    "dihedrals": (_dihedrals, lambda found: np.abs(found.angles).mean()),
    "distances": (_distances, lambda found: found.mean.mean()),
    "dssp": (_dssp, lambda found: 1 - found.fraction[:, 0].mean()),
    "dssp8": (_dssp8, lambda found: 1 - found.fraction[:, 0].mean()),
    "rdf": (_rdf, lambda found: found.rdf.mean()),
    "sasa": (_sasa, lambda found: found.total_area.mean()),
    "contacts": (_contacts, lambda found: found.timeseries[:, 1].mean()),
    "linear-density": (_linear_density, lambda found: mean_height(found.z)),
    "pca": (_pca, lambda found: found.variance[:10].sum()),
    "msd": (_msd, lambda found: found.timeseries.mean()),
    "msd-protein": (_msd_protein, lambda found: found.timeseries.mean()),
    "hbonds": (_hbonds, lambda found: len(found.hbonds)),
    "hbonds-protein": (_hbonds_protein, lambda found: len(found.hbonds)),
}
"""How each is made, and the number in which all of its result takes part."""


if __name__ == "__main__":
    measure(prepare)
