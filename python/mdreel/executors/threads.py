"""Threads of this process, without the interpreter."""

import os
import sys

from mdreel._core import Blocks
from mdreel.errors import MismatchError
from mdreel.executors.job import Job, Monitor, Outcome


class Threads:
    """Runs blocks on threads of the core, which take the next block when they are free.

    Parameters
    ----------
    n_workers : int, optional
        Number of threads; by default one for each processor that this process may use.
    """

    name = "threads"

    def __init__(self, n_workers: int | None = None) -> None:
        self.n_workers = available_processors() if n_workers is None else int(n_workers)
        if self.n_workers < 1:
            raise MismatchError(f"at least 1 worker is needed, {n_workers} were asked for")

    def run(self, job: Job, blocks: Blocks, monitor: Monitor | None = None) -> Outcome | None:
        """Run all blocks; see `Executor.run`."""
        return job.run(blocks, self.n_workers, monitor)

    def __repr__(self) -> str:
        return f"Threads({self.n_workers})"


def available_processors() -> int:
    """Processors that this process may use, which a batch system can have made fewer than there are."""
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
