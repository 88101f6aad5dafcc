"""Jobs whose files the ranks read through MPI-IO."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mdreel.execution.executors.mpi.mpiio_files import CollectiveFiles, IndependentFiles
from mdreel.execution.executors.remote_errors import Failure
from mdreel.execution.job import Job

if TYPE_CHECKING:
    from mdreel._core import Pass


@dataclass(frozen=True)
class JobByMpiio:
    """Job whose frames each rank reads through MPI-IO.

    Attributes
    ----------
    whole : Job
        The job, whose source reads the file system.
    is_collective : bool
        Whether the ranks read collectively.
    """

    whole: Job
    is_collective: bool

    @property
    def kernel(self) -> Pass:
        """The computations."""
        return self.whole.kernel


class ByMpiio:
    """Access of a rank to files through MPI-IO; see `rank_readers.Reading`.

    Parameters
    ----------
    job : JobByMpiio
        The job.
    communicator : mpi4py.MPI.Comm
        The ranks.
    handle_signals : callable
        Function that raises postponed signals.
    """

    def __init__(self, job: JobByMpiio, communicator: Any, handle_signals: Callable[[], None]) -> None:
        self.look = handle_signals
        self.failure: Failure | None = None
        source = job.whole.source
        paths = [path for _, path in source.files if path is not None]
        self._files = CollectiveFiles(paths, communicator) if job.is_collective else IndependentFiles(paths)
        try:
            self.job = Job(source.read_by(self._files), job.whole.atoms, job.whole.kernel)
        except Exception as error:  # noqa: BLE001 (rank 0 must know of every error)
            self.failure = Failure.of(error)

    def join(self) -> None:
        """Take part in the remaining collective reads."""
        self._files.join()

    def close(self) -> None:
        """Close the files."""
        self._files.close()
