"""Placement of ranks on hosts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class HostCores:
    """A host and the number of its cores that ranks may use."""

    name: str
    n_cores: int


def spread(hosts: Sequence[HostCores], n_ranks: int) -> dict[str, int]:
    """Return the number of ranks of each host: the fewest hosts whose cores suffice, with ranks spread evenly.

    The function uses all hosts if there are more ranks than cores. It returns an empty dict if there are no hosts.
    """
    used, n_cores = 0, 0
    while used < len(hosts) and n_cores < n_ranks:
        n_cores += hosts[used].n_cores
        used += 1
    chosen = hosts[:used]
    counts = dict.fromkeys((host.name for host in chosen), 0)
    for _ in range(n_ranks if chosen else 0):
        free = [host for host in chosen if counts[host.name] < host.n_cores]
        if free:
            counts[min(free, key=lambda host: counts[host.name]).name] += 1
        else:
            counts[min(chosen, key=lambda host: counts[host.name] / host.n_cores).name] += 1
    return {name: count for name, count in counts.items() if count}


def places_text(places: Mapping[str, int]) -> str:
    """Write hosts with their numbers of ranks as launchers of MPI read them: ``a:2,b:1``."""
    return ",".join(f"{name}:{count}" for name, count in places.items())
