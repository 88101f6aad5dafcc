"""Work that is passed to an executor."""

from dataclasses import dataclass

from mdreel._core import Blocks
from mdreel.execution.checkpoint.file import Checkpoint
from mdreel.execution.choices import Access
from mdreel.execution.job import Job, Monitor


@dataclass(frozen=True)
class Work:
    """A job with its blocks and the options of the run.

    Attributes
    ----------
    job : Job
        The job.
    blocks : Blocks
        The blocks.
    one_by_one : bool
        Whether each block is a separate task that is never repeated, because the user chose the number of blocks.
    monitor : callable, optional
        Function that is called regularly with the number of analysed frames, on the calling thread. If it raises an
        exception, the run is stopped.
    checkpoint : Checkpoint, optional
        Checkpoint file, which contains the results of completed blocks and receives new results.
    memory : int, optional
        Total memory limit of all processes, in bytes.
    access : str, optional
        How workers access the files.
    """

    job: Job
    blocks: Blocks
    one_by_one: bool = False
    monitor: Monitor | None = None
    checkpoint: Checkpoint | None = None
    memory: int | None = None
    access: Access | None = None
