"""Selection and security of a Dask cluster."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mdreel.errors import UnsupportedError, WorkerError

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

START_SECONDS = 60.0
"""Maximum time to wait for a worker, in s."""

_REACH_SECONDS = 1.0


@contextmanager
def connected(client: Client | str | None, n_workers: int) -> Iterator[Client]:
    """Yield the given client, or create a client for the given scheduler or for a new local cluster."""
    from distributed import Client

    if isinstance(client, Client):
        yield client
    elif client is not None:
        with client_of(client) as found:
            yield found
    else:
        with local_cluster(n_workers) as cluster, Client(cluster, set_as_default=False) as found:
            yield found


def client_of(address: str, make: Callable[..., Any] | None = None) -> Any:
    """Connect to a Dask scheduler.

    Parameters
    ----------
    address : str
        Address of the scheduler.
    make : type, optional
        Class of the client (default: `distributed.Client`).

    Returns
    -------
    client : distributed.Client
        The client, connected.

    Raises
    ------
    UnsupportedError
        If no scheduler answers, or it refuses this client.

    Notes
    -----
    The destructor of a client that could not connect takes a lock that Dask also holds while it starts the thread of
    another client. If the garbage collector calls the destructor in that thread, the start fails after 10 s.
    Therefore, this function destroys such a client before it raises its error.
    """
    from distributed import Client

    try:
        return (make or Client)(address, timeout=START_SECONDS / 4, set_as_default=False)
    except (OSError, TypeError, ValueError) as error:
        message = f"cannot connect to a Dask scheduler at {address}: {error}"
    # Here the error is gone, and with it the frames that refer to the client.
    gc.collect()
    raise UnsupportedError(message)


@contextmanager
def local_cluster(n_workers: int, n_threads: int = 1) -> Iterator[LocalCluster]:
    """Start a Dask cluster on this machine that accepts connections only from this process.

    Parameters
    ----------
    n_workers : int
        Number of worker processes.
    n_threads : int
        Number of threads per worker.

    Raises
    ------
    UnsupportedError
        If the package cryptography is not installed.

    Notes
    -----
    A Dask scheduler executes any code that it receives. Therefore, all ports are on the loopback interface, and the
    scheduler and the workers accept only TLS connections that use the temporary certificate of this cluster. The key
    and the certificate are stored only in the memory of its processes. Dask's HTTP servers cannot be disabled, but they
    do not provide any pages.
    """
    from dask import config
    from distributed import LocalCluster, Security

    try:
        security = Security.temporary()
    except ImportError as error:
        message = "a Dask cluster on this machine needs the package cryptography to refuse other users"
        raise UnsupportedError(f"{message}: pip install 'mdreel[dask]'") from error
    # mdreel has its own memory limits. Dask's profiler would take 7 % of the time.
    quiet = {
        "distributed.worker.memory.terminate": False,
        "distributed.worker.memory.pause": False,
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1s",
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        "distributed.nanny.http.routes": [],
    }
    with (
        config.set(quiet),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=n_threads,
            host="127.0.0.1",
            protocol="tls://",
            security=security,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            worker_dashboard_address=None,
            silence_logs=50,
        ) as cluster,
    ):
        yield cluster


def n_threads(client: Client) -> int:
    """Wait for the first worker of a cluster, and return the cluster's number of threads."""
    try:
        client.wait_for_workers(1, timeout=START_SECONDS)
    except TimeoutError as error:
        raise WorkerError(f"the Dask cluster has no worker after {START_SECONDS:.0f} s: {client}") from error
    return sum(client.nthreads().values())


def is_reached(address: str) -> bool:
    """Return whether this process can connect to a worker. A firewall could allow connections only to the scheduler."""
    from distributed.comm.addressing import get_address_host_port

    if not address.startswith(("tcp://", "tls://")):
        return False
    try:
        socket.create_connection(get_address_host_port(address), _REACH_SECONDS).close()
    except OSError:
        return False
    return True
