"""Workloads from measured runs."""

from dataclasses import dataclass

import numpy as np

from mdreel.errors import MismatchError
from mdreel.timing.spans import COORDINATOR, KINDS
from mdreel.timing.timing import Timing
from mdreel_lab.prediction.workload import Workload

DEFAULT_RESULT_BYTES = 16.0
"""Size of the results of a frame if the spans do not record it: a time and one number."""


@dataclass(frozen=True)
class Measured:
    """Sums over the workers of a run.

    Attributes
    ----------
    seconds : dict of str to float
        Time by kind of span, s.
    n_bytes : dict of str to int
        Bytes by kind of span.
    """

    seconds: dict[str, float]
    n_bytes: dict[str, int]


def workload_of(timing: Timing, title: str = "as measured") -> Workload:
    """Return the workload of a measured run.

    The cost of a frame is the summed time of all workers by kind, divided by the number of frames; a run with one
    worker gives the best estimate. Waiting, merging and communication are left out, because the model computes them.

    Parameters
    ----------
    timing : Timing
        Timing of the run.
    title : str
        Title of the workload.

    Raises
    ------
    MismatchError
        If no frame was computed.
    """
    n_frames = timing.n_frames
    measured = _sums(timing)
    seconds = measured.seconds
    if n_frames < 1 or seconds["compute"] + seconds["read"] + seconds["decompress"] <= 0:
        raise MismatchError(f"{title}: the record contains no frame that was read or computed; calibrate with another")
    results = measured.n_bytes["communicate"] / n_frames
    return Workload(
        title=title,
        n_frames=n_frames,
        frame_bytes=measured.n_bytes["read"] / n_frames,
        read_s=seconds["read"] / n_frames,
        decompress_s=seconds["decompress"] / n_frames,
        compute_s=seconds["compute"] / n_frames,
        other_s=0.0,
        opening_s=_opening_s(timing),
        result_bytes=results or DEFAULT_RESULT_BYTES,
    )


def _sums(timing: Timing) -> Measured:
    spans = timing.spans
    durations = (spans["stop_ns"] - spans["start_ns"]).astype(np.float64) * 1e-9
    of_kind = {kind: spans["kind"] == number for number, kind in enumerate(KINDS)}
    return Measured(
        {kind: float(durations[chosen].sum()) for kind, chosen in of_kind.items()},
        {kind: int(spans["n_bytes"][chosen].sum()) for kind, chosen in of_kind.items()},
    )


def _opening_s(timing: Timing) -> float:
    """Return the time for the topology, which one process reads, plus the fastest opening of a worker, s."""
    spans = timing.spans
    durations = (spans["stop_ns"] - spans["start_ns"]).astype(np.float64) * 1e-9
    opening = spans["kind"] == KINDS.index("open")
    topology = float(durations[spans["kind"] == KINDS.index("topology")].sum())
    planner = float(durations[opening & (spans["worker"] == COORDINATOR)].sum())
    workers = timing.per_worker("open")
    return topology + planner + (float(workers.min()) if len(workers) else 0.0)
