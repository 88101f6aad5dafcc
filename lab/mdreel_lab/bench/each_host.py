"""Calls on all MPI ranks and on all hosts of a point, such as those that refresh the page cache."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mdreel.errors import WorkerError
from mdreel.execution.executors.mpi.launcher import launched
from mdreel_lab.bench.cache_state import refresh
from mdreel_lab.bench.workload import Order


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


def refresh_on_hosts(order: Order, paths: Sequence[Path]) -> None:
    """Restore the state of the page cache on each host of a point."""
    point, ranks = order.point, launched()
    refresh(paths, point.cache)
    if ranks is not None and ranks.size > 1:
        names = hosts_of_ranks(ranks.size)
        there = [list(paths) if names.index(name) == rank else [] for rank, name in enumerate(names)]
        there[0] = []
        on_ranks(refresh, [(own, point.cache) for own in there])
    elif point.executor == "dask" and order.scheduler is not None:
        from mdreel_lab.bench.dask_workers import one_of_each_host, part_of_cluster

        with part_of_cluster(order.scheduler, point.n_workers) as client:
            client.run(refresh, list(paths), point.cache, workers=one_of_each_host(client.members))


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[str, Any, str]:
    """Call a function; return the name of the host, the value, and the error as a text, which is empty for none."""
    try:
        value, problem = function(*arguments), ""
    except Exception as error:  # noqa: BLE001 (rank 0 raises it)
        value, problem = None, f"{type(error).__name__}: {error}"
    return socket.gethostname(), value, problem
