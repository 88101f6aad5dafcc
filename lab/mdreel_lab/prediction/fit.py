"""Fitting: what the published times say of Comet, in closed form, each number from the times that show it alone.

Nothing is searched for: a number that a time shows is read off it. Which points that are stands in ``published.toml``
(``fitted``); none of them is counted as a prediction.
"""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from mdreel_lab.prediction.cluster import Cluster
from mdreel_lab.prediction.published import Series, published, series_of

FITTED = (
    "speed_spread",
    "interconnect.connect_s",
    "interconnect.message_s",
    "interconnect.array_bytes_per_s",
    "storage.open_s",
    "storage.close_s",
    "storage.shared_frame_s",
    "storage.chain_frame_s",
    "storage.stall_probability",
)
"""The numbers of a cluster that are fitted."""

_ONE_NODE, _TWO_NODES, _FOUR_NODES = 24, 48, 96  # ranks


def fitted(cluster: Cluster) -> Cluster:
    """Return a cluster with the numbers that the published times say it has.

    Parameters
    ----------
    cluster : Cluster
        Where all others come from.
    """
    shared, shared_array = _series("shared-gather"), _series("shared-global-arrays")
    chains = _series("chain-gather"), _series("chain-global-arrays")
    message_s = _series("hdf5-independent").times["t_comm"][_FOUR_NODES] / _FOUR_NODES
    storage = replace(
        cluster.storage,
        open_s=_mean([_more(chain, "t_open", _FOUR_NODES) / (_FOUR_NODES - 1) for chain in chains]),
        close_s=_mean([chain.times["t_end_loop"][_FOUR_NODES] / _FOUR_NODES for chain in chains]),
        shared_frame_s=_more_a_frame((shared, shared_array), _ONE_NODE),
        chain_frame_s=_more_a_frame(chains, _FOUR_NODES),
        stall_probability=_stalled_s(shared, shared_array) / cluster.storage.stall_mean_s,
    )
    interconnect = replace(
        cluster.interconnect,
        connect_s=_connect_s(_series("memory-gather"), cluster.cores_per_node),
        message_s=message_s,
        array_bytes_per_s=_array_bytes_per_s(_series("segments-global-arrays"), message_s),
    )
    spread = _speed_spread(_series("hdf5-independent"))
    return replace(cluster, speed_spread=spread, interconnect=interconnect, storage=storage)


def n_points() -> tuple[int, int]:
    """Return how many speed-ups were published, and how many of these are of runs that were used to fit."""
    return sum(len(series.n_ranks) for series in published()), sum(len(series.fitted) for series in published())


def _series(scheme: str) -> Series:
    found = series_of(scheme)
    assert found is not None, scheme
    return found


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _more(series: Series, quantity: str, n_ranks: int) -> float:
    """How much longer something took a rank on average than in the serial run, s."""
    return series.times[quantity][n_ranks] - series.times[quantity][1]


def _more_a_frame(several: tuple[Series, ...], n_ranks: int) -> float:
    """How much longer a frame took to read than in the serial run, s."""
    more = [n_ranks * series.times["t_io"][n_ranks] - series.times["t_io"][1] for series in several]
    return _mean(more) / several[0].workload.n_frames


def _connect_s(memory: Series, cores_per_node: int) -> float:
    """What each rank of another node adds to a gather without any I/O, s."""
    after = memory.times["t_total"][_TWO_NODES] - memory.times["t_block_most"][_TWO_NODES]
    return after / (_TWO_NODES - cores_per_node)


def _array_bytes_per_s(segments: Series, message_s: float) -> float:
    """How fast rank 0 gets the global array, bytes/s."""
    workload = segments.workload
    seconds = segments.times["t_comm"][_FOUR_NODES] - _FOUR_NODES * message_s
    return workload.n_frames * workload.result_bytes / seconds


def _stalled_s(shared: Series, shared_array: Series) -> float:
    """How much longer than alone a rank took on average to open a file that several nodes share, s."""
    times = [_more(shared, "t_open", n) for n in (32, 48, 64)]
    return _mean(times + [_more(shared_array, "t_open", n) for n in (32, 48)])


def _speed_spread(series: Series) -> float:
    """How ranks of one node differ, from how much longer the slowest took than the mean."""
    slowest = series.times["t_block_most"][_ONE_NODE] / series.times["t_block"][_ONE_NODE]
    return math.log(slowest) / expected_largest(_ONE_NODE)


def expected_largest(n: int) -> float:
    """Return the expected largest of n draws from the standard normal distribution."""
    # The mean over the distribution of the largest, by the midpoint rule over its quantiles.
    quantiles = (np.arange(20_000) + 0.5) / 20_000
    return float(np.mean([NormalDist().inv_cdf(float(q)) for q in quantiles ** (1.0 / n)]))
