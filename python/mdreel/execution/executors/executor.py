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

    For the same blocks, results are bitwise identical for all executors, any number of workers and any order in which
    blocks are completed.
    """

    @property
    def name(self) -> str:
        """Name of the backend."""

    @property
    def n_workers(self) -> int:
        """Number of blocks that run at the same time."""

    @property
    def schedule(self) -> Schedule:
        """How blocks are assigned: to the next free worker ("demand"), or one share to each worker ("static")."""

    def share(self, compute: Callable[[], T]) -> T:
        """Call a function in one process of the run, and return its return value in all processes.

        Parameters
        ----------
        compute : callable
            Function that opens the trajectory, plans the run, and calls `run`. It is called by a single process. If the
            run has other processes, they compute blocks in the meantime.

        Returns
        -------
        object
            Return value of the function, in every process.
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
            The outcome, or None if any block of bytes did not begin at a frame. In the latter case, the run is planned
            again with blocks of frames.
        """
