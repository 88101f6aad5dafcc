"""MDAnalysis: its own class of each analysis, serial or on a backend; reading; and static blocks with Dask over it."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from mdreel_lab.bench.peers import questions as ask
from mdreel_lab.bench.peers.job import ANGSTROM_PER_NM, RELATIVE, Found, Job, Read, Series, Work

UNEVEN = 1e-2
"""Allowed deviation of its MSD, which treats frames of XTC files as unevenly spaced and has some lags twice."""


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

    def rmsd() -> Any:
        from MDAnalysis.analysis.rms import RMSD

        universe.load_new(job.trajectory)
        return _run(RMSD(universe.atoms[indices]), job).results.rmsd[:, 2]

    def analyse() -> Found:
        universe.load_new(job.trajectory)
        if job.what in FUNCTIONS:
            n_frames, value = FUNCTIONS[job.what](universe, job)
        else:
            analysis = _run(_made(universe, job), job)
            n_frames, value = analysis.n_frames, VALUES[job.what](analysis.results)
        return Found(n_frames, float(value), within=UNEVEN if job.what == "msd-protein" else RELATIVE)

    if job.what != "rmsd":
        return analyse
    indices = job.indices()
    return rmsd


def _reading(universe: Any, job: Job) -> Work:
    indices = None if job.what == "read" else job.indices()
    if job.way in ("timeseries", "transfer-to-memory"):
        return _arrays(universe.atoms if indices is None else universe.atoms[indices], job)

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


def _arrays(atoms: Any, job: Job) -> Work:
    """Read all frames into one array; a Universe in memory has all atoms."""

    def read() -> Read:
        universe = atoms.universe
        universe.load_new(job.trajectory)
        if job.way == "timeseries":
            positions = universe.trajectory.timeseries(atomgroup=atoms, order="fac")
            return Read.of(len(positions), positions[-1])
        universe.transfer_to_memory()
        positions = universe.trajectory.coordinate_array
        return Read.of(len(positions), positions[-1][atoms.ix])

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

    def rmsd() -> Any:
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


def _radius(atoms: Any) -> Any:
    return atoms.radius_of_gyration()


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


def _cross_correlation(universe: Any, job: Job) -> tuple[int, float]:
    """Sum inner products frame by frame, relative to the first frame, as no class of MDAnalysis does it."""
    atoms = universe.atoms if job.what == "cross-correlation-atoms" else universe.atoms[job.indices()]
    if job.way == "matrix-product":
        return _matrix_product(universe, atoms, job)
    first = atoms.positions.astype(np.float64)
    sums, products, n_frames = np.zeros((len(atoms), 3)), np.zeros((len(atoms), len(atoms))), 0
    for _ in universe.trajectory[:: job.step]:
        moved = atoms.positions - first
        sums += moved
        products += moved @ moved.T
        n_frames += 1
    products = products / n_frames - sums @ sums.T / n_frames**2
    scale = np.sqrt(np.diag(products))
    return n_frames, float((products / np.outer(scale, scale)).mean())


def _matrix_product(universe: Any, atoms: Any, job: Job) -> tuple[int, float]:
    """Compute the same from an array of all frames, with one symmetric product of matrices."""
    frames = universe.trajectory.timeseries(atomgroup=atoms, order="fac", step=job.step)
    rows = (frames - frames.mean(axis=0)).transpose(0, 2, 1).reshape(-1, len(atoms)).astype(np.float64)
    products = rows.T @ rows
    scale = np.sqrt(np.diag(products))
    return len(frames), float((products / np.outer(scale, scale)).mean())


def _lddt(universe: Any, job: Job) -> tuple[int, float]:
    """Compare the distances of each frame with those of the first one, as no class of MDAnalysis does it."""
    from MDAnalysis.lib.distances import self_distance_array

    atoms = universe.atoms[job.indices()]
    reference = self_distance_array(atoms.positions)
    near = reference <= ask.INCLUSION
    values = []
    for _ in universe.trajectory[:: job.step]:
        differences = np.abs(self_distance_array(atoms.positions)[near] - reference[near])
        values.append(np.mean([(differences <= most).mean() for most in ask.PRESERVED]))
    return len(values), float(np.mean(values))


def _survival(universe: Any, job: Job) -> tuple[int, float]:
    """Select in each frame and correlate the sets, as waterdynamics does it."""
    from MDAnalysis.lib.correlations import autocorrelation

    group = universe.select_atoms(ask.SHELL, updating=True)
    sets = [set(group.ix.tolist()) for _ in universe.trajectory[:: job.step]]
    return len(sets), float(np.mean(autocorrelation(sets, ask.LONGEST_STAY)[1]))


def _shell(universe: Any, job: Job) -> tuple[int, float]:
    group = universe.select_atoms(ask.SHELL, updating=True)
    counts = [len(group) for _ in universe.trajectory[:: job.step]]
    return len(counts), float(np.mean(counts))


def _made(universe: Any, job: Job) -> Any:
    """Return one of its classes of analysis."""
    from MDAnalysis.analysis import contacts, dihedrals, dssp, hydrogenbonds, lineardensity, msd, pca, rdf
    from MDAnalysis.analysis.base import AnalysisFromFunction

    oxygen, protein = universe.select_atoms(ask.OXYGEN), universe.select_atoms("protein")
    bridges = tuple(universe.select_atoms(selection) for selection in ask.SALT_BRIDGES)
    bins = (ask.N_BINS, (0.0, ask.FARTHEST))
    water = {"donors_sel": ask.OXYGEN, "hydrogens_sel": ask.HYDROGEN, "acceptors_sel": ask.OXYGEN}
    bonds = hydrogenbonds.HydrogenBondAnalysis
    makers: dict[str, Callable[[], Any]] = {
        "rg": lambda: AnalysisFromFunction(_radius, protein),
        "dihedrals": lambda: dihedrals.Ramachandran(protein),
        "dssp": lambda: dssp.DSSP(universe),
        "rdf": lambda: rdf.InterRDF(oxygen, oxygen, *bins, exclusion_block=(1, 1)),
        "contacts": lambda: contacts.Contacts(universe, ask.SALT_BRIDGES, bridges, radius=ask.SALT_BRIDGE),
        "linear-density": lambda: lineardensity.LinearDensity(ask.charge(universe), binsize=ask.SLAB),
        "pca": lambda: pca.PCA(universe, _selected(job)),
        "msd": lambda: msd.EinsteinMSD(universe, ask.OXYGEN),
        "msd-protein": lambda: msd.EinsteinMSD(universe, _selected(job)),
        "hbonds": lambda: bonds(universe, **water, update_selections=False),
        "hbonds-protein": lambda: bonds(universe, **ask.OF_PROTEIN, update_selections=False),
        "water-bridges": lambda: hydrogenbonds.WaterBridgeAnalysis(universe, **ask.BRIDGED),
    }
    return makers[job.what]()


VALUES: dict[str, Callable[[Any], Any]] = {
    **ask.VALUES,
    "rg": lambda found: found.timeseries.mean(),
    "dssp": lambda found: (found.dssp != "-").mean(),
    "water-bridges": lambda found: sum(map(len, found.network)),
}
"""The number to which every part of a result contributes, by analysis."""

FUNCTIONS: dict[str, Callable[[Any, Job], tuple[int, float]]] = {
    "rmsf": _rmsf,
    "rmsf-superposed": _rmsf,
    "distances": _distances,
    "cross-correlation": _cross_correlation,
    "cross-correlation-atoms": _cross_correlation,
    "lddt": _lddt,
    "survival": _survival,
    "shell": _shell,
}
"""Analyses that need more than a class; each returns the number of frames, and a number of this kind."""
