"""Interface of executors."""

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

from mdreel.execution.choices import Schedule
from mdreel.execution.job import Outcome
from mdreel.execution.work import Work

T = TypeVar("T")


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

    @property
    def schedule(self) -> Schedule:
        """Whether whoever is free takes the next blocks, or each worker has one share of all."""

    def share(self, compute: Callable[[], T]) -> T:
        """Have one process of the run compute something, in which it calls `run`, and all return it.

        Parameters
        ----------
        compute : callable
            Opens, plans and runs. It is called in one process; the others of the run, if there are any, work for it
            meanwhile.

        Returns
        -------
        object
            What it returned, in every process.
        """

    def run(self, work: Work) -> Outcome | None:
        """Run all blocks and merge in their order.

        Parameters
        ----------
        work : Work
            The job, the blocks, and how they are to be done.

        Returns
        -------
        Outcome or None
            None when blocks of bytes did not join; the run is then planned anew by frames.
        """
