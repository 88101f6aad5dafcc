"""Calls of functions on all MPI ranks of a point."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from typing import Any

from mdreel.errors import WorkerError


def on_ranks(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Call a function of a module on every rank at the same time, on rank 0 while the other ranks serve.

    Parameters
    ----------
    function : callable
        The function.
    arguments : sequence of tuple
        The arguments on each rank.

    Returns
    -------
    list
        The return value of each rank.

    Raises
    ------
    WorkerError
        If the function raises an error on a rank.
    """
    from mdreel.execution.executors.mpi.executor import Mpi
    from mdreel.execution.serving_processes import current_helpers

    with Mpi().served():
        helpers = current_helpers()
        assert helpers is not None
        answers = helpers.call(_answer, [(function, own) for own in arguments])
    assert answers is not None, "errors are caught on each rank"
    for rank, (host, value, problem) in enumerate(answers):
        del value
        if problem:
            raise WorkerError(f"rank {rank} ({host}): {problem}")
    return [value for _, value, _ in answers]


def hosts_of_ranks(n_ranks: int) -> list[str]:
    """Return the name of the host of each rank."""
    return on_ranks(socket.gethostname, n_ranks * [()])


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[str, Any, str]:
    """Call a function; return the name of the host, the value, and the error as a text, which is empty for none."""
    try:
        value, problem = function(*arguments), ""
    except Exception as error:  # noqa: BLE001 (rank 0 raises it)
        value, problem = None, f"{type(error).__name__}: {error}"
    return socket.gethostname(), value, problem
