"""Executor that runs blocks on the calling thread."""

from mdreel.errors import MismatchError
from mdreel.execution.choices import Schedule
from mdreel.execution.executors.local.block_groups import run_here
from mdreel.execution.executors.local.single_process import Alone
from mdreel.execution.job import Outcome
from mdreel.execution.work import Work


class Serial(Alone):
    """Runs one block after another on the calling thread.

    Parameters
    ----------
    n_workers : int, optional
        There is one; anything else is an error.
    schedule : {"demand", "static"}
        With one worker they are the same.
    """

    name = "serial"
    n_workers = 1

    def __init__(self, n_workers: int | None = None, schedule: Schedule = "demand") -> None:
        if n_workers not in (None, 1):
            raise MismatchError(f"the serial executor has 1 worker, {n_workers} were asked for")
        self.schedule = schedule

    def run(self, work: Work) -> Outcome | None:
        """Run all blocks; see `Executor.run`."""
        return run_here(work, 1, self.schedule)

    def __repr__(self) -> str:
        return "Serial()"
