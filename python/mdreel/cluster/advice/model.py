"""Model of the run time as a function of the number of workers.

The formulas and their limitations are described in ``docs/design/028-advice.md``.
"""

from dataclasses import dataclass, replace
from math import ceil

from mdreel.cluster.advice.plan import Plan
from mdreel.cluster.advice.sample import FrameCost, Sample
from mdreel.cluster.advice.target import Target

START_SECONDS = {"serial": 0.0, "threads": 0.0005, "processes": 0.15, "mpi": 0.15}
"""Time until workers have started, in s. The values were measured with `mdreel_lab.bench.contests.startup`."""

START_SECONDS_PER_WORKER = {"serial": 0.0, "threads": 0.0001, "processes": 0.003, "mpi": 0.001}
"""Additional start time per worker, in s (assumed)."""

MESSAGE_BYTES_PER_S = {"processes": 1e9, "mpi": 5e9}
"""Assumed rate, in bytes/s, at which workers on one node send results to the caller. Threads do not send results."""

NETWORK_BYTES_PER_S = 1e9
"""Total rate at which all other nodes send results, in bytes/s, for an assumed link of 10 Gbit/s."""

MESSAGE_SECONDS = 2e-5
"""Latency of each worker's message, in s (assumed)."""


@dataclass(frozen=True)
class Prediction:
    """Predicted run time and its parts.

    Attributes
    ----------
    plan : Plan
        The plan of the run.
    opening : float
        Time to open the topology, the trajectory, the reference and each worker's reader, in s.
    start : float
        Time until the workers have started, in s.
    loop : float
        Time until the last worker has finished its last block and the caller has merged it, in s.
    end : float
        Time to compute the final results, in s.
    communication : float
        Time to send results to the caller, in s.
    bound : str
        Limiting factor of the loop. It is ``decompress``, ``compute`` or ``read``, depending on which takes most of a
        worker's time, or ``storage`` if the loop is limited by the file system.
    computing : float
        t_comp of a worker, in s.
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
        """t_total, in s."""
        return self.opening + self.start + self.loop + self.end + self.communication

    @property
    def ratio_comp_comm(self) -> float:
        """R_comp/comm, the ratio of a worker's t_comp to t_comm, or inf if workers do not send any data."""
        return self.computing / self.communication if self.communication > 0 else float("inf")

    def speedup(self, serial: "Prediction") -> float:
        """Speed-up S, the ratio of t_total with one worker to t_total in this run."""
        return serial.seconds / self.seconds

    def efficiency(self, serial: "Prediction") -> float:
        """Efficiency E, the ratio of S to the number of workers."""
        return self.speedup(serial) / self.plan.n_workers


def cost_on(sample: Sample, target: Target) -> FrameCost:
    """Return the cost per frame for a single worker on a target.

    Parameters
    ----------
    sample : Sample
        Measurements on this machine.
    target : Target
        The target machine. The model assumes that its cores are as fast as the cores of this machine. If the target is
        a different machine or file system, the model assumes a typical rate for this file system, limited by the rate
        that was measured here.
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
    """Return the time that each additional worker on a node adds to the time per frame."""
    if not target.is_here or (sample.runs_python and plan.executor != "threads"):
        return 0.0  # not measured on the target, or threads wait for the interpreter lock
    return sample.contention


def _storage_seconds(sample: Sample, target: Target, plan: Plan) -> float:
    """Return the time that the file system needs to deliver all bytes, or 0 if the measurement includes it."""
    if target.is_here:
        return 0.0
    storage = target.file_system
    from_files = storage.file_bytes_per_s * min(plan.n_files, plan.n_workers)
    rate = min(from_files, plan.n_nodes * storage.node_bytes_per_s, storage.total_bytes_per_s)
    return sample.n_frames * sample.alone.n_bytes / rate


def _opening_seconds(target: Target, plan: Plan) -> float:
    """Return the time that workers need to open the same file one after another."""
    if target.is_here:
        return 0.0
    return ceil(plan.n_workers / plan.n_files) * target.file_system.open_seconds


def _communication_seconds(sample: Sample, plan: Plan) -> float:
    """Return the time to send all results to the caller over its single link."""
    if plan.executor not in MESSAGE_BYTES_PER_S:
        return 0.0
    rate = MESSAGE_BYTES_PER_S[plan.executor] if plan.n_nodes == 1 else NETWORK_BYTES_PER_S
    return sample.n_frames * sample.row_bytes / rate + plan.n_workers * MESSAGE_SECONDS


def _largest(cost: FrameCost) -> str:
    """Return the kind of work that takes up most of a worker's time."""
    return max(("decompress", "compute", "read"), key=lambda kind: float(getattr(cost, kind)))
