"""Executor with threads of this process."""

from __future__ import annotations

from mdreel.errors import MismatchError
from mdreel.execution.available_cores import available_processors
from mdreel.execution.choices import Schedule
from mdreel.execution.executors.local.block_groups import run_here
from mdreel.execution.executors.local.single_process import SingleProcess
from mdreel.execution.job import Outcome
from mdreel.execution.work import Work
from mdreel.foundation.arguments import checked_arguments


class Threads(SingleProcess):
    """Executor that runs blocks on threads of this process.

    Parameters
    ----------
    n_workers : int, optional
        Number of threads. By default, there is one per processor that is available to this process.
    schedule : {"demand", "static"}
        How to assign blocks. You can give each block to the next free thread, or one share of all blocks to each
        thread.

    Attributes
    ----------
    n_requested : int or None
        The argument `n_workers`, or None for the default.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> alpha = mda.Universe(PSF, DCD).select_atoms("name CA")
    >>> mdreel.RMSD(alpha).run(backend=mdreel.Threads(2)).results.rmsd.shape
    (98, 3)
    """

    name = "threads"

    @checked_arguments
    def __init__(self, n_workers: int | None = None, schedule: Schedule = "demand") -> None:
        self.n_requested = n_workers
        self.n_workers = available_processors() if n_workers is None else int(n_workers)
        if self.n_workers < 1:
            raise MismatchError(f"n_workers must be at least 1, not {n_workers}")
        self.schedule = schedule

    def run(self, work: Work) -> Outcome | None:
        """Run all blocks; see `Executor.run`."""
        return run_here(work, self.n_workers, self.schedule)

    def __repr__(self) -> str:
        return f"Threads({self.n_workers})" if self.schedule == "demand" else f"Threads({self.n_workers}, 'static')"
