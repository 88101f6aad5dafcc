"""MDAnalysis: its own class of each analysis, serial or with the backend that the job names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from peers.analyses.questions import (
    CONTACT,
    FARTHEST,
    HYDROGEN,
    N_BINS,
    OF_PROTEIN,
    OXYGEN,
    SALT_BRIDGE,
    SALT_BRIDGES,
    SLAB,
    charge,
    mean_height,
)
from peers.job import RELATIVE, Found, Job, Work, measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from MDAnalysis import Universe


def prepare(job: Job) -> Work:
    """Make the Universe without a trajectory."""
    import MDAnalysis as mda

    universe = mda.Universe(job.topology)

    def work() -> Found:
        universe.load_new(job.trajectory)
        n_frames, value = ANALYSES[job.what](universe, job)
        return Found(n_frames, float(value), within=UNEVEN if job.what == "msd-protein" else RELATIVE)

    return work


def _run(analysis: Any, job: Job) -> Any:
    if job.way == "serial":
        return analysis.run(step=job.step)
    return analysis.run(step=job.step, backend=job.way, n_workers=job.n_workers)


def _rmsd(universe: Universe, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.rms import RMSD

    analysis = _run(RMSD(universe.atoms[job.indices()]), job)
    return analysis.n_frames, analysis.results.rmsd[:, 2].mean()


def _rmsf_superposed(universe: Universe, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.align import AlignTraj

    # In memory, as its documentation advises; its transformation fit_rot_trans takes ten times as long.
    select = "index " + " ".join(map(str, job.indices()))
    AlignTraj(universe, universe.copy(), select=select, in_memory=True).run()
    return _rmsf(universe, job)


def _rmsf(universe: Universe, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.rms import RMSF

    analysis = _run(RMSF(universe.atoms[job.indices()]), job)
    return analysis.n_frames, analysis.results.rmsf.mean()


def _rg(universe: Universe, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.base import AnalysisFromFunction

    analysis = _run(AnalysisFromFunction(_radius, universe.select_atoms("protein")), job)
    return analysis.n_frames, analysis.results.timeseries.mean()


def _radius(atoms: Any) -> Any:
    return atoms.radius_of_gyration()


def _dihedrals(universe: Universe, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.dihedrals import Ramachandran

    analysis = _run(Ramachandran(universe.select_atoms("protein")), job)
    return analysis.n_frames, np.abs(analysis.results.angles).mean()


def _distances(universe: Universe, job: Job) -> tuple[int, float]:
    from MDAnalysis.lib.distances import distance_array

    atoms = universe.atoms[job.indices()]
    total, squares = np.zeros((2, len(atoms), len(atoms)))
    contacts, n_frames = np.zeros((len(atoms), len(atoms)), int), 0
    for _ in universe.trajectory[:: job.step]:
        found = distance_array(atoms.positions, atoms.positions)
        total += found
        squares += found * found
        contacts += found < CONTACT
        n_frames += 1
    return n_frames, total.mean() / n_frames


def _dssp(universe: Universe, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.dssp import DSSP

    analysis = _run(DSSP(universe), job)
    return analysis.n_frames, (analysis.results.dssp != "-").mean()


def _rdf(universe: Universe, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.rdf import InterRDF

    oxygen = universe.select_atoms(OXYGEN)
    analysis = _run(InterRDF(oxygen, oxygen, N_BINS, (0.0, FARTHEST), exclusion_block=(1, 1)), job)
    return analysis.n_frames, analysis.results.rdf.mean()


def _contacts(universe: Universe, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.contacts import Contacts

    groups = tuple(universe.select_atoms(selection) for selection in SALT_BRIDGES)
    analysis = _run(Contacts(universe, SALT_BRIDGES, groups, radius=SALT_BRIDGE), job)
    return analysis.n_frames, analysis.results.timeseries[:, 1].mean()


def _linear_density(universe: Universe, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.lineardensity import LinearDensity

    analysis = _run(LinearDensity(charge(universe), binsize=SLAB), job)
    return analysis.n_frames, mean_height(analysis.results.z)


def _pca(universe: Universe, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.pca import PCA

    analysis = _run(PCA(universe, "index " + " ".join(map(str, job.indices()))), job)
    return analysis.n_frames, analysis.results.variance[:10].sum()


def _msd(universe: Universe, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.msd import EinsteinMSD

    analysis = _run(EinsteinMSD(universe, OXYGEN), job)
    return analysis.n_frames, analysis.results.timeseries.mean()


def _msd_protein(universe: Universe, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.msd import EinsteinMSD

    analysis = _run(EinsteinMSD(universe, "index " + " ".join(map(str, job.indices()))), job)
    return analysis.n_frames, analysis.results.timeseries.mean()


def _hbonds(universe: Universe, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.hydrogenbonds import HydrogenBondAnalysis

    chosen = {"donors_sel": OXYGEN, "hydrogens_sel": HYDROGEN, "acceptors_sel": OXYGEN}
    analysis = _run(HydrogenBondAnalysis(universe, **chosen, update_selections=False), job)
    return analysis.n_frames, len(analysis.results.hbonds)


def _hbonds_protein(universe: Universe, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.hydrogenbonds import HydrogenBondAnalysis

    analysis = _run(HydrogenBondAnalysis(universe, **OF_PROTEIN, update_selections=False), job)
    return analysis.n_frames, len(analysis.results.hbonds)


UNEVEN = 1e-2
"""By times as XTC files have them, frames seem to be unevenly spaced to it, and it has some of the lags twice."""

ANALYSES: dict[str, Callable[[Universe, Job], tuple[int, float]]] = {
    "rmsd": _rmsd,
    "rmsf": _rmsf,
    "rmsf-superposed": _rmsf_superposed,
    "rg": _rg,
    "dihedrals": _dihedrals,
    "distances": _distances,
    "dssp": _dssp,
    "rdf": _rdf,
    "contacts": _contacts,
    "linear-density": _linear_density,
    "pca": _pca,
    "msd": _msd,
    "msd-protein": _msd_protein,
    "hbonds": _hbonds,
    "hbonds-protein": _hbonds_protein,
}
"""Each gives the number of frames and the number in which all of its result takes part."""


if __name__ == "__main__":
    measure(prepare)
