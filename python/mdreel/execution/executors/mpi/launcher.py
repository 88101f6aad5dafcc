"""Detection of an MPI launcher without importing MPI.

Importing mpi4py can end the process if the MPI does not work. mdreel therefore imports it only if the environment shows
that a launcher has started the process.
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
    """Rank of this process, as its launcher gives it.

    Attributes
    ----------
    rank : int
        Number of this process.
    size : int
        Number of processes that the launcher has started.
    """

    rank: int
    size: int


def launched(environment: Mapping[str, str] = os.environ) -> Launched | None:
    """Return the rank that a launcher gave to this process, or None if no launcher has started it."""
    for rank, size in _MARKS:
        if environment.get(rank, "").isdecimal() and environment.get(size, "").isdecimal():
            return Launched(int(environment[rank]), int(environment[size]))
    return None
