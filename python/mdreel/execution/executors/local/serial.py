"""Executor that runs blocks on the calling thread."""

from __future__ import annotations

from mdreel.errors import MismatchError
from mdreel.execution.choices import Schedule
from mdreel.execution.executors.local.block_groups import run_here
from mdreel.execution.executors.local.single_process import SingleProcess
from mdreel.execution.job import Outcome
from mdreel.execution.work import Work
from mdreel.foundation.arguments import checked_arguments


class Serial(SingleProcess):
    """Executor that runs one block after another on the calling thread.

    Parameters
    ----------
    n_workers : int, optional
        Number of workers, which must be 1.
    schedule : {"demand", "static"}
        This option has no effect, because there is only one worker.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> alpha = mda.Universe(PSF, DCD).select_atoms("name CA")
    >>> mdreel.RMSD(alpha).run(backend="serial").results.rmsd.shape
    (98, 3)
    """

    name = "serial"
    n_workers = 1

    @checked_arguments
    def __init__(self, n_workers: int | None = None, schedule: Schedule = "demand") -> None:
        if n_workers not in (None, 1):
            raise MismatchError(f"the serial executor has 1 worker, not {n_workers}")
        self.schedule = schedule

    def run(self, work: Work) -> Outcome | None:
        """Run all blocks; see `Executor.run`."""
        return run_here(work, 1, self.schedule)

    def __repr__(self) -> str:
        return "Serial()"
