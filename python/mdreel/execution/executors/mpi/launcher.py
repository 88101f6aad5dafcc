"""Detection of an MPI launcher without importing MPI.

Without a working MPI its import can end the process, so that it is imported only where a launcher has left its mark.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

_MARKS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),  # Open MPI's mpirun, prterun
    ("PMI_RANK", "PMI_SIZE"),  # MPICH's and Intel's mpiexec, srun --mpi=pmi2
    ("PMIX_RANK", "SLURM_STEP_NUM_TASKS"),  # srun --mpi=pmix
)


class Launched(NamedTuple):
    """What a launcher says of this process.

    Attributes
    ----------
    rank : int
        Which of the processes this is.
    size : int
        How many it has started.
    """

    rank: int
    size: int


def launched(environment: Mapping[str, str] = os.environ) -> Launched | None:
    """Return what a launcher says of this process; None if none has started it."""
    for rank, size in _MARKS:
        if environment.get(rank, "").isdecimal() and environment.get(size, "").isdecimal():
            return Launched(int(environment[rank]), int(environment[size]))
    return None
