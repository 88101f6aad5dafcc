"""Plans of how to run an analysis."""

from dataclasses import dataclass

BLOCK_BYTES = 32 << 20
"""Bytes in a block, as the core's planner has it (`plan.rs`); a test compares."""

BLOCKS_PER_WORKER = 8
MOST_BLOCKS = 100_000


@dataclass(frozen=True)
class Plan:
    """One way of running an analysis.

    Attributes
    ----------
    executor : str
        Who works: ``serial``, ``threads``, ``processes`` or ``mpi``.
    n_workers, n_nodes : int
        Workers, and the nodes that they are on.
    access : str
        How they come to the bytes, as `Analysis.run` names it.
    schedule : str
        ``demand`` or ``static``.
    n_files : int
        Files that the trajectory is in when it is run.
    must_split : bool
        Whether it has to be split into these first.
    n_blocks : int
        Pieces of work.
    communication : str or None
        How results come to rank 0; None for the default.
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
        """Workers of the fullest node."""
        return -(-self.n_workers // self.n_nodes)


def blocks_of(n_frames: int, n_workers: int, file_bytes: float, row_bytes: int) -> int:
    """Return how many blocks a run on demand has.

    Parameters
    ----------
    n_frames : int
        Frames that are wanted.
    n_workers : int
        Workers.
    file_bytes, row_bytes : float
        Bytes of file and of result of a frame; the larger decide.

    Returns
    -------
    int
        Blocks: of at most 32 MiB, at least 8 a worker, and none without a frame.
    """
    n_bytes = n_frames * int(max(file_bytes, row_bytes))
    wanted = max(-(-n_bytes // BLOCK_BYTES), BLOCKS_PER_WORKER * n_workers)
    return max(min(wanted, MOST_BLOCKS, n_frames), 1)
