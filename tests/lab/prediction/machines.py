"""Clusters and workloads whose times can be told in the head."""

from dataclasses import replace

from mdreel_lab.prediction.cluster import Cluster, read_cluster
from mdreel_lab.prediction.workload import Workload

FRAMES = Workload(
    title="a millisecond a frame",
    n_frames=12_000,
    frame_bytes=10_000.0,
    read_s=6e-4,
    decompress_s=1e-4,
    compute_s=3e-4,
    other_s=0.0,
    opening_s=0.1,
    result_bytes=16.0,
)


def even_cluster(**storage: float) -> Cluster:
    """Comet without chance: ranks are alike, and nothing is held up; with other numbers of its storage."""
    comet = read_cluster("comet")
    return replace(comet, speed_spread=0.0, storage=replace(comet.storage, stall_probability=0.0, **storage))
