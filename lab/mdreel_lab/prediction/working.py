"""Reading and computing on a rank, as one flow or frame by frame."""

import math
from dataclasses import dataclass

from mdreel_lab.prediction.opening import Steps
from mdreel_lab.prediction.stage import Stage


@dataclass(frozen=True)
class FrameCost:
    """Cost of a frame on a rank that uses the file system alone.

    Attributes
    ----------
    read_s, decompress_s, compute_s, other_s : float
        Times as in `Workload`, including the overhead of the scheme and the speed of the rank, s.
    n_bytes : float
        Size of the frame in the file, bytes.
    """

    read_s: float
    decompress_s: float
    compute_s: float
    other_s: float
    n_bytes: float

    @property
    def rest_s(self) -> float:
        """Time without reading, s."""
        return self.decompress_s + self.compute_s + self.other_s


def frame_cost(stage: Stage, rank: int) -> FrameCost:
    """Return the cost of a frame on a rank."""
    workload, scheme, storage = stage.workload, stage.scheme, stage.cluster.storage
    slowness = float(stage.chance.slowness[rank])
    read_s = workload.read_s
    if scheme.shares_a_file and stage.n_ranks > 1:
        n_requests = 1.0 if scheme.reads_frame_by_frame else workload.frame_bytes / storage.stripe_bytes
        read_s += n_requests * storage.shared_frame_s
    elif scheme.access == "chain" and stage.n_ranks > 1:
        read_s += storage.chain_frame_s
    elif scheme.access == "hdf5-collective" and stage.n_ranks > 1:
        # In each frame, all ranks wait for the slowest one and synchronize.
        slowness = float(stage.chance.slowness.max())
        read_s += 2 * math.ceil(math.log2(stage.n_ranks)) * stage.cluster.interconnect.latency_s
    return FrameCost(
        slowness * read_s,
        slowness * workload.decompress_s,
        slowness * workload.compute_s,
        slowness * workload.other_s,
        0.0 if scheme.access == "memory" else workload.frame_bytes,
    )


def work(stage: Stage, rank: int, n_frames: int) -> Steps:
    """Read frames and compute, as one flow that moves the bytes at a constant rate."""
    cost = frame_cost(stage, rank)
    began = stage.environment.now
    seconds = n_frames * (cost.read_s + cost.rest_s)
    if cost.n_bytes:
        node = stage.cluster.node_of(rank)
        yield stage.network.start(node, seconds, n_frames * cost.n_bytes).done
    else:
        yield stage.environment.timeout(seconds)
    enter(stage, rank, cost, n_frames, stage.environment.now - began)


def work_frame_by_frame(stage: Stage, rank: int, n_frames: int) -> Steps:
    """Read and compute frame by frame, with two events for each frame, to check `work`."""
    cost = frame_cost(stage, rank)
    began = stage.environment.now
    node = stage.cluster.node_of(rank)
    for _ in range(n_frames):
        if cost.n_bytes:
            yield stage.network.start(node, cost.read_s, cost.n_bytes).done
            yield stage.environment.timeout(cost.rest_s)
        else:
            yield stage.environment.timeout(cost.read_s + cost.rest_s)
    enter(stage, rank, cost, n_frames, stage.environment.now - began)


def enter(stage: Stage, rank: int, cost: FrameCost, n_frames: int, seconds: float) -> None:
    """Record the time of a rank for frames; all time beyond decompression and computation counts as reading."""
    ledger = stage.ledger
    ledger.read[rank] += seconds - n_frames * cost.rest_s
    ledger.decompressed[rank] += n_frames * cost.decompress_s
    ledger.computed[rank] += n_frames * cost.compute_s
    ledger.n_frames[rank] += n_frames
    ledger.n_blocks[rank] += 1
    ledger.n_bytes[rank] += round(n_frames * cost.n_bytes)
