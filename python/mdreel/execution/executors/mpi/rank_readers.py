"""Independent and collective access of ranks to files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mdreel.execution.access import MPIIO, PARALLEL_HDF5
from mdreel.execution.executors.mpi.mpiio import ByMpiio, JobByMpiio
from mdreel.execution.executors.remote_errors import Failure
from mdreel.execution.executors.reraise_signals import postpone_signals
from mdreel.execution.job import FileTogether, Job

if TYPE_CHECKING:
    from mdreel._core import Blocks, Pass
    from mdreel.execution.executors.mpi.assignment import Assignment
    from mdreel.execution.work import Work


@dataclass(frozen=True)
class JobTogether:
    """Job that reads a single file, which all ranks have opened together.

    Attributes
    ----------
    file : FileTogether
        The file.
    atoms, kernel
        See `Job`.
    on_error : str
        How damaged frames are handled.
    is_collective : bool
        Whether the ranks also read collectively.
    """

    file: FileTogether
    atoms: NDArray[np.uint32]
    kernel: Pass
    on_error: str
    is_collective: bool

    @classmethod
    def of(cls, job: Job, is_collective: bool) -> Self:
        """Describe a job, on the rank that has opened its trajectory."""
        assert job.together is not None  # analyses declare how their file is opened
        return cls(job.together(job.source, is_collective), job.atoms, job.kernel, job.source.on_error, is_collective)

    def n_reads(self, blocks: Blocks, assignment: Assignment, n_ranks: int, n_batch_frames: int) -> int:
        """Return the number of collective reads per rank in a round, as required by the rank that reads most."""
        if not self.is_collective:
            return 0
        edges = blocks.shares(assignment.ranges, n_ranks)
        of_blocks = [
            -(-len(blocks[block][1]) // n_batch_frames)
            for first, end in assignment.ranges
            for block in range(first, end)
        ]
        return max(sum(of_blocks[a:b]) for a, b in pairwise(edges))


class Reading(Protocol):
    """Provides a rank with access to the frames of a round."""

    @property
    def job(self) -> Job:
        """Job that computes a block."""

    @property
    def failure(self) -> Failure | None:
        """Error that prevents the rank from reading, if any."""

    def look(self) -> None:
        """Raise postponed signals. This method is called every few milliseconds during a computation."""

    def join(self) -> None:
        """Take part in the collective reads of the other ranks after the last block of this rank."""


class Independent:
    """Access for a rank that has opened the trajectory independently.

    Parameters
    ----------
    job : Job
        Job that computes a block.
    """

    failure = None

    def __init__(self, job: Job) -> None:
        self.job = job

    def look(self) -> None:
        """Do nothing, because no signals are postponed."""

    def join(self) -> None:
        """Do nothing."""


class Collective:
    """Access to a file that all ranks have opened together; see `Reading`."""

    def __init__(
        self,
        job: JobTogether,
        communicator: Any,
        blocks: Blocks,
        assignment: Assignment,
        handle_signals: Callable[[], None],
    ) -> None:
        self.look = handle_signals
        self.failure: Failure | None = None
        self._positions: Any = None
        self._n_reads = 0
        try:
            self._positions = job.file.open(job.atoms, communicator, job.is_collective)
            n_batch_frames = self._positions.find()
            self._n_reads = job.n_reads(blocks, assignment, communicator.size, n_batch_frames)
            source = self._positions.source().with_on_error(job.on_error)
            self.job = Job(source, job.atoms, job.kernel)
        except Exception as error:  # noqa: BLE001 (rank 0 must know of every error)
            self.failure = Failure.of(error)

    def join(self) -> None:
        """Take part in the remaining collective reads."""
        if self._positions is not None:
            self._positions.join(self._n_reads)

    def close(self) -> None:
        """Close the file collectively."""
        if self._positions is not None:
            self._positions.close()


def job_of_ranks(work: Work) -> Job | JobTogether | JobByMpiio:
    """Return the job in the form that reads the files as the work demands. Call this on rank 0."""
    if work.access in PARALLEL_HDF5:
        return JobTogether.of(work.job, work.access == "hdf5-collective")
    if work.access in MPIIO:
        return JobByMpiio(work.job, work.access == "mpiio-collective")
    return work.job


@contextmanager
def open_reading(
    job: Job | JobTogether | JobByMpiio, communicator: Any, blocks: Blocks, assignment: Assignment
) -> Iterator[Reading]:
    """Open the frames of a round on this rank. A `JobTogether` is opened collectively."""
    if isinstance(job, Job):
        yield Independent(job)
        return
    with postpone_signals() as handle_signals:
        reading: ByMpiio | Collective = (
            ByMpiio(job, communicator, handle_signals)
            if isinstance(job, JobByMpiio)
            else Collective(job, communicator, blocks, assignment, handle_signals)
        )
        try:
            yield reading
        finally:
            reading.close()
