"""Model of the run time for a number of workers.

``docs/design/028-advice.md`` lists the formulas and their limits.
"""

from dataclasses import dataclass, replace
from math import ceil

from mdreel.cluster.advice.plan import Plan
from mdreel.cluster.advice.sample import FrameCost, Sample
from mdreel.cluster.advice.target import Target

START_SECONDS = {"serial": 0.0, "threads": 0.0005, "processes": 0.15, "mpi": 0.15}
"""Time until workers have started, s. `mdreel_lab.bench.contests.startup` measured the values."""

START_SECONDS_PER_WORKER = {"serial": 0.0, "threads": 0.0001, "processes": 0.003, "mpi": 0.001}
"""Additional start time of each worker, s; assumed."""

MESSAGE_BYTES_PER_S = {"processes": 1e9, "mpi": 5e9}
"""Rate at which workers on one node send results to the caller, bytes/s; assumed. Threads write them in place."""

NETWORK_BYTES_PER_S = 1e9
"""Rate at which all other nodes together send results, bytes/s; assumed to be 10 Gbit/s."""

MESSAGE_SECONDS = 2e-5
"""Latency of a message of each worker, s; assumed."""


@dataclass(frozen=True)
class Prediction:
    """Predicted run time and its parts.

    Attributes
    ----------
    plan : Plan
        The plan of the run.
    opening : float
        Time to open the topology, the trajectory, the reference and each worker's reader, s.
    start : float
        Time until the workers have started, s.
    loop : float
        Time until the last worker has finished its last block and the caller has merged it, s.
    end : float
        Time to compute the final results, s.
    communication : float
        Time to send results to the caller, s.
    bound : str
        Limiting factor of the loop: ``decompress``, ``compute`` or ``read`` (the largest part of a worker's time), or
        ``storage`` if the file system limits the loop.
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
        """R_comp/comm, the ratio of t_comp of a worker to t_comm; inf if workers send nothing."""
        return self.computing / self.communication if self.communication > 0 else float("inf")

    def speedup(self, serial: "Prediction") -> float:
        """Speed-up S, the ratio of t_total with one worker to t_total of this run."""
        return serial.seconds / self.seconds

    def efficiency(self, serial: "Prediction") -> float:
        """Efficiency E, the ratio of S to the number of workers."""
        return self.speedup(serial) / self.plan.n_workers


def cost_on(sample: Sample, target: Target) -> FrameCost:
    """Return the cost of a frame for a single worker on a target.

    Parameters
    ----------
    sample : Sample
        Measurements on this machine.
    target : Target
        The target machine. The model assumes that its cores are as fast as the cores of this machine. If the target is
        another machine or file system, the model assumes the rate of that file system, at most the rate measured here.
    """
    if target.is_here:
        return sample.alone
    return replace(
        sample.alone, read=max(sample.alone.read, sample.alone.n_bytes / target.file_system.stream_bytes_per_s)
    )


def predict(sample: Sample, target: Target, plan: Plan) -> Prediction:
    """Predict the run time of a plan.

    Parameters
    ----------
    sample : Sample
        Measurements on this machine.
    target : Target
        The target machine.
    plan : Plan
        The plan.
    """
    cost = cost_on(sample, target)
    n_workers, n_blocks, n_frames = plan.n_workers, plan.n_blocks, sample.n_frames
    slowdown = 1 + _contention(sample, target, plan) * (plan.workers_per_node - 1)
    block = n_frames / n_blocks * cost.seconds * slowdown
    # The run ends with the last block: that of the worker with the most blocks, or a slow one.
    rounds = ceil(n_blocks / n_workers)
    work = (rounds + sample.spread * (1 - 1 / n_workers)) * block
    # The caller merges while the workers compute, on one of their cores.
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
    """Return the time that each further worker of a node adds to the time of a frame."""
    if not target.is_here or (sample.runs_python and plan.executor != "threads"):
        return 0.0  # not measured on the target, or threads wait for the interpreter lock
    return sample.contention


def _storage_seconds(sample: Sample, target: Target, plan: Plan) -> float:
    """Return the time in which the file system delivers all bytes; 0 if the measurement includes it."""
    if target.is_here:
        return 0.0
    storage = target.file_system
    from_files = storage.file_bytes_per_s * min(plan.n_files, plan.n_workers)
    rate = min(from_files, plan.n_nodes * storage.node_bytes_per_s, storage.total_bytes_per_s)
    return sample.n_frames * sample.alone.n_bytes / rate


def _opening_seconds(target: Target, plan: Plan) -> float:
    """Return the time in which workers open the same file one after another."""
    if target.is_here:
        return 0.0
    return ceil(plan.n_workers / plan.n_files) * target.file_system.open_seconds


def _communication_seconds(sample: Sample, plan: Plan) -> float:
    """Return the time to send all results to the caller over its one link."""
    if plan.executor not in MESSAGE_BYTES_PER_S:
        return 0.0
    rate = MESSAGE_BYTES_PER_S[plan.executor] if plan.n_nodes == 1 else NETWORK_BYTES_PER_S
    return sample.n_frames * sample.row_bytes / rate + plan.n_workers * MESSAGE_SECONDS


def _largest(cost: FrameCost) -> str:
    """Return the kind of work that takes most of a worker's time."""
    return max(("decompress", "compute", "read"), key=lambda kind: float(getattr(cost, kind)))
