"""MDAnalysis: its own class of each analysis, serial or on a backend; reading; and static blocks with Dask over it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from mdreel_lab.bench.peers import questions as ask
from mdreel_lab.bench.peers.job import ANGSTROM_PER_NM, RELATIVE, Found, Job, Read, Series, Work

UNEVEN = 1e-2
"""Deviation of its MSD: it takes frames of XTC files for unevenly spaced, and has some of the lags twice."""


def prepare(job: Job) -> Work:
    """Make the Universe without a trajectory, and import what the backend needs."""
    import MDAnalysis as mda

    if job.way == "file":
        return _file(job)
    if job.way == "static-blocks":
        return _static_blocks(job)
    if job.way == "dask":
        import dask.multiprocessing  # noqa: F401
    universe = mda.Universe(job.topology)
    if job.what.startswith("read"):
        return _reading(universe, job)

    def rmsd() -> Series:
        from MDAnalysis.analysis.rms import RMSD

        universe.load_new(job.trajectory)
        series: Series = _run(RMSD(universe.atoms[indices]), job).results.rmsd[:, 2]
        return series

    def analyse() -> Found:
        universe.load_new(job.trajectory)
        n_frames, value = ANALYSES[job.what](universe, job)
        return Found(n_frames, float(value), within=UNEVEN if job.what == "msd-protein" else RELATIVE)

    if job.what != "rmsd":
        return analyse
    indices = job.indices()
    return rmsd


def _reading(universe: Any, job: Job) -> Work:
    indices = None if job.what == "read" else job.indices()

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

    return read


def _file(job: Job) -> Work:
    """Read with the C library xdrfile through MDAnalysis's thin file object."""
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    def read() -> Read:
        n_frames = 0
        with XTCFile(job.trajectory) as file:
            for frame in file:
                n_frames += 1
                last = frame.x
        return Read.of(n_frames, last, ANGSTROM_PER_NM)

    return read


def _static_blocks(job: Job) -> Work:
    """Give each worker a static block with ``dask.delayed``, as Khoshlessan et al. (2017) and PMDA do."""
    import dask.multiprocessing
    import MDAnalysis as mda

    delayed: Any = dask.delayed  # type: ignore[attr-defined]
    compute: Any = dask.compute  # type: ignore[attr-defined]
    universe = mda.Universe(job.topology)

    def rmsd() -> Series:
        universe.load_new(job.trajectory)
        reference = universe.atoms[job.indices()].positions
        edges = np.linspace(0, universe.trajectory.n_frames, job.n_workers + 1).astype(int).tolist()
        blocks = [delayed(_block)(job, reference, first, end) for first, end in pairwise(edges)]
        return np.concatenate(compute(*blocks, scheduler="processes", num_workers=job.n_workers))

    return rmsd


def _block(job: Job, reference: Any, first: int, end: int) -> Series:
    import MDAnalysis as mda
    from MDAnalysis.analysis.rms import rmsd

    universe = mda.Universe(job.topology, job.trajectory)
    atoms = universe.atoms[job.indices()]
    return np.array(
        [rmsd(atoms.positions, reference, center=True, superposition=True) for _ in universe.trajectory[first:end]]
    )


def _run(analysis: Any, job: Job) -> Any:
    if job.way == "serial":
        return analysis.run(step=job.step)
    return analysis.run(step=job.step, backend=job.way, n_workers=job.n_workers)


def _selected(job: Job) -> str:
    return "index " + " ".join(map(str, job.indices()))


def _rmsf(universe: Any, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.align import AlignTraj
    from MDAnalysis.analysis.rms import RMSF

    if job.what == "rmsf-superposed":
        # In memory, as its documentation advises; its transformation fit_rot_trans takes ten times as long.
        AlignTraj(universe, universe.copy(), select=_selected(job), in_memory=True).run()
    analysis = _run(RMSF(universe.atoms[job.indices()]), job)
    return analysis.n_frames, analysis.results.rmsf.mean()


def _rg(universe: Any, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.base import AnalysisFromFunction

    analysis = _run(AnalysisFromFunction(_radius, universe.select_atoms("protein")), job)
    return analysis.n_frames, analysis.results.timeseries.mean()


def _radius(atoms: Any) -> Any:
    return atoms.radius_of_gyration()


def _dihedrals(universe: Any, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.dihedrals import Ramachandran

    analysis = _run(Ramachandran(universe.select_atoms("protein")), job)
    return analysis.n_frames, np.abs(analysis.results.angles).mean()


def _distances(universe: Any, job: Job) -> tuple[int, float]:
    from MDAnalysis.lib.distances import distance_array

    atoms = universe.atoms[job.indices()]
    total, squares = np.zeros((2, len(atoms), len(atoms)))
    contacts, n_frames = np.zeros((len(atoms), len(atoms)), int), 0
    for _ in universe.trajectory[:: job.step]:
        found = distance_array(atoms.positions, atoms.positions)
        total += found
        squares += found * found
        contacts += found < ask.CONTACT
        n_frames += 1
    return n_frames, total.mean() / n_frames


def _dssp(universe: Any, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.dssp import DSSP

    analysis = _run(DSSP(universe), job)
    return analysis.n_frames, (analysis.results.dssp != "-").mean()


def _rdf(universe: Any, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.rdf import InterRDF

    oxygen = universe.select_atoms(ask.OXYGEN)
    analysis = _run(InterRDF(oxygen, oxygen, ask.N_BINS, (0.0, ask.FARTHEST), exclusion_block=(1, 1)), job)
    return analysis.n_frames, analysis.results.rdf.mean()


def _contacts(universe: Any, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.contacts import Contacts

    groups = tuple(universe.select_atoms(selection) for selection in ask.SALT_BRIDGES)
    analysis = _run(Contacts(universe, ask.SALT_BRIDGES, groups, radius=ask.SALT_BRIDGE), job)
    return analysis.n_frames, analysis.results.timeseries[:, 1].mean()


def _linear_density(universe: Any, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.lineardensity import LinearDensity

    analysis = _run(LinearDensity(ask.charge(universe), binsize=ask.SLAB), job)
    return analysis.n_frames, ask.mean_height(analysis.results.z)


def _pca(universe: Any, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.pca import PCA

    analysis = _run(PCA(universe, _selected(job)), job)
    return analysis.n_frames, analysis.results.variance[:10].sum()


def _msd(universe: Any, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.msd import EinsteinMSD

    analysis = _run(EinsteinMSD(universe, ask.OXYGEN if job.what == "msd" else _selected(job)), job)
    return analysis.n_frames, analysis.results.timeseries.mean()


def _hbonds(universe: Any, job: Job) -> tuple[int, float]:
    from MDAnalysis.analysis.hydrogenbonds import HydrogenBondAnalysis

    water = {"donors_sel": ask.OXYGEN, "hydrogens_sel": ask.HYDROGEN, "acceptors_sel": ask.OXYGEN}
    chosen = water if job.what == "hbonds" else ask.OF_PROTEIN
    analysis = _run(HydrogenBondAnalysis(universe, **chosen, update_selections=False), job)
    return analysis.n_frames, len(analysis.results.hbonds)


ANALYSES: dict[str, Callable[[Any, Job], tuple[int, float]]] = {
    "rmsf": _rmsf,
    "rmsf-superposed": _rmsf,
    "rg": _rg,
    "dihedrals": _dihedrals,
    "distances": _distances,
    "dssp": _dssp,
    "rdf": _rdf,
    "contacts": _contacts,
    "linear-density": _linear_density,
    "pca": _pca,
    "msd": _msd,
    "msd-protein": _msd,
    "hbonds": _hbonds,
    "hbonds-protein": _hbonds,
}
"""Each returns the number of frames, and the number to which every part of its result contributes."""
