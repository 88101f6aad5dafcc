"""Preparation of all hosts of a point."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from mdreel.execution.executors.mpi.launcher import launched
from mdreel_lab.bench.cache_state import refresh
from mdreel_lab.bench.ranks import hosts_of_ranks, on_ranks
from mdreel_lab.bench.workload import Order

_ON_DASK = (("mdreel", "dask"), ("published", "distributed"))
"""Programs and executors that read files on the workers of a Dask cluster."""


def refresh_on_hosts(order: Order) -> None:
    """Restore the state of the page cache on each host of a point, whose other ranks serve."""
    point, ranks = order.point, launched()
    paths = [Path(path) for path in order.paths]
    refresh(paths, point.cache)
    if ranks is not None and ranks.size > 1:
        names = hosts_of_ranks(ranks.size)
        there = [paths if names.index(name) == rank else [] for rank, name in enumerate(names)]
        there[0] = []
        on_ranks(refresh, [(own, point.cache) for own in there])
    elif (point.program, point.executor) in _ON_DASK and order.scheduler is not None:
        from mdreel_lab.bench.dask_workers import one_of_each_host, part_of_cluster

        with part_of_cluster(order.scheduler, point.n_workers) as client:
            client.run(refresh, paths, point.cache, workers=one_of_each_host(client.members))


def refresh_together(order: Order, ranks: Any) -> None:
    """Restore the state of the page cache on each host of the ranks of an mpi4py communicator, which all call this."""
    names = ranks.allgather(socket.gethostname())
    if names.index(names[ranks.rank]) == ranks.rank:
        refresh([Path(path) for path in order.paths], order.point.cache)
    ranks.Barrier()
