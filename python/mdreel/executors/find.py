"""Finding the executor that is meant."""

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.executors.dask import Dask
from mdreel.executors.executor import Executor
from mdreel.executors.mpi import Mpi
from mdreel.executors.processes import Processes
from mdreel.executors.serial import Serial
from mdreel.executors.threads import Threads

EXECUTORS = {executor.name: executor for executor in (Serial, Threads, Processes, Dask, Mpi)}
"""The executors by name."""


def find_executor(backend: str | Executor, n_workers: int | None = None) -> Executor:
    """Return the executor that is meant.

    Parameters
    ----------
    backend : str or Executor
        A name of `EXECUTORS`, or an executor.
    n_workers : int, optional
        How many workers; by default as many as suit the machine.

    Raises
    ------
    UnsupportedError
        If the name is unknown.
    MismatchError
        If the executor cannot have so many workers.
    """
    if isinstance(backend, str):
        if backend not in EXECUTORS:
            raise UnsupportedError(f"unknown backend {backend!r}; known: {', '.join(EXECUTORS)}, or an Executor")
        return EXECUTORS[backend](n_workers)
    if not isinstance(backend, Executor):
        raise UnsupportedError(f"a backend is a name or an Executor, not {type(backend).__name__}")
    if n_workers not in (None, backend.n_workers):
        raise MismatchError(f"{n_workers} workers were asked for, but {backend!r} has {backend.n_workers}")
    return backend
