"""mdreel: the RMSD on every backend, reading alone, and every analysis."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from mdreel_lab.bench.peers import questions as ask
from mdreel_lab.bench.peers.job import Found, Job, Read, Series, Work

BATCH_BYTES = 2**22
"""Number of coordinates read at a time; fewer take longer, and more are not faster."""

READING = ("open", "read", "decompress")
COMPUTING = ("compute", "reduce")


def prepare(job: Job) -> Work:
    """Create the analysis, and start the cluster or the ranks of the backend before the measured run."""
    if job.what.startswith("read"):
        return {"arrays": _arrays, "chunks": _chunks}.get(job.way, _reading)(job)
    if job.what == "one-pass":
        return _one_pass(job)
    if job.what == "rmsd":
        return _rmsd(job)
    analysis, value_of = analysis_of(job), VALUES[job.what]

    def work() -> Found:
        analysis.run(job.start, job.stop, job.step, backend="threads", n_workers=job.n_workers)
        return Found(analysis.n_frames, float(value_of(analysis.results)))

    return work


def analysis_of(job: Job) -> Any:
    """Return the analysis of a job; it opens its trajectory when it is run."""
    import MDAnalysis as mda

    import mdreel

    universe = mda.Universe(job.topology)
    selected = universe.atoms[job.indices()]
    protein, oxygen = universe.select_atoms("protein"), universe.select_atoms(ask.OXYGEN)
    of: dict[str, Any] = {"trajectory": job.trajectory if job.n_times == 1 else [job.trajectory] * job.n_times}
    bins = (ask.N_BINS, (0.0, ask.FARTHEST))
    water: dict[str, Any] = {"donors_sel": ask.OXYGEN, "hydrogens_sel": ask.HYDROGEN, "acceptors_sel": ask.OXYGEN}
    makers: dict[str, Callable[[], Any]] = {
        "rmsd": lambda: mdreel.RMSD(selected, **of),
        "rmsf": lambda: mdreel.RMSF(selected, **of),
        "rmsf-superposed": lambda: mdreel.RMSF(selected, superposition=True, **of),
        "rg": lambda: mdreel.Rg(protein, **of),
        "dihedrals": lambda: mdreel.Ramachandran(protein, **of),
        "distances": lambda: mdreel.DistanceArray(selected, cutoff=ask.CONTACT, **of),
        "dssp": lambda: mdreel.DSSP(universe, **of),
        "dssp8": lambda: mdreel.DSSP(universe, method="kabsch-sander", **of),
        "rdf": lambda: mdreel.InterRDF(oxygen, oxygen, *bins, exclusion_block=(1, 1), **of),
        "sasa": lambda: mdreel.SASA(protein, ask.PROBE, ask.N_SPHERE_POINTS, "total", **of),
        "contacts": lambda: mdreel.Contacts(universe, ask.SALT_BRIDGES, 0, radius=ask.SALT_BRIDGE, **of),
        "residue-contacts": lambda: mdreel.ResidueContacts(protein, cutoff=ask.RESIDUE_CONTACT, series=False, **of),
        "linear-density": lambda: mdreel.LinearDensity(ask.charge(universe), binsize=ask.SLAB, **of),
        "pca": lambda: mdreel.PCA(selected, **of),
        "cross-correlation": lambda: mdreel.analysis.CrossCorrelation(selected, **of),
        "cross-correlation-atoms": lambda: mdreel.analysis.CrossCorrelation(universe, **of),
        "lddt": lambda: mdreel.analysis.LDDT(selected, select=None, **of),
        "survival": lambda: mdreel.analysis.SurvivalProbability(universe, ask.SHELL, ask.LONGEST_STAY, **of),
        "clusters": lambda: mdreel.analysis.GromosClustering(selected, cutoff=ask.CLUSTER, **of),
        "hierarchical": lambda: mdreel.analysis.HierarchicalClustering(selected, n_clusters=ask.N_CLUSTERS, **of),
        "k-means": lambda: mdreel.analysis.KMeansClustering(
            selected, n_clusters=ask.N_CLUSTERS, n_starts=1, ref_frame=0, **of
        ),
        "k-medoids": lambda: mdreel.analysis.KMedoidsClustering(selected, n_clusters=ask.N_CLUSTERS, **of),
        "online-clusters": lambda: mdreel.analysis.OnlineClustering(selected, cutoff=ask.CLUSTER, **of),
        "msd": lambda: mdreel.EinsteinMSD(oxygen, **of),
        "msd-protein": lambda: mdreel.EinsteinMSD(selected, **of),
        "hbonds": lambda: mdreel.HydrogenBondAnalysis(universe, **water, update_selections=False, **of),
        "water-bridges": lambda: mdreel.analysis.WaterBridgeAnalysis(universe, **ask.BRIDGED, **of),
        "shell": lambda: mdreel.Selection(universe, ask.SHELL, **of),
        "shell-pass": lambda: mdreel.Contacts(
            universe, (oxygen, protein), refgroup=None, method="count", radius=ask.SHELL_WIDTH, **of
        ),
        "hbonds-protein": lambda: mdreel.HydrogenBondAnalysis(
            universe, **ask.OF_PROTEIN, update_selections=False, **of
        ),
    }
    return makers[job.what]()


def initial_frames(job: Job) -> Any:
    """Return the places of the first centres among the analysed frames, for a peer that starts with them, too."""
    return analysis_of(job).run(step=job.step, n_workers=job.n_workers).results.initial_frames // job.step


VALUES: dict[str, Callable[[Any], Any]] = {
    **ask.VALUES,
    "rg": lambda found: found.rgyr[:, 2].mean(),
    "distances": lambda found: found.mean.mean(),
    "dssp": lambda found: 1 - found.fraction[:, 0].mean(),
    "dssp8": lambda found: 1 - found.fraction[:, 0].mean(),
    "sasa": lambda found: found.total_area.mean(),
    "residue-contacts": lambda found: found.counts.mean(),
    "cross-correlation": lambda found: found.correlation.mean(),
    "cross-correlation-atoms": lambda found: found.correlation.mean(),
    "lddt": lambda found: found.lddt.mean(),
    "survival": lambda found: found.sp_timeseries.mean(),
    "clusters": lambda found: ask.mean_size(found.sizes),
    "hierarchical": lambda found: found.linkage[:, 2].mean(),
    "k-means": lambda found: found.inertia,
    "k-medoids": lambda found: found.cost,
    "online-clusters": lambda found: ask.mean_size(found.sizes),
    "shell": lambda found: found.counts.mean(),
    "water-bridges": lambda found: found.starts.sum(),
    "shell-pass": lambda found: found.timeseries[:, 1].mean(),
}
"""The number to which every part of a result contributes, by analysis."""


def _arrays(job: Job) -> Work:
    # `mdreel` imports the function when it is first looked up: before the time starts, as the peers' imports.
    from mdreel import read

    chosen = None if job.what == "read" else job.indices()

    def work() -> Read:
        positions = read(job.trajectory, chosen, job.start, job.stop, n_workers=job.n_workers).positions
        assert positions is not None
        return Read.of(len(positions), positions[-1])

    return work


def _chunks(job: Job) -> Work:
    from mdreel import iread

    chosen = None if job.what == "read" else job.indices()

    def work() -> Read:
        n_frames = 0
        for chunk in iread(job.trajectory, chosen, n_workers=job.n_workers):
            n_frames += len(chunk)
        assert chunk.positions is not None
        return Read.of(n_frames, chunk.positions[-1])

    return work


def _reading(job: Job) -> Work:
    from mdreel._core import FrameSet
    from mdreel.trajectory.open import open as open_trajectory

    chosen = None if job.what == "read" else job.indices().astype(np.uint32)

    def work() -> Read:
        source = open_trajectory(job.trajectory)
        wanted = np.arange(source.n_atoms, dtype=np.uint32) if chosen is None else chosen
        reader = source.reader(wanted)
        n_frames, batch = source.n_frames, max(1, BATCH_BYTES // (12 * len(wanted)))
        for first in range(0, n_frames, batch):
            last = reader.read(FrameSet.range(first, 1, min(batch, n_frames - first))).positions[-1]
        return Read.of(n_frames, last)

    return work


def _rmsd(job: Job) -> Work:
    analysis = analysis_of(job)
    backend: Any = job.way
    if job.way == "dask":
        import distributed  # noqa: F401
    if job.way == "dask-cluster":
        from distributed import Client

        from mdreel.execution.executors.dask.cluster import local_cluster
        from mdreel.execution.executors.dask.executor import Dask

        # It lasts as long as this process.
        backend = Dask(client=Client(ExitStack().enter_context(local_cluster(job.n_workers))))

    def rmsd() -> Any:
        return analysis.run(backend=backend, n_workers=job.n_workers).results.rmsd[:, 2]

    if job.way != "mpi":
        return rmsd
    from mdreel.execution.executors.mpi.executor import Mpi

    backend = Mpi()

    def on_ranks() -> Series:  # the results stay on rank 0
        results: list[Series] = []
        backend.share(lambda: results.append(rmsd()))
        return results[0] if results else np.zeros(1)

    return on_ranks


def _one_pass(job: Job) -> Work:
    """Run three analyses in one pass; or time the costliest reading of one of them, and the computing of all."""
    from mdreel.analysis.base.one_pass import run

    def make() -> list[Any]:
        return [analysis_of(replace(job, what=what)) for what in ("rmsd", "rg", "dihedrals")]

    def value_of(analyses: list[Any]) -> float:
        rmsd, rg, ramachandran = (analysis.results for analysis in analyses)
        return float(rmsd.rmsd[:, 2].mean() + rg.rgyr[:, 2].mean() + abs(ramachandran.angles).mean())

    made = make()

    def together() -> Found:
        begin = time.perf_counter()
        run(made, backend="serial")
        seconds = time.perf_counter() - begin
        return Found(made[0].n_frames, value_of(made), seconds=seconds)

    def apart() -> Found:
        analyses = [analysis.run(backend="serial") for analysis in made]
        reading, computing = (
            [sum(map(analysis.timing.seconds, kinds)) for analysis in analyses] for kinds in (READING, COMPUTING)
        )
        return Found(analyses[0].n_frames, value_of(analyses), seconds=max(reading) + sum(computing))

    return together if job.way == "together" else apart
