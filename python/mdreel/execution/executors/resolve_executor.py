"""Finding the executor that is meant."""

from collections.abc import Callable
from importlib import import_module
from typing import cast

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.local import threads  # noqa: F401  # the default: a first run need not wait for it

EXECUTORS = {"serial": "Serial", "threads": "Threads", "processes": "Processes", "dask": "Dask", "mpi": "Mpi"}
"""The classes of executors by name, which is also that of the module: only what is asked for is imported."""


def executor_class(name: str) -> Callable[..., Executor]:
    """Return the class of an executor.

    Parameters
    ----------
    name : str
        One of `EXECUTORS`.

    Raises
    ------
    UnsupportedError
        If the name is unknown.
    """
    if name not in EXECUTORS:
        raise UnsupportedError(f"unknown backend {name!r}; known: {', '.join(EXECUTORS)}, or an Executor")
    return cast(
        "Callable[..., Executor]", getattr(import_module(f"mdreel.execution.executors.{name}"), EXECUTORS[name])
    )


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
        return executor_class(backend)(n_workers)
    if not isinstance(backend, Executor):
        raise UnsupportedError(f"a backend is a name or an Executor, not {type(backend).__name__}")
    if n_workers not in (None, backend.n_workers):
        raise MismatchError(f"{n_workers} workers were asked for, but {backend!r} has {backend.n_workers}")
    return backend
