"""Opening and closing of the trajectory on each rank."""

import math
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from mdreel_lab.prediction.stage import Stage

if TYPE_CHECKING:
    from simpy import Event

Steps = Generator["Event", Any, None]

INDEX_BYTES = 8.0
"""Bytes of the frame index for each frame."""


def open_trajectory(stage: Stage, rank: int, opened_for_all: "Event") -> Steps:
    """Open the trajectory on a rank; with `opens_once`, rank 0 opens it and triggers `opened_for_all`."""
    environment, scheme = stage.environment, stage.scheme
    if scheme.opens_once:
        if rank == 0:
            yield stage.metadata.start(0, stage.workload.opening_s, 1.0).done
            yield environment.timeout(_broadcast_s(stage))
            opened_for_all.succeed()
        else:
            yield opened_for_all
            yield stage.metadata.start(0, stage.cluster.storage.request_s, 1.0).done
    elif scheme.access == "memory" or scheme.access.startswith("hdf5"):
        yield environment.timeout(stage.workload.opening_s)
    else:
        n_files = stage.n_ranks if scheme.access == "chain" else 1
        seconds = stage.workload.opening_s + (n_files - 1) * stage.cluster.storage.open_s
        yield stage.metadata.start(0, seconds, float(n_files)).done
    if stage.are_held_up:
        yield environment.timeout(float(stage.chance.opening_stalls[rank]))
    stage.ledger.opened[rank] = environment.now


def close_trajectory(stage: Stage, rank: int) -> Steps:
    """Close the files of a rank."""
    if stage.scheme.access not in ("memory", "hdf5-independent", "hdf5-collective"):
        n_files = stage.n_ranks if stage.scheme.access == "chain" else 1
        began = stage.environment.now
        yield stage.environment.timeout(n_files * stage.cluster.storage.close_s)
        stage.ledger.ending_loop[rank] = stage.environment.now - began
    stage.ledger.loop_ended[rank] = stage.environment.now


def _broadcast_s(stage: Stage) -> float:
    """Return the time to broadcast the frame index to all nodes along a tree, s."""
    network = stage.cluster.interconnect
    n_steps = math.ceil(math.log2(stage.cluster.n_nodes(stage.n_ranks)))
    step = network.latency_s + network.connect_s + INDEX_BYTES * stage.workload.n_frames / network.link_bytes_per_s
    return n_steps * step
