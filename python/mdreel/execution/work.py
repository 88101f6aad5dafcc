"""The work that an executor receives."""

from dataclasses import dataclass

from mdreel._core import Blocks
from mdreel.execution.checkpoint.file import Checkpoint
from mdreel.execution.choices import Access
from mdreel.execution.job import Job, Monitor


@dataclass(frozen=True)
class Work:
    """A job, the blocks that it is done on, and how.

    Attributes
    ----------
    job : Job
        What to do with a block.
    blocks : Blocks
        The blocks.
    one_by_one : bool
        Whether each block is handed out alone, and once, because the user has said how many there are.
    monitor : callable, optional
        Called with the number of frames done every now and then, on the calling thread; what it raises stops the run
        and is raised there.
    checkpoint : Checkpoint, optional
        What was done before, and where what is done now is kept.
    memory : int, optional
        Bytes that all processes together may take.
    access : str, optional
        How workers come to the bytes.
    """

    job: Job
    blocks: Blocks
    one_by_one: bool = False
    monitor: Monitor | None = None
    checkpoint: Checkpoint | None = None
    memory: int | None = None
    access: Access | None = None
