"""Chance: how ranks differ, and which requests are held up."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mdreel_lab.prediction.cluster import Cluster, Storage


@dataclass(frozen=True)
class Chance:
    """What is drawn for a simulation, before it begins: the same for the same seed, whatever the scheme.

    Attributes
    ----------
    slowness : ndarray, shape (n_ranks,), float64
        How much longer than usual each rank takes for its work.
    opening_stalls, message_stalls : ndarray, shape (n_ranks,), float64
        For how long each rank's opening of a shared file, and its first message to another node, are held up, s;
        0 for most.
    """

    slowness: NDArray[np.float64]
    opening_stalls: NDArray[np.float64]
    message_stalls: NDArray[np.float64]


def draw(cluster: Cluster, n_ranks: int, seed: int) -> Chance:
    """Draw for a simulation.

    A rank that is alone on its node is as fast as usual: what ranks differ by comes from their neighbours.
    """
    speed, opening, message = (np.random.default_rng((seed, stream)) for stream in range(3))
    spread = cluster.speed_spread if n_ranks > 1 else 0.0
    return Chance(
        np.exp(spread * speed.standard_normal(n_ranks)),
        stalls(cluster.storage, opening, n_ranks),
        stalls(cluster.storage, message, n_ranks),
    )


def stalls(storage: Storage, generator: np.random.Generator, n_requests: int) -> NDArray[np.float64]:
    """Draw for how long each of some requests is held up, s."""
    chosen, sizes = generator.random((2, n_requests))
    low, high = storage.stall_shortest_s, storage.stall_longest_s
    # The inverse of the distribution function of Pareto's distribution of exponent 1 between low and high.
    lengths = low / (1.0 - sizes * (1.0 - low / high))
    return np.where(chosen < storage.stall_probability, lengths, 0.0)
