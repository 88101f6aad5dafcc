"""The stage: what the ranks of a simulated run share, and what each of them has done."""

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
    """What each rank has done, in s since all began, or sums of it.

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
            self.communicated,
        ) = np.zeros((9, n_ranks))
        self.n_frames, self.n_blocks, self.n_bytes = np.zeros((3, n_ranks), np.int64)

    def observables(self) -> Observables:
        """Return what follows from it, by the definitions that measured runs have."""
        t_all_frames = self.loop_ended - self.loop_began
        t_io = self.read + self.decompressed
        t_idle = self.loop_began - self.opened  # where all ranks meet before they take blocks
        return Observables(
            ranks=np.arange(len(self.opened), dtype=np.uint32),
            t_open=self.opened,
            t_io=t_io,
            t_decompress=self.decompressed,
            t_comp=self.computed,
            t_end_loop=self.ending_loop,
            t_all_frames=t_all_frames,
            t_block=self.loop_ended - t_idle,
            t_comm=self.communicated - self.loop_ended,
            t_wait=self.waited_in_loop,
            overhead1=t_all_frames - t_io - self.computed - self.ending_loop,
            overhead2=self.loop_ended - t_idle - t_all_frames - self.opened,
            t_n=self.communicated - t_idle,
            t_idle=t_idle,
            n_frames=self.n_frames,
            n_blocks=self.n_blocks,
            n_bytes=self.n_bytes,
        )


@dataclass
class Stage:
    """A run that is being simulated.

    Attributes
    ----------
    environment : simpy.Environment
        Its time.
    cluster, workload, scheme : Cluster, Workload, Scheme
        What is run, where and how.
    n_ranks : int
        Number of ranks.
    chance : Chance
        What was drawn for it.
    network : Fluid
        Links of the nodes, and behind them the targets that hold the trajectory, in bytes.
    metadata : Fluid
        The metadata server, in openings.
    root : simpy.Resource
        Rank 0, as far as only one other rank can be served by it at a time.
    ledger : Ledger
        What ranks have done.
    has_left_loop : list of simpy.Event
        For each rank, that it has done its frames.
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
        """Whether requests of other nodes can be held up: nodes share a file that each rank reads for itself."""
        return self.scheme.shares_a_file and self.cluster.n_nodes(self.n_ranks) > 1

    def is_away(self, rank: int) -> bool:
        """Whether a rank is not on the node of rank 0."""
        return self.cluster.node_of(rank) != 0

    def share_of(self, rank: int) -> int:
        """Return how many frames a rank has where each has one block."""
        n_frames, n_ranks = self.workload.n_frames, self.n_ranks
        return n_frames * (rank + 1) // n_ranks - n_frames * rank // n_ranks


def targets_per_s(cluster: Cluster, scheme: Scheme, n_ranks: int) -> float:
    """Return what the targets that hold the trajectory give together, bytes/s.

    One file lies on as many as it has stripes; files of ranks are spread over all, one after another.
    """
    storage = cluster.storage
    if scheme.access in ("segments", "chain"):
        n_targets = min(storage.n_targets, n_ranks * storage.n_stripes)
    else:
        n_targets = min(storage.n_targets, storage.n_stripes)
    return n_targets * storage.target_bytes_per_s
