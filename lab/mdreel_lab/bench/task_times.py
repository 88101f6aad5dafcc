"""Times of tasks: those that the code measures, and those that Dask's scheduler records."""

from dataclasses import dataclass

import numpy as np

from mdreel.timing.spans import KINDS, NO_BLOCK
from mdreel_lab.bench.measures import Cell, Measured, Spread


@dataclass(frozen=True)
class TaskTimes:
    """Times of a run with an external scheduler, s; spreads are over repeats.

    Attributes
    ----------
    code_mean, code_most : Spread
        Time for computing and reading all frames of a worker, as the code measures it: mean over workers, and most.
    scheduler_most : Spread
        Time of the tasks of the slowest worker, as the scheduler records it, opening included.
    total : Spread
        t_total.
    """

    code_mean: Spread
    code_most: Spread
    scheduler_most: Spread
    total: Spread


def task_times(cell: Cell) -> TaskTimes | None:
    """Return the times of a cell, or None if no scheduler has recorded tasks."""
    code, recorded, totals = [], [], []
    for repeat in cell.repeats:
        timing, found = repeat.kept.timing, repeat.observables
        if timing is None or found is None or not len(timing.tasks):
            continue
        code.append(found.t_comp + found.t_io)
        seconds = (timing.tasks["stop_ns"] - timing.tasks["start_ns"]) * 1e-9
        workers = timing.tasks["worker"]
        recorded.append(max(float(seconds[workers == worker].sum()) for worker in np.unique(workers)))
        totals.append(found.t_total)
    if not code:
        return None
    means, most = [float(times.mean()) for times in code], [float(times.max()) for times in code]
    return TaskTimes(Spread.of(means), Spread.of(most), Spread.of(recorded), Spread.of(totals))


def blocks_of_workers(repeat: Measured) -> list[int]:
    """Return how many blocks each worker computed, in the order of the workers."""
    timing = repeat.kept.timing
    if timing is None:
        return []
    done = timing.spans[(timing.spans["kind"] == KINDS.index("compute")) & (timing.spans["block"] != NO_BLOCK)]
    counts = [len(np.unique(done["block"][done["worker"] == worker])) for worker in np.unique(done["worker"])]
    return counts + [0] * (repeat.kept.point.n_workers - len(counts))
