"""The interface of executors."""

from typing import Protocol, runtime_checkable

from mdreel._core import Blocks
from mdreel.executors.job import Job, Monitor, Outcome


@runtime_checkable
class Executor(Protocol):
    """Who runs the blocks of a job.

    Whoever runs them, with however many workers, in whatever order they finish: the same blocks give the same bits.
    """

    @property
    def name(self) -> str:
        """The name by which users ask for it."""

    @property
    def n_workers(self) -> int:
        """How many blocks are run at a time; plans are made for it."""

    def run(self, job: Job, blocks: Blocks, monitor: Monitor | None = None) -> Outcome | None:
        """Run all blocks and merge in their order.

        Parameters
        ----------
        job : Job
            What to do with a block.
        blocks : Blocks
            The blocks.
        monitor : callable, optional
            Called with the number of frames done every now and then, on the calling thread; what it raises stops the
            run and is raised here.

        Returns
        -------
        Outcome or None
            None when blocks of bytes did not join; the run is then planned anew by frames.
        """
