"""Executor with threads of this process."""

from mdreel.errors import MismatchError
from mdreel.execution.available_cores import available_processors
from mdreel.execution.choices import Schedule
from mdreel.execution.executors.local.block_groups import run_here
from mdreel.execution.executors.local.single_process import Alone
from mdreel.execution.job import Outcome
from mdreel.execution.work import Work


class Threads(Alone):
    """Runs blocks on threads of the core, which take the next block when they are free.

    Parameters
    ----------
    n_workers : int, optional
        Number of threads; by default one for each processor that this process may use.
    schedule : {"demand", "static"}
        Whether whoever is free takes the next block, or each thread has one share of all.
    """

    name = "threads"

    def __init__(self, n_workers: int | None = None, schedule: Schedule = "demand") -> None:
        self.n_workers = available_processors() if n_workers is None else int(n_workers)
        if self.n_workers < 1:
            raise MismatchError(f"at least 1 worker is needed, {n_workers} were asked for")
        self.schedule = schedule

    def run(self, work: Work) -> Outcome | None:
        """Run all blocks; see `Executor.run`."""
        return run_here(work, self.n_workers, self.schedule)

    def __repr__(self) -> str:
        return f"Threads({self.n_workers})" if self.schedule == "demand" else f"Threads({self.n_workers}, 'static')"
