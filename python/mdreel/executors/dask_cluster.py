"""Clusters of Dask: the one that is meant, and who can be reached there."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mdreel.errors import UnsupportedError, WorkerError

if TYPE_CHECKING:
    from distributed import Client

START_SECONDS = 60.0
"""How long a worker may be waited for."""

_REACH_SECONDS = 1.0


@contextmanager
def connected(client: Client | str | None, n_workers: int) -> Iterator[Client]:
    """Give a client: the one that there is, one of a scheduler, or one of a cluster made for it."""
    from distributed import Client, LocalCluster

    if isinstance(client, Client):
        yield client
    elif client is not None:
        try:
            found = Client(client, timeout=START_SECONDS / 4, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise UnsupportedError(f"there is no Dask scheduler at {client}: {error}") from error
        with found:
            yield found
    else:
        from dask import config

        # What is said of memory is ours to keep to; a dashboard would need a port and bokeh; who is profiled every few
        # milliseconds loses 7 % of the time, and has spans besides.
        quiet = {
            "distributed.worker.memory.terminate": False,
            "distributed.worker.memory.pause": False,
            "distributed.worker.profile.enabled": False,
            "distributed.admin.tick.interval": "1s",
        }
        with (
            config.set(quiet),
            LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
            Client(cluster, set_as_default=False) as found,
        ):
            yield found


def n_threads(client: Client) -> int:
    """Count the threads of a cluster; wait for the first worker."""
    try:
        client.wait_for_workers(1, timeout=START_SECONDS)
    except TimeoutError as error:
        raise WorkerError(f"the Dask cluster has no worker after {START_SECONDS:.0f} s: {client}") from error
    return sum(client.nthreads().values())


def is_reached(address: str) -> bool:
    """Whether a worker can be spoken to from here: a firewall may let nobody but the scheduler do so."""
    from distributed.comm.addressing import get_address_host_port

    if not address.startswith(("tcp://", "tls://")):
        return False
    try:
        socket.create_connection(get_address_host_port(address), _REACH_SECONDS).close()
    except OSError:
        return False
    return True
