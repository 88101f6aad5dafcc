"""One block after another, on the calling thread."""

from mdreel._core import Blocks
from mdreel.errors import MismatchError
from mdreel.executors.job import Job, Monitor, Outcome


class Serial:
    """Runs one block after another on the calling thread.

    Parameters
    ----------
    n_workers : int, optional
        There is one; anything else is an error.
    """

    name = "serial"
    n_workers = 1

    def __init__(self, n_workers: int | None = None) -> None:
        if n_workers not in (None, 1):
            raise MismatchError(f"the serial executor has 1 worker, {n_workers} were asked for")

    def run(self, job: Job, blocks: Blocks, monitor: Monitor | None = None) -> Outcome | None:
        """Run all blocks; see `Executor.run`."""
        return job.run(blocks, 1, monitor)

    def __repr__(self) -> str:
        return "Serial()"
