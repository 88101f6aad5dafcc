"""Shared state of a simulated run, and the records of its ranks."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mdreel.timing.observables import Observables
from mdreel_lab.prediction.chance import Chance
from mdreel_lab.prediction.cluster import Cluster
from mdreel_lab.prediction.fluid import Fluid
from mdreel_lab.prediction.schemes import Scheme
from mdreel_lab.prediction.workload import Workload

if TYPE_CHECKING:
    from simpy import Environment, Event, Resource


class Ledger:
    """Records of each rank: times since the start of the run and sums of times, s, and counts.

    Parameters
    ----------
    n_ranks : int
        Number of ranks.
    """

    def __init__(self, n_ranks: int) -> None:
        (
            self.opened,
            self.loop_began,
            self.read,
            self.decompressed,
            self.computed,
            self.waited_in_loop,
            self.ending_loop,
            self.loop_ended,
            self.waited_to_send,
            self.communicated,
        ) = np.zeros((10, n_ranks))
        self.n_frames, self.n_blocks, self.n_bytes = np.zeros((3, n_ranks), np.int64)

    def observables(self) -> Observables:
        """Return the observables, by the same definitions as for measured runs."""
        t_all_frames = self.loop_ended - self.loop_began
        t_io = self.read + self.decompressed
        t_idle = self.loop_began - self.opened  # wait at the barrier before the first block
        return Observables(
            ranks=np.arange(len(self.opened), dtype=np.uint32),
            t_open=self.opened,
            t_io=t_io,
            t_decompress=self.decompressed,
            t_comp=self.computed,
            t_end_loop=self.ending_loop,
            t_all_frames=t_all_frames,
            t_block=self.loop_ended,
            t_comm=self.communicated - self.loop_ended,
            t_transfer=self.communicated - self.loop_ended - self.waited_to_send,
            t_comm_wait=self.waited_to_send,
            t_wait=self.waited_in_loop,
            overhead1=t_all_frames - t_io - self.computed - self.ending_loop,
            overhead2=self.loop_ended - t_all_frames - self.opened,
            t_n=self.communicated,
            t_idle=t_idle + self.waited_to_send,
            n_frames=self.n_frames,
            n_blocks=self.n_blocks,
            n_bytes=self.n_bytes,
            t_total=float(self.communicated.max()),
        )


@dataclass
class Stage:
    """State of a simulated run.

    Attributes
    ----------
    environment : simpy.Environment
        Environment of the simulation.
    cluster, workload, scheme : Cluster, Workload, Scheme
        Cluster, workload and scheme of the run.
    n_ranks : int
        Number of ranks.
    chance : Chance
        Random numbers.
    network : Fluid
        Links of the nodes; the storage targets of the trajectory form the pool. Amounts are bytes.
    metadata : Fluid
        Metadata server. Amounts are opened files.
    root : simpy.Resource
        Rank 0, which serves one other rank at a time.
    ledger : Ledger
        Records of the ranks.
    has_left_loop : list of simpy.Event
        Event of each rank at the end of its loop.
    """

    environment: "Environment"
    cluster: Cluster
    workload: Workload
    scheme: Scheme
    n_ranks: int
    chance: Chance
    network: Fluid
    metadata: Fluid
    root: "Resource"
    ledger: Ledger = field(init=False)
    has_left_loop: list["Event"] = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.n_ranks)
        self.has_left_loop = [self.environment.event() for _ in range(self.n_ranks)]

    @property
    def are_held_up(self) -> bool:
        """Whether requests of other nodes can stall, because ranks of several nodes read one file independently."""
        return self.scheme.shares_a_file and self.cluster.n_nodes(self.n_ranks) > 1

    def is_away(self, rank: int) -> bool:
        """Return whether a rank is on a different node than rank 0."""
        return self.cluster.node_of(rank) != 0

    def share_of(self, rank: int) -> int:
        """Return the number of frames of a rank in a static schedule."""
        n_frames, n_ranks = self.workload.n_frames, self.n_ranks
        return n_frames * (rank + 1) // n_ranks - n_frames * rank // n_ranks


def targets_per_s(cluster: Cluster, scheme: Scheme, n_ranks: int) -> float:
    """Return the total rate of the storage targets that hold the trajectory, bytes/s.

    A single file uses as many targets as it has stripes. Segments are distributed over all targets in turn.
    """
    storage = cluster.storage
    if scheme.access in ("segments", "chain"):
        n_targets = min(storage.n_targets, n_ranks * storage.n_stripes)
    else:
        n_targets = min(storage.n_targets, storage.n_stripes)
    return n_targets * storage.target_bytes_per_s
