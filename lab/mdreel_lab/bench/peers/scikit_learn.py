"""scikit-learn: clusters of positions that mdtraj reads and superposes on the first frame."""

from collections.abc import Callable
from typing import Any

import mdtraj
import numpy as np
from sklearn.cluster import Birch, KMeans

from mdreel_lab.bench.peers import questions as ask
from mdreel_lab.bench.peers.job import ANGSTROM_PER_NM, RELATIVE, Found, Job, Work
from mdreel_lab.bench.peers.mdreel import initial_frames

OTHER_CLUSTERS = 9.0
"""Allowed deviation of Birch, which limits the spread of a cluster about its mean, not the distance from a leader."""


def prepare(job: Job) -> Work:
    """Read the topology, and let mdreel choose the first centres."""
    topology, atoms = mdtraj.load_topology(job.reference), job.indices()
    value_of, within = {"k-means": (_k_means, RELATIVE), "online-clusters": (_birch, OTHER_CLUSTERS)}[job.what]
    cluster = value_of(job)

    def work() -> Found:
        loaded = mdtraj.load(job.trajectory, top=topology, stride=job.step, atom_indices=atoms)
        # The distance of two points is the RMSD of the superposed frames in Å.
        points = loaded.superpose(loaded, 0).xyz.reshape(len(loaded), -1)
        points *= ANGSTROM_PER_NM / np.sqrt(len(atoms))
        return Found(len(points), cluster(points), within)

    return work


def _k_means(job: Job) -> Callable[[Any], float]:
    initial = initial_frames(job)

    def cluster(points: Any) -> float:
        start = points[initial]
        found = KMeans(ask.N_CLUSTERS, init=start, n_init=1, tol=0, algorithm="lloyd").fit(points)
        return float(found.inertia_)

    return cluster


def _birch(_: Job) -> Callable[[Any], float]:
    def cluster(points: Any) -> float:
        found = Birch(threshold=ask.CLUSTER, n_clusters=None).fit(points)
        return ask.mean_size(np.bincount(found.labels_))

    return cluster
