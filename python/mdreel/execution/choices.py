"""Possible values of arguments of a run.

The command line offers the same values. This module does not import any other module, so that help texts can be printed
without importing NumPy.
"""

from typing import Literal, TypeAlias

Backend: TypeAlias = Literal["serial", "threads", "processes", "dask", "mpi"]
"""Executor of a run."""

Access: TypeAlias = Literal[
    "shared", "chain", "segments", "hdf5-independent", "hdf5-collective", "mpiio", "mpiio-collective"
]
"""How workers access files.

All workers read one file, they read several files as one, or each block is within one of several files. Alternatively,
MPI ranks open one file together with parallel HDF5, or read files through MPI-IO, in both cases independently or
collectively.
"""

Communication: TypeAlias = Literal["gather", "window", "global-arrays"]
"""How results are transferred to rank 0.

Ranks send them in one collective call at the end, or write them to an array while they compute. The array is in the
memory of rank 0, or distributed over all ranks.
"""

Schedule: TypeAlias = Literal["demand", "static"]
"""How blocks are assigned: each block to the next free worker, or one share of all blocks to each worker."""

OnError: TypeAlias = Literal["raise", "stop", "skip"]
"""How to handle a damaged frame: raise an error, stop before the frame, or skip it."""
