"""Parameters of the cluster Comet, derived from published times.

Each parameter has a closed formula of the times that depend on it alone; there is no optimization. The entry ``fitted``
of ``published.toml`` lists the points that are used; they do not count as predictions.
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
"""The parameters of a cluster that are fitted."""

_ONE_NODE, _TWO_NODES, _FOUR_NODES = 24, 48, 96  # ranks


def fitted(cluster: Cluster) -> Cluster:
    """Return a cluster with the fitted parameters.

    Parameters
    ----------
    cluster : Cluster
        Cluster with all other parameters.
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
    """Return the number of published speed-ups, and the number of those from runs that were used for the fit."""
    return sum(len(series.n_ranks) for series in published()), sum(len(series.fitted) for series in published())


def _series(scheme: str) -> Series:
    found = series_of(scheme)
    assert found is not None, scheme
    return found


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _more(series: Series, quantity: str, n_ranks: int) -> float:
    """Return the mean time of a rank minus the time of the serial run, s."""
    return series.times[quantity][n_ranks] - series.times[quantity][1]


def _more_a_frame(several: tuple[Series, ...], n_ranks: int) -> float:
    """Return the additional time to read a frame compared with the serial run, s."""
    more = [n_ranks * series.times["t_io"][n_ranks] - series.times["t_io"][1] for series in several]
    return _mean(more) / several[0].workload.n_frames


def _connect_s(memory: Series, cores_per_node: int) -> float:
    """Return the time that each rank of another node adds to a gather without I/O, s."""
    after = memory.times["t_total"][_TWO_NODES] - memory.times["t_block_most"][_TWO_NODES]
    return after / (_TWO_NODES - cores_per_node)


def _array_bytes_per_s(segments: Series, message_s: float) -> float:
    """Return the rate at which rank 0 reads the global array, bytes/s."""
    workload = segments.workload
    seconds = segments.times["t_comm"][_FOUR_NODES] - _FOUR_NODES * message_s
    return workload.n_frames * workload.result_bytes / seconds


def _stalled_s(shared: Series, shared_array: Series) -> float:
    """Return the mean additional time to open a file that several nodes share, s."""
    times = [_more(shared, "t_open", n) for n in (32, 48, 64)]
    return _mean(times + [_more(shared_array, "t_open", n) for n in (32, 48)])


def _speed_spread(series: Series) -> float:
    """Return the spread of the speeds of ranks of one node, from the ratio of the slowest to the mean time."""
    slowest = series.times["t_block_most"][_ONE_NODE] / series.times["t_block"][_ONE_NODE]
    return math.log(slowest) / expected_largest(_ONE_NODE)


def expected_largest(n: int) -> float:
    """Return the expected largest of n draws from the standard normal distribution."""
    # Mean of the distribution of the largest draw, by the midpoint rule over its quantiles.
    quantiles = (np.arange(20_000) + 0.5) / 20_000
    return float(np.mean([NormalDist().inv_cdf(float(q)) for q in quantiles ** (1.0 / n)]))
