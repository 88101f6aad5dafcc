"""Independent and collective reading by ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mdreel.execution.executors.remote_errors import Failure
from mdreel.execution.executors.reraise_signals import postponing
from mdreel.execution.job import FileTogether, Job

if TYPE_CHECKING:
    from mdreel._core import Blocks, Pass
    from mdreel.execution.executors.mpi.assignment import Assignment


@dataclass(frozen=True)
class JobTogether:
    """A job over a file that all ranks open together: what a rank is told of it.

    Attributes
    ----------
    file : FileTogether
        The file.
    atoms, kernel
        As of `Job`.
    on_error : str
        What is done where a frame is damaged.
    is_collective : bool
        Whether ranks also read together.
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
        """Return how often each rank reads in a round: as often as the one that has most to read."""
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
    """How a rank comes to the frames in a round."""

    @property
    def job(self) -> Job:
        """What to do with a block."""

    @property
    def failure(self) -> Failure | None:
        """Why it cannot; all ranks must then go on without it."""

    def look(self) -> None:
        """Be called every few milliseconds; raises what has to be raised between two blocks."""

    def join(self) -> None:
        """Do what the others need of this rank, which has nothing more to read."""


class Alone:
    """Each rank has opened the trajectory on its own.

    Parameters
    ----------
    job : Job
        What to do with a block.
    """

    failure = None

    def __init__(self, job: Job) -> None:
        self.job = job

    def look(self) -> None:
        """Raise nothing."""

    def join(self) -> None:
        """Do nothing."""


class Together:
    """All ranks have opened one file together; see `Reading`."""

    def __init__(
        self,
        job: JobTogether,
        communicator: Any,
        blocks: Blocks,
        assignment: Assignment,
        let_signals: Callable[[], None],
    ) -> None:
        self.look = let_signals
        self.failure: Failure | None = None
        self._positions: Any = None
        self._n_reads = 0
        try:
            self._positions = job.file.open(job.atoms, communicator, job.is_collective)
            n_batch_frames = self._positions.find()
            self._n_reads = job.n_reads(blocks, assignment, communicator.size, n_batch_frames)
            source = self._positions.source().with_on_error(job.on_error)
            self.job = Job(source, job.atoms, job.kernel)
        except Exception as error:  # noqa: BLE001 (whatever it is, rank 0 must be told)
            self.failure = Failure.of(error)

    def join(self) -> None:
        """Take part in what is still to be read together."""
        if self._positions is not None:
            self._positions.join(self._n_reads)

    def close(self) -> None:
        """Close the file, together."""
        if self._positions is not None:
            self._positions.close()


@contextmanager
def reading_of(job: Job | JobTogether, communicator: Any, blocks: Blocks, assignment: Assignment) -> Iterator[Reading]:
    """Have a rank come to the frames of a round; with a `JobTogether` all ranks at once."""
    if isinstance(job, Job):
        yield Alone(job)
        return
    with postponing() as let_signals:
        together = Together(job, communicator, blocks, assignment, let_signals)
        try:
            yield together
        finally:
            together.close()
