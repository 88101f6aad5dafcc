"""Threads for comparisons of frames after a run."""

import numpy as np

from mdreel.execution.executors.local.threads import Threads
from mdreel.execution.job import Outcome
from mdreel.timing.spans import COORDINATOR


def comparison_threads(outcome: Outcome) -> int:
    """Return as many threads as the run had workers, but not more than there are processors."""
    workers = np.unique(outcome.spans["worker"])
    return max(min(int((workers != COORDINATOR).sum()), Threads(None).n_workers), 1)
