"""Detection of an MPI launcher without importing MPI.

Importing mpi4py can terminate the process if MPI does not work. Therefore, mdreel imports it only if environment
variables indicate that the process was started by a launcher.
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
    """Rank of this process, as provided by its launcher.

    Attributes
    ----------
    rank : int
        Number of this process.
    size : int
        Number of processes that were started by the launcher.
    """

    rank: int
    size: int


def launched(environment: Mapping[str, str] = os.environ) -> Launched | None:
    """Return the rank of this process, or None if it was not started by a launcher."""
    for rank, size in _MARKS:
        if environment.get(rank, "").isdecimal() and environment.get(size, "").isdecimal():
            return Launched(int(environment[rank]), int(environment[size]))
    return None
