"""Some of the workers of a running Dask cluster, for points with fewer workers than the cluster has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from distributed import Client
from distributed.comm.addressing import get_address_host

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.executors.dask.cluster import client_of
from mdreel_lab.bench.placement import HostCores, spread


class PartOfCluster(Client):
    """A client that gives work to some workers of a cluster, and leaves the other workers alone."""

    members: Sequence[str] = ()
    """Addresses of the workers of this part."""

    def nthreads(self, *args: Any, **settings: Any) -> dict[str, int]:
        """Return the number of threads of each worker of this part."""
        found = workers_of(self, *args, **settings)
        return {address: n_threads for address, n_threads in found.items() if address in self.members}

    def run(self, *args: Any, **settings: Any) -> Any:
        """Call a function on each worker of this part."""
        return super().run(*args, **self._with_workers(settings))

    def submit(self, *args: Any, **settings: Any) -> Any:
        """Submit a task to this part."""
        return super().submit(*args, **(self._with_workers(settings) | {"allow_other_workers": False}))

    def map(self, *args: Any, **settings: Any) -> Any:
        """Submit tasks to this part."""
        return super().map(*args, **self._with_workers(settings))

    def compute(self, *args: Any, **settings: Any) -> Any:
        """Compute the tasks of a graph on this part."""
        compute: Any = super().compute  # which has no types
        return compute(*args, **self._with_workers(settings))

    def _with_workers(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the settings of a call with the workers of this part, unless it names workers."""
        return settings if settings.get("workers") is not None else settings | {"workers": list(self.members)}


@contextmanager
def part_of_cluster(address: str, n_threads: int) -> Iterator[PartOfCluster]:
    """Yield a client for workers with a number of threads in all, spread evenly over the fewest hosts.

    Raise an `UnsupportedError` if the cluster is not reached, or has no such workers.
    """
    client: PartOfCluster
    with client_of(address, PartOfCluster) as client:
        client.members = members_of(workers_of(client), n_threads)
        yield client


def threads_of(address: str) -> tuple[HostCores, ...]:
    """Return the number of threads on each host of a cluster; raise a `MismatchError` if it has none."""
    try:
        with client_of(address) as client:
            found = client.nthreads()
    except UnsupportedError as error:
        raise MismatchError(f"--scheduler: {error}") from error
    if not found:
        raise MismatchError(f"--scheduler: the Dask scheduler at {address} has no workers")
    return tuple(HostCores(host, sum(workers.values())) for host, workers in _by_host(found).items())


def workers_of(client: Any, *args: Any, **settings: Any) -> dict[str, int]:
    """Return the number of threads of all workers of a cluster, by address."""
    found: dict[str, int] = Client.nthreads(client, *args, **settings)
    return found


def members_of(workers: dict[str, int], n_threads: int) -> list[str]:
    """Return the addresses of workers with a number of threads in all, of those given with their threads."""
    hosts = _by_host(workers)
    wanted = spread([HostCores(host, sum(own.values())) for host, own in hosts.items()], n_threads)
    members = []
    for host, n_there in wanted.items():
        n_left = n_there
        for address, n_own in sorted(hosts[host].items(), key=lambda worker: worker[1]):
            if n_own <= n_left:
                members.append(address)
                n_left -= n_own
        if n_left:
            raise UnsupportedError(
                f"the Dask cluster has no workers with {n_there} threads in all on {host}: start its workers with "
                "--nthreads 1"
            )
    return members


def one_of_each_host(addresses: Sequence[str]) -> list[str]:
    """Return the address of one worker of each host."""
    return list({get_address_host(address): address for address in addresses}.values())


def _by_host(workers: dict[str, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for address, n_threads in workers.items():
        found[str(get_address_host(address))][address] = n_threads
    return found
