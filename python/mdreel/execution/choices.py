"""Values that arguments of a run may have.

The command line offers the same values. This module imports nothing else, so that help is printed without NumPy.
"""

from typing import Literal, TypeAlias

Backend: TypeAlias = Literal["serial", "threads", "processes", "dask", "mpi"]
"""Executor of a run."""

Access: TypeAlias = Literal["shared", "chain", "segments", "hdf5-independent", "hdf5-collective"]
"""Access of the workers to files: one file for all; several files as one; several files, each block within one of them;
one file that the ranks of MPI open together and read independently, or collectively."""

Communication: TypeAlias = Literal["gather", "window", "global-arrays"]
"""Transfer of results to rank 0: one collective call at the end; or an array to which ranks write as they compute, in
the memory of rank 0 or spread over all ranks."""

Schedule: TypeAlias = Literal["demand", "static"]
"""Assignment of blocks: the next block to the next free worker, or one share of all blocks to each worker."""

OnError: TypeAlias = Literal["raise", "stop", "skip"]
"""Reaction to a damaged frame: fail, end before it, or leave it out."""
