"""Calibration: what a run that was measured says of a frame."""

from dataclasses import dataclass

import numpy as np

from mdreel.errors import MismatchError
from mdreel.timing.spans import COORDINATOR, KINDS
from mdreel.timing.timing import Timing
from mdreel_lab.prediction.workload import Workload

DEFAULT_RESULT_BYTES = 16.0
"""Results of a frame where spans do not tell: its time and one number."""


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
    """Return the workload that a measured run had.

    What a frame takes is the summed time of all workers by kind, divided by frames: a run of one worker says best what
    it takes alone. Waiting, merging and communication are not the frame's; the model has its own.

    Parameters
    ----------
    timing : Timing
        What was measured.
    title : str
        What it is, in words.

    Raises
    ------
    MismatchError
        If no frame was computed.
    """
    n_frames = timing.n_frames
    measured = _sums(timing)
    seconds = measured.seconds
    if n_frames < 1 or seconds["compute"] + seconds["read"] + seconds["decompress"] <= 0:
        raise MismatchError(f"{title}: the record has no frames that were read or computed, so nothing to go by")
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
    """The topology, which one process reads, and the opening of a worker at its quickest, s."""
    spans = timing.spans
    durations = (spans["stop_ns"] - spans["start_ns"]).astype(np.float64) * 1e-9
    opening = spans["kind"] == KINDS.index("open")
    topology = float(durations[spans["kind"] == KINDS.index("topology")].sum())
    planner = float(durations[opening & (spans["worker"] == COORDINATOR)].sum())
    workers = timing.per_worker("open")
    return topology + planner + (float(workers.min()) if len(workers) else 0.0)
