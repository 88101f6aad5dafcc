"""mdtraj: chunk after chunk, of the atoms that each analysis needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from peers.analyses.questions import CONTACT, FARTHEST, N_BINS, N_SPHERE_POINTS, PROBE
from peers.job import ANGSTROM_PER_NM, RELATIVE, Found, Job, Work, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHUNK = 1000
"""Frames that are read at a time: fewer take longer, and more were not measurably faster."""


def prepare(job: Job) -> Work:
    """Read the topology."""
    import mdtraj

    topology = mdtraj.load_topology(job.reference)

    def work() -> Found:
        n_frames, value = ANALYSES[job.what](topology, job)
        # The length that it lets a hydrogen bond have depends on the angle: it finds 1.7 times as many.
        return Found(n_frames, float(value), within=1.0 if job.what == "hbonds-protein" else RELATIVE)

    return work


def _chunks(topology: Any, job: Job, atoms: Any) -> Iterator[Any]:
    import mdtraj

    yield from mdtraj.iterload(job.trajectory, chunk=CHUNK, stride=job.step, top=topology, atom_indices=atoms)


def _rmsd(topology: Any, job: Job) -> tuple[int, float]:
    import mdtraj

    reference, parts = None, []
    for chunk in _chunks(topology, job, job.indices()):
        reference = chunk[0] if reference is None else reference
        parts.append(mdtraj.rmsd(chunk, reference))
    found = np.concatenate(parts)
    return len(found), ANGSTROM_PER_NM * found.mean(dtype=float)


def _rmsf_superposed(topology: Any, job: Job) -> tuple[int, float]:
    import mdtraj

    loaded = mdtraj.load(job.trajectory, top=topology, stride=job.step, atom_indices=job.indices())
    return loaded.n_frames, ANGSTROM_PER_NM * mdtraj.rmsf(loaded.superpose(loaded), None).mean(dtype=float)


def _rg(topology: Any, job: Job) -> tuple[int, float]:
    import mdtraj

    atoms = topology.select("protein")
    masses = np.array([topology.atom(i).element.mass for i in atoms])
    found = np.concatenate([mdtraj.compute_rg(chunk, masses) for chunk in _chunks(topology, job, atoms)])
    return len(found), ANGSTROM_PER_NM * found.mean()


def _dihedrals(topology: Any, job: Job) -> tuple[int, float]:
    import mdtraj

    parts = []
    for chunk in _chunks(topology, job, topology.select("protein and backbone")):
        # Each angle of the residues that have both, as MDAnalysis's Ramachandran.
        phi, psi = mdtraj.compute_phi(chunk)[1], mdtraj.compute_psi(chunk)[1]
        parts.append(np.degrees(np.stack([phi[:, :-1], psi[:, 1:]], axis=2)))
    found = np.concatenate(parts)
    return len(found), np.abs(found).mean()


def _distances(topology: Any, job: Job) -> tuple[int, float]:
    import mdtraj

    atoms = job.indices()
    pairs = np.stack(np.triu_indices(len(atoms), 1), axis=1)
    total, squares, contacts, n_frames = np.zeros(len(pairs)), np.zeros(len(pairs)), np.zeros(len(pairs), int), 0
    for chunk in _chunks(topology, job, atoms):
        found = mdtraj.compute_distances(chunk, pairs, periodic=False)
        total += found.sum(axis=0, dtype=float)
        squares += (found * found).sum(axis=0, dtype=float)
        contacts += (found * ANGSTROM_PER_NM < CONTACT).sum(axis=0)
        n_frames += len(chunk)
    return n_frames, ANGSTROM_PER_NM * 2 * total.sum() / n_frames / len(atoms) ** 2


def _dssp8(topology: Any, job: Job) -> tuple[int, float]:
    import mdtraj

    chunks = _chunks(topology, job, topology.select("protein and backbone"))
    found = np.concatenate([mdtraj.compute_dssp(chunk, simplified=False) for chunk in chunks])
    return len(found), (found != " ").mean()


def _rdf(topology: Any, job: Job) -> tuple[int, float]:
    import mdtraj

    oxygen = topology.select("name O and water")
    pairs = np.stack(np.triu_indices(len(oxygen), 1), axis=1).astype(np.int32)
    counts, n_frames = np.zeros(N_BINS), 0
    edges = np.linspace(0.0, FARTHEST / ANGSTROM_PER_NM, N_BINS + 1)
    shells = 4 / 3 * np.pi * np.diff(edges**3)
    # Frame by frame: the distances of all pairs of one frame take half a gigabyte.
    for frame in mdtraj.iterload(job.trajectory, chunk=1, stride=job.step, top=topology, atom_indices=oxygen):
        found, _ = np.histogram(mdtraj.compute_distances(frame, pairs), edges)
        counts += found * float(frame.unitcell_volumes[0])
        n_frames += 1
    return n_frames, (counts / (n_frames * len(pairs) * shells)).mean()


def _hbonds_protein(topology: Any, job: Job) -> tuple[int, float]:
    import mdtraj

    n_frames, n_bonds = 0, 0
    # A distance and an angle for each pair of donor and acceptor in each frame: 1,000 frames would take gigabytes.
    for chunk in mdtraj.iterload(job.trajectory, chunk=CHUNK // 10, stride=job.step, top=topology):
        n_bonds += sum(map(len, mdtraj.wernet_nilsson(chunk, periodic=False)))
        n_frames += len(chunk)
    return n_frames, n_bonds


def _sasa(topology: Any, job: Job) -> tuple[int, float]:
    import mdtraj

    probe = PROBE / ANGSTROM_PER_NM
    areas = [
        mdtraj.shrake_rupley(chunk, probe, N_SPHERE_POINTS).sum(axis=1, dtype=float)
        for chunk in _chunks(topology, job, topology.select("protein"))
    ]
    found = np.concatenate(areas)
    return len(found), ANGSTROM_PER_NM**2 * found.mean()


ANALYSES: dict[str, Callable[[Any, Job], tuple[int, float]]] = {
    "rmsd": _rmsd,
    "rmsf-superposed": _rmsf_superposed,
    "rg": _rg,
    "dihedrals": _dihedrals,
    "distances": _distances,
    "dssp8": _dssp8,
    "rdf": _rdf,
    "sasa": _sasa,
    "hbonds-protein": _hbonds_protein,
}
"""Each gives the number of frames and the number in which all of its result takes part."""


if __name__ == "__main__":
    measure(prepare)
