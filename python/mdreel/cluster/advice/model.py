"""Model of the run time for a number of workers.

The formulas, with what they leave out, are in ``docs/advise.md``.
"""

from dataclasses import dataclass, replace
from math import ceil

from mdreel.cluster.advice.plan import Plan
from mdreel.cluster.advice.sample import FrameCost, Sample
from mdreel.cluster.advice.target import Target

START_SECONDS = {"serial": 0.0, "threads": 0.0005, "processes": 0.15, "mpi": 0.15}
"""Time until workers are there, s: of processes and ranks as `benchmarks/startup.py` measured it."""

START_SECONDS_PER_WORKER = {"serial": 0.0, "threads": 0.0001, "processes": 0.003, "mpi": 0.001}
"""What each worker adds to that, s; assumed."""

MESSAGE_BYTES_PER_S = {"processes": 1e9, "mpi": 5e9}
"""How fast results come to the caller on one node, bytes/s; assumed. Threads put them where they belong."""

NETWORK_BYTES_PER_S = 1e9
"""How fast they come from other nodes, all together, bytes/s: 10 Gbit/s; assumed."""

MESSAGE_SECONDS = 2e-5
"""What a message takes besides, s, for each worker; assumed."""


@dataclass(frozen=True)
class Prediction:
    """How long a run is expected to take, and why.

    Attributes
    ----------
    plan : Plan
        How it is run.
    opening : float
        Topology, trajectory and reference; then each worker's reader, s.
    start : float
        Until workers are there, s.
    loop : float
        Until the last worker has done its last block, and it is merged, s.
    end : float
        Concluding, s.
    communication : float
        Bringing results to the caller, s.
    bound : str
        What decides the loop: ``decompress``, ``compute`` or ``read`` (the largest part of a worker's time), or
        ``storage``, where that gives the bytes no faster.
    computing : float
        t_comp of a worker, s.
    """

    plan: Plan
    opening: float
    start: float
    loop: float
    end: float
    communication: float
    bound: str
    computing: float

    @property
    def seconds(self) -> float:
        """t_total, s."""
        return self.opening + self.start + self.loop + self.end + self.communication

    @property
    def ratio_comp_comm(self) -> float:
        """R_comp/comm: t_comp of a worker divided by t_comm; inf where nothing is sent."""
        return self.computing / self.communication if self.communication > 0 else float("inf")

    def speedup(self, serial: "Prediction") -> float:
        """S: t_total of one worker divided by that of this run."""
        return serial.seconds / self.seconds

    def efficiency(self, serial: "Prediction") -> float:
        """E: S for each worker."""
        return self.speedup(serial) / self.plan.n_workers


def cost_on(sample: Sample, target: Target) -> FrameCost:
    """What a frame costs a worker that is alone on a target.

    Parameters
    ----------
    sample : Sample
        What was measured here.
    target : Target
        The machine; its cores are taken to be as fast as those here. Where it is another, or the trajectory lies
        elsewhere, bytes come at the rate that its file system is taken to have, and no faster than they came here.
    """
    if target.is_here:
        return sample.alone
    return replace(
        sample.alone, read=max(sample.alone.read, sample.alone.n_bytes / target.file_system.stream_bytes_per_s)
    )


def predict(sample: Sample, target: Target, plan: Plan) -> Prediction:
    """Say how long a run will take.

    Parameters
    ----------
    sample : Sample
        What was measured here.
    target : Target
        The machine.
    plan : Plan
        The way of running.
    """
    cost = cost_on(sample, target)
    n_workers, n_blocks, n_frames = plan.n_workers, plan.n_blocks, sample.n_frames
    slowdown = 1 + _contention(sample, target, plan) * (plan.workers_per_node - 1)
    block = n_frames / n_blocks * cost.seconds * slowdown
    # All end with the last block: that of who has most of them, and those that happen to be slow.
    rounds = ceil(n_blocks / n_workers)
    work = (rounds + sample.spread * (1 - 1 / n_workers)) * block
    # The caller merges while others work, on one of their cores.
    merging = n_frames * cost.reduce
    storage = _storage_seconds(sample, target, plan)
    return Prediction(
        plan=plan,
        opening=sample.opening + _opening_seconds(target, plan),
        start=START_SECONDS[plan.executor] + START_SECONDS_PER_WORKER[plan.executor] * n_workers,
        loop=max(work + merging / n_workers, storage, merging),
        end=n_frames * sample.concluding,
        communication=_communication_seconds(sample, plan),
        bound="storage" if storage > work + merging / n_workers else _largest(cost),
        computing=n_frames / n_workers * cost.compute * slowdown,
    )


def _contention(sample: Sample, target: Target, plan: Plan) -> float:
    """What each further worker of a node adds to the time of a frame."""
    if not target.is_here or (sample.runs_python and plan.executor != "threads"):
        return 0.0  # it was not measured there, or is of threads that take turns in Python's interpreter
    return sample.contention


def _storage_seconds(sample: Sample, target: Target, plan: Plan) -> float:
    """How long the file system takes to give all bytes; 0 where what was measured has that in it."""
    if target.is_here:
        return 0.0
    storage = target.file_system
    from_files = storage.file_bytes_per_s * min(plan.n_files, plan.n_workers)
    rate = min(from_files, plan.n_nodes * storage.node_bytes_per_s, storage.total_bytes_per_s)
    return sample.n_frames * sample.alone.n_bytes / rate


def _opening_seconds(target: Target, plan: Plan) -> float:
    """How long openings of the same file take, which wait for one another."""
    if target.is_here:
        return 0.0
    return ceil(plan.n_workers / plan.n_files) * target.file_system.open_seconds


def _communication_seconds(sample: Sample, plan: Plan) -> float:
    """How long results take to the caller: its link is the same for all."""
    if plan.executor not in MESSAGE_BYTES_PER_S:
        return 0.0
    rate = MESSAGE_BYTES_PER_S[plan.executor] if plan.n_nodes == 1 else NETWORK_BYTES_PER_S
    return sample.n_frames * sample.row_bytes / rate + plan.n_workers * MESSAGE_SECONDS


def _largest(cost: FrameCost) -> str:
    """The kind that takes most of a worker's time."""
    return max(("decompress", "compute", "read"), key=lambda kind: float(getattr(cost, kind)))
