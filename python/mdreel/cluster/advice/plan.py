"""Plans for running an analysis."""

from dataclasses import dataclass

BLOCK_BYTES = 32 << 20
"""Size of a block in bytes. A test checks that the planner of the core (`plan.rs`) uses the same value."""

BLOCKS_PER_WORKER = 8
MOST_BLOCKS = 100_000


@dataclass(frozen=True)
class Plan:
    """Settings of a run.

    Attributes
    ----------
    executor : str
        The executor: ``serial``, ``threads``, ``processes`` or ``mpi``.
    n_workers, n_nodes : int
        Numbers of workers and nodes.
    access : str
        How workers access the trajectory; see `Analysis.run`.
    schedule : str
        ``demand`` or ``static``.
    n_files : int
        Number of trajectory files in this run.
    must_split : bool
        Whether you have to split the trajectory into these files first.
    n_blocks : int
        Number of blocks.
    communication : str or None
        How ranks send results to rank 0. If None, the default is used.
    """

    executor: str
    n_workers: int
    n_nodes: int
    access: str
    schedule: str
    n_files: int
    must_split: bool
    n_blocks: int
    communication: str | None = None

    @property
    def workers_per_node(self) -> int:
        """Maximum number of workers on a node."""
        return -(-self.n_workers // self.n_nodes)


def blocks_of(n_frames: int, n_workers: int, file_bytes: float, row_bytes: int) -> int:
    """Return the number of blocks of a run with the schedule ``demand``.

    Parameters
    ----------
    n_frames : int
        Number of selected frames.
    n_workers : int
        Number of workers.
    file_bytes, row_bytes : float
        Size of a frame in the file and size of its result, in bytes. The larger value determines the number of blocks.

    Returns
    -------
    int
        Number of blocks. Each block has at least one frame and at most 32 MiB, and there are at least 8 blocks per
        worker.
    """
    n_bytes = n_frames * int(max(file_bytes, row_bytes))
    wanted = max(-(-n_bytes // BLOCK_BYTES), BLOCKS_PER_WORKER * n_workers)
    return max(min(wanted, MOST_BLOCKS, n_frames), 1)
