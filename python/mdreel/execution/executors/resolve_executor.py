"""Resolution of backend names to executors."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.local.threads import Threads

if TYPE_CHECKING:
    from mdreel.execution.executors.dask.executor import Dask
    from mdreel.execution.executors.local.processes import Processes
    from mdreel.execution.executors.local.serial import Serial
    from mdreel.execution.executors.mpi.executor import Mpi


def _serial() -> "type[Serial]":
    from mdreel.execution.executors.local.serial import Serial

    return Serial


def _processes() -> "type[Processes]":
    from mdreel.execution.executors.local.processes import Processes  # imports the coordinator

    return Processes


def _dask() -> "type[Dask]":
    from mdreel.execution.executors.dask.executor import Dask  # imports distributed

    return Dask


def _mpi() -> "type[Mpi]":
    from mdreel.execution.executors.mpi.executor import Mpi  # imports mpi4py

    return Mpi


EXECUTORS: dict[str, Callable[[], Callable[..., Executor]]] = {
    "serial": _serial,
    "threads": lambda: Threads,
    "processes": _processes,
    "dask": _dask,
    "mpi": _mpi,
}
"""Functions that return the classes of the executors, by the name of the backend."""

ALIASES = {"multiprocessing": "processes"}
"""Backend names that are used in MDAnalysis, with the names of the corresponding executors."""

BACKENDS = (*EXECUTORS, *ALIASES)
"""All backend names."""


def executor_class(name: str) -> Callable[..., Executor]:
    """Return the class of an executor.

    Parameters
    ----------
    name : str
        One of `BACKENDS`.

    Raises
    ------
    UnsupportedError
        If the name is unknown.
    """
    if name not in BACKENDS:
        raise UnsupportedError(f"unknown backend {name!r}; known: {', '.join(BACKENDS)}, or an Executor")
    return EXECUTORS[ALIASES.get(name, name)]()


def find_executor(backend: str | Executor | None, n_workers: int | None = None) -> Executor:
    """Return the executor for a backend.

    Parameters
    ----------
    backend : str, Executor or None
        One of `BACKENDS`, or an executor. If None, threads are used.
    n_workers : int, optional
        Number of workers. By default, it is chosen according to the machine.

    Raises
    ------
    UnsupportedError
        If the name is unknown.
    MismatchError
        If the executor cannot have this number of workers.
    """
    if backend is None:
        return Threads(n_workers)
    if isinstance(backend, str):
        return executor_class(backend)(n_workers)
    if not isinstance(backend, Executor):
        raise UnsupportedError(f"backend must be a name or an Executor, not {type(backend).__name__}")
    if n_workers not in (None, backend.n_workers):
        raise MismatchError(f"n_workers is {n_workers}, but {backend!r} has {backend.n_workers} workers")
    return backend
