"""mdtraj: its analyses on chunks of the atoms that each needs; reading; and the RMSD in a pool of processes."""

from collections.abc import Callable
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import mdtraj
import numpy as np

from mdreel_lab.bench.peers import questions as ask
from mdreel_lab.bench.peers.job import ANGSTROM_PER_NM, RELATIVE, Found, Indices, Job, Read, Series, Work

CHUNK = 1000
"""Number of frames that ``iterload`` reads at a time; fewer take longer, and more were not measurably faster."""

BATCH = 100
"""Frames that the file object reads at a time."""


def prepare(job: Job) -> Work:
    """Read the topology."""
    topology = mdtraj.load_topology(job.reference)
    if job.what.startswith("read"):
        return _arrays(topology, job) if job.way in ("load", "iterload") else _reading(job)
    if job.what == "rmsd":
        indices = job.indices()
        return lambda: {"load": _load, "pool": _pool}.get(job.way, _iterload)(topology, job, indices)

    def analyse() -> Found:
        n_frames, value = (_chunked if job.what in CHUNKED else ANALYSES[job.what])(topology, job)
        # The length that it allows a hydrogen bond depends on the angle: it finds 1.7 times as many.
        return Found(n_frames, float(value), within=1.0 if job.what == "hbonds-protein" else RELATIVE)

    return analyse


def _reading(job: Job) -> Work:
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


def _arrays(topology: Any, job: Job) -> Work:
    chosen = None if job.what == "read" else job.indices()

    def read() -> Read:
        if job.way == "load":
            positions = mdtraj.load(job.trajectory, top=topology, atom_indices=chosen).xyz
            return Read.of(len(positions), positions[-1], ANGSTROM_PER_NM)
        n_frames = 0
        for chunk in mdtraj.iterload(job.trajectory, chunk=CHUNK, top=topology, atom_indices=chosen):
            n_frames += len(chunk)
            last = chunk.xyz[-1]
        return Read.of(n_frames, last, ANGSTROM_PER_NM)

    return read


def _load(topology: Any, job: Job, indices: Indices) -> Series:
    trajectory = mdtraj.load(job.trajectory, top=topology, atom_indices=indices)
    return np.asarray(mdtraj.rmsd(trajectory, trajectory, 0), dtype=np.float64) * ANGSTROM_PER_NM


def _iterload(topology: Any, job: Job, indices: Indices) -> Series:
    parts, first = [], None
    for chunk in _chunks(topology, job, indices):
        first = chunk[0] if first is None else first
        parts.append(mdtraj.rmsd(chunk, first, 0))
    return np.concatenate(parts).astype(np.float64) * ANGSTROM_PER_NM


def _pool(topology: Any, job: Job, indices: Indices) -> Series:
    """Share the frames among the processes of a pool, which read them with ``iterload``."""
    reference = mdtraj.load_frame(job.trajectory, 0, top=topology, atom_indices=indices)
    with mdtraj.open(job.trajectory) as file:
        n_frames = len(file)
    edges = np.linspace(0, n_frames, job.n_workers + 1).astype(int).tolist()
    shares = [(job, topology, indices, reference, first, end) for first, end in pairwise(edges)]
    with get_context("fork").Pool(job.n_workers) as pool:
        return np.concatenate(pool.starmap(_share, shares, chunksize=1))


def _share(job: Job, topology: Any, indices: Indices, reference: Any, first: int, end: int) -> Series:
    parts: list[Series] = []
    left = end - first
    for chunk in mdtraj.iterload(job.trajectory, chunk=CHUNK, skip=first, top=topology, atom_indices=indices):
        parts.append(mdtraj.rmsd(chunk[:left], reference, 0).astype(np.float64) * ANGSTROM_PER_NM)
        left -= len(parts[-1])
        if not left:
            break
    return np.concatenate(parts)


def _chunks(topology: Any, job: Job, atoms: Any, chunk: int = CHUNK) -> Any:
    return mdtraj.iterload(job.trajectory, chunk=chunk, stride=job.step, top=topology, atom_indices=atoms)


def _chunked(topology: Any, job: Job) -> tuple[int, float]:
    selection, result_of, value_of = CHUNKED[job.what]
    found = np.concatenate([result_of(chunk) for chunk in _chunks(topology, job, topology.select(selection))])
    return len(found), value_of(found)


def _rmsf_superposed(topology: Any, job: Job) -> tuple[int, float]:
    loaded = mdtraj.load(job.trajectory, top=topology, stride=job.step, atom_indices=job.indices())
    return loaded.n_frames, ANGSTROM_PER_NM * mdtraj.rmsf(loaded.superpose(loaded), None).mean(dtype=float)


def _rg(topology: Any, job: Job) -> tuple[int, float]:
    atoms = topology.select("protein")
    masses = np.array([topology.atom(i).element.mass for i in atoms])
    found = np.concatenate([mdtraj.compute_rg(chunk, masses) for chunk in _chunks(topology, job, atoms)])
    return len(found), ANGSTROM_PER_NM * found.mean()


def _angles(chunk: Any) -> Any:
    """Return each angle of the residues that have both, as MDAnalysis's Ramachandran does."""
    phi, psi = mdtraj.compute_phi(chunk)[1], mdtraj.compute_psi(chunk)[1]
    return np.degrees(np.stack([phi[:, :-1], psi[:, 1:]], axis=2))


def _distances(topology: Any, job: Job) -> tuple[int, float]:
    atoms = job.indices()
    pairs = np.stack(np.triu_indices(len(atoms), 1), axis=1)
    total, squares, contacts, n_frames = np.zeros(len(pairs)), np.zeros(len(pairs)), np.zeros(len(pairs), int), 0
    for chunk in _chunks(topology, job, atoms):
        found = mdtraj.compute_distances(chunk, pairs, periodic=False)
        total += found.sum(axis=0, dtype=float)
        squares += (found * found).sum(axis=0, dtype=float)
        contacts += (found * ANGSTROM_PER_NM < ask.CONTACT).sum(axis=0)
        n_frames += len(chunk)
    return n_frames, ANGSTROM_PER_NM * 2 * total.sum() / n_frames / len(atoms) ** 2


def _rdf(topology: Any, job: Job) -> tuple[int, float]:
    oxygen = topology.select("name O and water")
    pairs = np.stack(np.triu_indices(len(oxygen), 1), axis=1).astype(np.int32)
    counts, n_frames = np.zeros(ask.N_BINS), 0
    edges = np.linspace(0.0, ask.FARTHEST / ANGSTROM_PER_NM, ask.N_BINS + 1)
    shells = 4 / 3 * np.pi * np.diff(edges**3)
    # Frame by frame: the distances of all pairs of one frame take half a gigabyte.
    for frame in _chunks(topology, job, oxygen, chunk=1):
        found, _ = np.histogram(mdtraj.compute_distances(frame, pairs), edges)
        counts += found * float(frame.unitcell_volumes[0])
        n_frames += 1
    return n_frames, (counts / (n_frames * len(pairs) * shells)).mean()


def _hbonds_protein(topology: Any, job: Job) -> tuple[int, float]:
    n_frames, n_bonds = 0, 0
    # It keeps a distance and an angle of each donor and acceptor in each frame: 1,000 frames would take gigabytes.
    for chunk in _chunks(topology, job, None, CHUNK // 10):
        n_bonds += sum(map(len, mdtraj.wernet_nilsson(chunk, periodic=False)))
        n_frames += len(chunk)
    return n_frames, n_bonds


def _residue_contacts(topology: Any, job: Job) -> tuple[int, float]:
    n_frames, n_contacts, cutoff = 0, 0, ask.RESIDUE_CONTACT / ANGSTROM_PER_NM
    # It keeps the distances of all pairs of atoms of a chunk: those of 1,000 frames would take gigabytes.
    for chunk in _chunks(topology, job, topology.select("protein"), CHUNK // 50):
        n_contacts += int((mdtraj.compute_contacts(chunk, periodic=False)[0] <= cutoff).sum())
        n_frames += len(chunk)
    return n_frames, n_contacts / n_frames


def _clusters(topology: Any, job: Job) -> tuple[int, float]:
    """Cluster the matrix of all pairs, as users of mdtraj do."""
    loaded = mdtraj.load(job.trajectory, top=topology, stride=job.step, atom_indices=job.indices())
    loaded.center_coordinates()
    rows = [mdtraj.rmsd(loaded, loaded, i, precentered=True) for i in range(loaded.n_frames)]
    near = np.array([row <= ask.CLUSTER / ANGSTROM_PER_NM for row in rows])
    left, counts, sizes = np.ones(len(near), bool), near.sum(axis=1), []
    while left.any():
        members = near[counts.argmax()] & left
        left &= ~members
        counts = np.where(left, counts - near[:, members].sum(axis=1), -1)
        sizes.append(int(members.sum()))
    return loaded.n_frames, ask.mean_size(sizes)


def _online_clusters(topology: Any, job: Job) -> tuple[int, float]:
    """Compare each frame with the leaders before it, as no function of mdtraj does it."""
    n_frames, leaders, sizes = 0, None, []
    for chunk in _chunks(topology, job, job.indices()):
        chunk.center_coordinates()
        for i in range(len(chunk)):
            if leaders is not None:
                found = mdtraj.rmsd(leaders, chunk, i, precentered=True)
                nearest = int(found.argmin())
                if found[nearest] <= ask.CLUSTER / ANGSTROM_PER_NM:
                    sizes[nearest] += 1
                    continue
            leaders = chunk[i] if leaders is None else leaders.join(chunk[i])
            leaders.center_coordinates()
            sizes.append(1)
        n_frames += len(chunk)
    return n_frames, ask.mean_size(sizes)


def _surface(chunk: Any) -> Any:
    areas = mdtraj.shrake_rupley(chunk, ask.PROBE / ANGSTROM_PER_NM, ask.N_SPHERE_POINTS)
    return areas.sum(axis=1, dtype=float)


CHUNKED: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], float]]] = {
    "dihedrals": ("protein and backbone", _angles, lambda found: np.abs(found).mean()),
    "dssp8": (
        "protein and backbone",
        lambda chunk: mdtraj.compute_dssp(chunk, simplified=False),
        lambda found: (found != " ").mean(),
    ),
    "sasa": ("protein", _surface, lambda found: ANGSTROM_PER_NM**2 * found.mean()),
}
"""Analyses of chunks alone: the selection, the result of a chunk, and the number made of the results of all frames."""

ANALYSES: dict[str, Callable[[Any, Job], tuple[int, float]]] = {
    "rmsf-superposed": _rmsf_superposed,
    "rg": _rg,
    "distances": _distances,
    "rdf": _rdf,
    "hbonds-protein": _hbonds_protein,
    "residue-contacts": _residue_contacts,
    "clusters": _clusters,
    "online-clusters": _online_clusters,
}
"""Each other analysis returns the number of frames, and the number to which every part of its result contributes."""
