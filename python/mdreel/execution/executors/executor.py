"""Interface of executors."""

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

from mdreel.execution.choices import Schedule
from mdreel.execution.job import Outcome
from mdreel.execution.work import Work

T = TypeVar("T")


@runtime_checkable
class Executor(Protocol):
    """Interface of the classes that run the blocks of a job.

    The same blocks give the same bits with every executor, any number of workers and any order of completion.
    """

    @property
    def name(self) -> str:
        """Name of the backend."""

    @property
    def n_workers(self) -> int:
        """Number of blocks that run at the same time."""

    @property
    def schedule(self) -> Schedule:
        """Distribution of the blocks: to the next free worker ("demand"), or one share for each worker ("static")."""

    def share(self, compute: Callable[[], T]) -> T:
        """Call a function in one process of the run, and return its value in all processes.

        Parameters
        ----------
        compute : callable
            Function that opens the trajectory, plans and calls `run`. One process calls it; the other processes of the
            run, if there are any, compute blocks during this time.

        Returns
        -------
        object
            Value of the function, in every process.
        """

    def run(self, work: Work) -> Outcome | None:
        """Run all blocks and merge their results in order.

        Parameters
        ----------
        work : Work
            The job, the blocks and the options of the run.

        Returns
        -------
        Outcome or None
            None if blocks of bytes did not join; the run is then planned again, by frames.
        """
