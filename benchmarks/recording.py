"""What recording costs: the number of spans of a run, times what one span takes, against the time of the run."""

from __future__ import annotations

import statistics
import time
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdreel.bench.data import System

REPEATS = 5
N_SPANS = 200_000


def span_seconds() -> float:
    """Return what it takes at most to record a span, s: median of 5.

    Notes
    -----
    The core reads the monotonic clock and appends seven numbers to an array. Python does the same here, which takes
    several times as long.
    """
    return statistics.median(_recording() / N_SPANS for _ in range(REPEATS))


def share(system: System, form: str, n_workers: int, seconds: float) -> float:
    """Return how much of a run is recording, if each span takes ``seconds``, %: median of 5 runs of the RMSD job."""
    import MDAnalysis as mda

    from mdreel import RMSD
    from mdreel.bench.data import SELECTION

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        atoms = mda.Universe(str(system.topology)).select_atoms(SELECTION)
    shares = []
    for _ in range(REPEATS):
        timing = RMSD(atoms, trajectory=system.trajectory(form)).run(n_workers=n_workers).timing
        shares.append(100 * len(timing.spans) * seconds / timing.seconds())
    return statistics.median(shares)


def _recording() -> float:
    spans = []
    begin = start = time.perf_counter_ns()
    for i in range(N_SPANS):
        stop = time.perf_counter_ns()
        spans.append((2, i, 0, start, stop, i, i))
        start = stop
    return (time.perf_counter_ns() - begin) * 1e-9
