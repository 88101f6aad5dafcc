"""Random numbers of a simulation: speeds of ranks and stalled requests."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mdreel_lab.prediction.cluster import Cluster, Storage


@dataclass(frozen=True)
class Chance:
    """The random numbers of a simulation, which depend on the seed and not on the scheme.

    Attributes
    ----------
    slowness : ndarray, shape (n_ranks,), float64
        Time of each rank for its work, relative to the usual time.
    opening_stalls, message_stalls : ndarray, shape (n_ranks,), float64
        Stall of each rank when it opens a shared file, and at its first message to another node, s; mostly 0.
    """

    slowness: NDArray[np.float64]
    opening_stalls: NDArray[np.float64]
    message_stalls: NDArray[np.float64]


def draw(cluster: Cluster, n_ranks: int, seed: int) -> Chance:
    """Draw the random numbers of a simulation.

    A single rank has the usual speed, because differences between ranks come from their neighbours on a node.
    """
    speed, opening, message = (np.random.default_rng((seed, stream)) for stream in range(3))
    spread = cluster.speed_spread if n_ranks > 1 else 0.0
    return Chance(
        np.exp(spread * speed.standard_normal(n_ranks)),
        stalls(cluster.storage, opening, n_ranks),
        stalls(cluster.storage, message, n_ranks),
    )


def stalls(storage: Storage, generator: np.random.Generator, n_requests: int) -> NDArray[np.float64]:
    """Draw the stalls of requests, s."""
    chosen, sizes = generator.random((2, n_requests))
    low, high = storage.stall_shortest_s, storage.stall_longest_s
    # The inverse of the distribution function of Pareto's distribution of exponent 1 between low and high.
    lengths = low / (1.0 - sizes * (1.0 - low / high))
    return np.where(chosen < storage.stall_probability, lengths, 0.0)
