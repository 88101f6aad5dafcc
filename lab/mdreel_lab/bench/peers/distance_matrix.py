"""Clusters from the RMSDs of all pairs of frames, which mdtraj computes: trees of SciPy, and FasterPAM of kmedoids."""

from collections.abc import Callable
from typing import Any

import mdtraj
import numpy as np
from numpy.typing import NDArray

from mdreel_lab.bench.peers import questions as ask
from mdreel_lab.bench.peers.job import ANGSTROM_PER_NM, Found, Job, Work
from mdreel_lab.bench.peers.mdreel import initial_frames

Rmsds = Callable[[int], NDArray[np.float32]]
"""Return the RMSDs of all frames from one frame, shape (n_frames,), Å."""


def prepare(job: Job) -> Work:
    """Read the topology, and import what clusters the frames."""
    topology, atoms = mdtraj.load_topology(job.reference), job.indices()
    cluster = {"hierarchical": _hierarchical, "k-medoids": _k_medoids}[job.what](job)

    def work() -> Found:
        loaded = mdtraj.load(job.trajectory, top=topology, stride=job.step, atom_indices=atoms)
        loaded.center_coordinates()

        def rmsds(frame: int) -> NDArray[np.float32]:
            found: NDArray[np.float32] = mdtraj.rmsd(loaded, loaded, frame, precentered=True)
            return found * np.float32(ANGSTROM_PER_NM)

        return Found(len(loaded), cluster(len(loaded), rmsds))

    return work


def _hierarchical(_: Job) -> Callable[[int, Rmsds], float]:
    """Return the mean distance of the merges of the tree."""
    from scipy.cluster.hierarchy import fcluster, linkage

    def cluster(n_frames: int, rmsds: Rmsds) -> float:
        condensed, begin = np.empty(n_frames * (n_frames - 1) // 2), 0
        for i in range(n_frames - 1):
            end = begin + n_frames - 1 - i
            condensed[begin:end] = rmsds(i)[i + 1 :]
            begin = end
        tree = linkage(condensed, "average")
        fcluster(tree, ask.N_CLUSTERS, "maxclust")
        return float(tree[:, 2].mean())

    return cluster


def _k_medoids(job: Job) -> Callable[[int, Rmsds], float]:
    """Return the sum of the RMSDs from the medoids, with the first medoids and the two steps of mdreel."""
    import kmedoids

    initial = initial_frames(job)

    def cluster(n_frames: int, rmsds: Rmsds) -> float:
        matrix = np.array([rmsds(i) for i in range(n_frames)])
        found: Any = kmedoids.alternating(matrix, initial)
        return float(kmedoids.fasterpam(matrix, found.medoids, n_cpu=job.n_workers).loss)

    return cluster
